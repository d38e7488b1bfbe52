"""Which Jobs an `up` runs again, and which it deletes, as the cluster, the stack's state and its folder say."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from tests.another_version import another_version
from tests.compiled_stacks import compiled_stack
from tests.on_gke import experiment, job, kubernetes
from xmgen.executors.gke import live as jobs
from xmgen.executors.gke.connection import Connection
from xmgen.executors.gke.jobs import job_name, resource_name
from xmgen.executors.gke.live import Rerun
from xmgen.executors.gke.runtime import ObsoleteJobs
from xmgen.resource_types import JOB

GROUP = tuple(
    job(name=name, executor=kubernetes(on={"service": True} if name == "ps" else {}))
    for name in ("worker", "eval", "ps")
)
PLAN = compiled_stack(experiment(GROUP))
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


class Kept:
    """A cluster with these Jobs of the stack, of which it says which were deleted."""

    def __init__(self, jobs: list[dict[str, Any]]) -> None:
        self._jobs = jobs
        self.deleted: list[str] = []

    def items(self, path: str) -> list[dict[str, Any]]:
        return [] if path.endswith("/pods") else [{"metadata": job["metadata"], "status": {}} for job in self._jobs]

    def delete(self, path: str) -> None:
        self.deleted.append(path.rpartition("/")[2])


def test_running_jobs_that_another_version_compiled_stay() -> None:
    """This one would give them other names; what the folder says counts."""
    chain = experiment(job("--lr=1"), job("--lr=2"), after={1: [0]})
    with another_version():
        theirs = compiled_stack(chain)
    jobs_of = [manifest for unit in theirs.units for manifest in unit.manifests]
    assert {job_name(each) for each in jobs_of}.isdisjoint(
        job_name(each) for unit in compiled_stack(chain).units for each in unit.manifests
    )
    running = cast("list[dict[str, Any]]", jobs_of)
    gone = {"metadata": {"name": "gone", "annotations": {"xmgen/resource": "gone"}}}
    cluster = Kept(running)
    obsolete = ObsoleteJobs(theirs, cast(Connection, cluster))
    awaited = theirs.units[0].resources[0]
    created = {"op": "create", "type": JOB, "urn": f"urn:pulumi:sweep::experiments::{JOB}::{awaited}"}
    assert obsolete.on_event({"resourcePreEvent": {"metadata": created}}) == ""
    assert cluster.deleted == []
    # One that the folder does not have goes, as ever.
    cluster = Kept([*running, gone])
    assert ObsoleteJobs(theirs, cast(Connection, cluster)).on_event({"resourcePreEvent": {"metadata": created}}) == ""
    assert cluster.deleted == ["gone"]
