"""Where the work units of a compiled stack run: found by what the stack says of itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import builders
from tests.compiled_stacks import compiled_stack
from tests.on_gke import cluster_only, experiment
from tests.vertex import manifests as vertex
from xmgen.errors import InputError
from xmgen.executors.base import Runtime, runtime
from xmgen.executors.gke.runtime import GkeRuntime
from xmgen.executors.local.runtime import LocalRuntime
from xmgen.executors.vertex.runtime import VertexRuntime
from xmgen.experiment import Experiment

HERE = compiled_stack(builders.experiment(builders.job("--lr=1"), builders.job("--lr=2")))


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (builders.experiment(), LocalRuntime),
        (experiment(), GkeRuntime),
        (cluster_only(), GkeRuntime),
        (vertex.experiment(), VertexRuntime),
    ],
)
def test_a_stack_has_the_runtime_of_its_executor(made: Experiment, kind: type[Runtime]) -> None:
    assert type(runtime(compiled_stack(made))) is kind


QUEUED = replace(HERE, declared=replace(HERE.declared, runs="queue"))


def test_a_stack_that_runs_where_nobody_knows_is_one_clear_sentence() -> None:
    with pytest.raises(InputError, match="sweep: runs on 'queue', which this xmgen knows nothing of\n  compile"):
        runtime(QUEUED)
