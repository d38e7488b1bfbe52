"""What status says of stacks on GKE."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.compiled_stacks import compiled_stack
from tests.on_gke import experiment, job
from xmgen.pulumi_cli import events, trials
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_cli.trials import combined, job_status
from xmgen.resource_types import JOB

# How trials stand


def state(*conditions: tuple[str, str], **more: Any) -> dict[str, Any]:
    listed = [{"type": kind, "status": status} for kind, status in conditions]
    return {"outputs": {"status": {"conditions": listed}}, **more}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, "waiting"),
        ({"outputs": {}}, "running"),
        (state(), "running"),
        (state(("Suspended", "True")), "running"),
        (state(("SuccessCriteriaMet", "True"), ("Complete", "True")), "finished"),
        (state(("Failed", "True")), "failed"),
        (state(("Failed", "False")), "running"),
        (state(initErrors=["deadline exceeded"]), "failed"),
    ],
)
def test_how_a_job_stands(found: dict[str, Any] | None, expected: str) -> None:
    assert job_status(None if found is None else StateResource.of(found)) == expected


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["finished", "finished"], "finished"),
        (["finished", "running"], "running"),
        (["running", "failed"], "failed"),
        (["waiting", "finished"], "waiting"),
    ],
)
def test_how_a_unit_of_several_jobs_stands(statuses: list[Any], expected: str) -> None:
    assert combined(statuses) == expected


def test_status_reads_the_stacks_state() -> None:
    stack = compiled_stack(experiment((job(name="a"), job(name="b")), job("--lr=1")))
    group, single = stack.units
    done = state(("Complete", "True"))
    jobs = {f"{group.name}-a": done, f"{group.name}-b": state(initErrors=["no machine"]), single.name: done}
    export = json.dumps(
        {
            "deployment": {
                "resources": [
                    {"urn": f"urn:pulumi:sweep::experiments::{JOB}::{name}", "type": JOB, **each}
                    for name, each in jobs.items()
                ]
            }
        }
    )
    found = trials.recorded(stack, export)
    assert [(unit.name, unit.status, unit.reasons) for unit in found] == [
        (group.name, "failed", ("no machine",)),
        (single.name, "finished", ()),
    ]
    assert [unit.status for unit in trials.recorded(stack, None)] == ["waiting", "waiting"]


def test_progress_follows_the_jobs() -> None:
    stack = compiled_stack(experiment((job(name="a"), job(name="b"))))
    [unit] = stack.units
    progress = events.progress(trials.rows(stack), trials.jobs(stack))

    def created(name: str, new: dict[str, Any]) -> str:
        metadata = {"op": "create", "type": JOB, "urn": f"urn:x::{unit.name}-{name}", "new": new}
        progress.apply({"resOutputsEvent": {"metadata": metadata}})
        return progress.units[unit.name].status

    assert [created("a", {}), created("b", {}), created("b", state(("Failed", "True")))] == [
        "running",
        "running",
        "failed",
    ]
