"""A second `up` that is not empty is told, with what it changed."""

from __future__ import annotations

import pytest

from tests.builders import experiment, job
from tests.rehearsal.test_matrix import IMAGE, write
from tests.rehearsal.test_misfits import SLICE
from xmgen.project import Project
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import markdown, sentences
from xmgen.resource_types import NODE_POOL

pytestmark = pytest.mark.rehearsal


def test_a_pool_that_is_not_what_its_program_says(in_scratch: Rehearsal, scratch: Project) -> None:
    """GKE turns multithreading off on hosts of TPUs, and this program does not ignore it."""
    plan = write(scratch, experiment(job(executor=SLICE, executable=IMAGE.name), stack="again", executables=(IMAGE,)))
    assert plan.cluster is not None
    (pool,) = plan.cluster.pools
    file = scratch.stack("again") / "cluster.py"
    text = file.read_text(encoding="utf-8")
    ignored = '            ignore_changes=["nodeConfig.advancedMachineFeatures"],\n'
    assert text.count(ignored) == 1
    file.write_text(text.replace(ignored, ""), encoding="utf-8")
    report = in_scratch.run(plan)
    assert (report.fits, report.second_up) == (False, {"replace": 1}), markdown(report)
    assert report.changed == [f"{NODE_POOL} {pool.name}"]
    assert f"a second `up` is not empty: 1 to replace ({NODE_POOL} {pool.name})" in sentences(report)
    assert (report.failures, report.left) == ([], [])
