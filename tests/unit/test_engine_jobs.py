"""Which Jobs an `up` runs again, as the cluster and the stack's state say."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from tests.on_gke import experiment, job, kubernetes
from xmgen.executors.gke import live as jobs
from xmgen.executors.gke.connection import Connection
from xmgen.executors.gke.jobs import job_name, resource_name
from xmgen.executors.gke.live import Rerun
from xmgen.plan import planner
from xmgen.resource_types import JOB

GROUP = tuple(
    job(name=name, executor=kubernetes(on={"service": True} if name == "ps" else {}))
    for name in ("worker", "eval", "ps")
)
PLAN = planner.plan(experiment(GROUP))
NAMES = dict(zip(("worker", "eval", "ps"), map(job_name, PLAN.units[0].manifests), strict=True))
URNS = {
    name: f"urn:pulumi:sweep::experiments::{JOB}::{resource_name(manifest)}"
    for name, manifest in zip(NAMES, PLAN.units[0].manifests, strict=True)
}


class Cluster:
    """conditions: of the Jobs that are there."""

    def __init__(self, conditions: dict[str, str]) -> None:
        self._conditions = conditions

    def items(self, path: str) -> list[dict[str, Any]]:
        if path.endswith("/pods"):
            return []
        return [
            {
                "metadata": {"name": NAMES[name]},
                "status": {"conditions": [{"type": each, "status": "True"}] if each else []},
            }
            for name, each in self._conditions.items()
        ]


def export() -> str:
    """The stack's state after an `up` that waited for none of them."""
    made = [
        {"urn": urn, "type": JOB, "id": f"sweep/{NAMES[name]}", "custom": True, "inputs": {}, "outputs": {}}
        for name, urn in URNS.items()
    ]
    return json.dumps({"version": 3, "deployment": {"resources": made}})


@pytest.mark.parametrize(
    ("there", "again"),
    [
        pytest.param({"worker": "", "eval": "", "ps": ""}, {}, id="all run"),
        pytest.param({"worker": "Complete", "eval": "Complete", "ps": "Complete"}, {}, id="all have ended"),
        pytest.param(
            {"worker": "Failed", "eval": "Complete", "ps": "Complete"},
            {"worker": ("failed", True), "ps": ("served", True)},
            id="a service has ended with one that failed",
        ),
        pytest.param(
            {"worker": "Failed", "eval": "Complete", "ps": ""},
            {"worker": ("failed", True), "ps": ("served", True)},
            id="a service is about to end",
        ),
        pytest.param(
            {"worker": "Failed", "eval": "", "ps": ""},
            {"worker": ("failed", True)},
            id="a service still serves another",
        ),
        pytest.param(
            {"worker": "", "eval": "", "ps": "Failed"}, {"ps": ("failed", True)}, id="the service itself has failed"
        ),
        pytest.param(
            {"eval": "Complete"},
            {"worker": ("vanished", False), "ps": ("vanished", False)},
            id="they vanished",
        ),
    ],
)
def test_a_service_runs_again_with_the_others_of_its_group(
    there: dict[str, str], again: dict[str, tuple[Any, bool]]
) -> None:
    found = jobs.to_run_again(PLAN, export(), cast(Connection, Cluster(there)))
    assert found == {URNS[name]: Rerun(why, NAMES[name] if known else "") for name, (why, known) in again.items()}
