"""What `up` and `destroy` ask on a terminal before they begin."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import builders
from tests.compiled_stacks import compiled_stack
from tests.on_gke import experiment, job
from tests.vertex import manifests as vertex
from xmgen.commands import confirmation, operate
from xmgen.commands.operation import Options
from xmgen.experiment import Experiment
from xmgen.project import Project
from xmgen.pulumi_cli import trials
from xmgen.resource_types import CLUSTER, CUSTOM_JOB, JOB, NODE_POOL, RUN
from xmgen.stack.compiled import CompiledStack

SYSTEM = (NODE_POOL, "system")


def here(*rates: str) -> CompiledStack:
    return compiled_stack(sweep(*rates))


def sweep(*rates: str) -> Experiment:
    return builders.experiment(*(builders.job(f"--lr={rate}") for rate in rates))


ONE, TWO, THREE = (here(*"123"[:count]) for count in (1, 2, 3))
GKE = compiled_stack(experiment(job("--lr=1"), job("--lr=2")))
GKE_ONE = compiled_stack(experiment(job("--lr=1")))
GROUP = compiled_stack(experiment((job(name="a"), job(name="b"))))
GROUP_JOBS = [(JOB, name) for name in trials.jobs(GROUP)]
VERTEX = compiled_stack(vertex.experiment())


def keys(of: CompiledStack) -> list[tuple[str, str]]:
    """What the stack has when it is up, as far as the question is about it."""
    declared = [(each.type, each.name) for each in of.declared.resources if each.type in (CLUSTER, NODE_POOL)]
    return [*declared, *((unit.type, name) for unit in of.units for name in unit.resources)]


def export(*there: tuple[str, str], failed: bool = False) -> str:
    return json.dumps(
        {
            "deployment": {
                "resources": [
                    {
                        "urn": f"urn:pulumi:sweep::experiments::{type_}::{name}",
                        "type": type_,
                        "initErrors": ["job train exited with 3"] if failed and type_ == RUN else [],
                    }
                    for type_, name in [("pulumi:pulumi:Stack", "experiments-sweep"), *there]
                ]
            }
        }
    )


AGAIN = "again only where code or definition changed."


@pytest.mark.parametrize(
    ("plan", "state", "question", "note"),
    [
        pytest.param(ONE, None, "Run 1 work unit of sweep?", "", id="no stack"),
        pytest.param(TWO, export(), "Run 2 work units of sweep?", "", id="an empty stack"),
        pytest.param(
            ONE,
            export(*keys(THREE)),
            "Remove 2 work units of sweep?",
            f"1 work unit is there already, and runs {AGAIN}",
            id="only removes",
        ),
        pytest.param(
            TWO,
            export(*keys(TWO)),
            "Bring sweep up to date?",
            f"2 work units are there already, and run {AGAIN}",
            id="nothing new",
        ),
        pytest.param(ONE, export(*keys(ONE), failed=True), "Run 1 work unit of sweep?", "", id="failed before"),
        pytest.param(
            THREE,
            export(*keys(TWO), (RUN, "another")),
            "Run 1 work unit of sweep, and remove 1 work unit?",
            f"2 work units are there already, and run {AGAIN}",
            id="runs and removes",
        ),
        pytest.param(
            GKE,
            None,
            "Run 2 work units of sweep, and create 1 cluster and 2 node pools?",
            "",
            id="a cluster of its own",
        ),
        pytest.param(
            GKE_ONE,
            export(*keys(GKE), (NODE_POOL, "old")),
            "Remove 1 node pool and 1 job of sweep?",
            f"1 work unit is there already, and runs {AGAIN}",
            id="on a cluster",
        ),
        pytest.param(
            GROUP,
            export(*(key for key in keys(GROUP) if key != GROUP_JOBS[0])),
            "Run 1 work unit of sweep?",
            "",
            id="a group of which a job is missing",
        ),
        pytest.param(VERTEX, None, "Run 1 work unit of sweep?", "", id="on Vertex AI"),
        pytest.param(
            VERTEX,
            export(*keys(VERTEX), (CUSTOM_JOB, "another")),
            "Remove 1 job of sweep?",
            f"1 work unit is there already, and runs {AGAIN}",
            id="on Vertex AI, once more",
        ),
        pytest.param(
            ONE,
            export((CLUSTER, "sweep"), SYSTEM),
            "Run 1 work unit of sweep, and remove 1 cluster and 1 node pool?",
            "",
            id="from a cluster to this machine",
        ),
    ],
)
def test_the_question_says_what_runs_and_what_is_made_and_removed(
    plan: CompiledStack, state: str | None, question: str, note: str
) -> None:
    assert confirmation.question_of_up(plan, state) == (question, note)


def test_a_no_to_destroy_says_that_nothing_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(operate.session, "begin", lambda project, stack: SimpleNamespace(exists=lambda: True))
    monkeypatch.setattr(operate, "confirmed", lambda question, options: False)
    code = operate.destroy(
        Project(root=tmp_path), "sweep", stack=None, remove=False, keep_outputs=True, options=Options()
    )
    assert (code, capsys.readouterr().out) == (1, "Nothing was removed.\n")
