"""What `xmgen status` and the progress of `xmgen up` say of CustomJobs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.compiled_stacks import compiled_stack
from tests.vertex.manifests import experiment, job
from xmgen.executors.vertex.runtime import RUNTIME
from xmgen.pulumi_cli import trials
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.trials import Trial
from xmgen.resource_types import CUSTOM_JOB


@pytest.mark.parametrize(
    ("state", "errors", "expected", "reasons"),
    [
        ("JOB_STATE_PENDING", [], "running", ()),
        ("JOB_STATE_RUNNING", ["not waited for to the end"], "running", ("not waited for to the end",)),
        ("JOB_STATE_SUCCEEDED", [], "finished", ()),
        ("JOB_STATE_FAILED", ["failed: no memory"], "failed", ("failed: no memory",)),
        # Nobody waited for it: its own error and links are all that there is.
        ("JOB_STATE_FAILED", [], "failed", ("no memory\n  https://console\n  logs: https://logs",)),
        ("JOB_STATE_CANCELLED", [], "stopped", ()),
        ("LOST", ["lost"], "failed", ("lost",)),
    ],
)
def test_the_status_is_that_of_the_job_when_it_was_last_seen(
    state: str, errors: list[str], expected: str, reasons: tuple[str, ...]
) -> None:
    plan = compiled_stack(experiment(job("--a=1"), job("--a=2")))
    first, second = (unit.name for unit in plan.units)
    resource = {
        "urn": f"urn:pulumi:sweep::experiments::{CUSTOM_JOB}::{first}",
        "type": CUSTOM_JOB,
        "inputs": {"jobSpec": {"baseOutputDirectory": {"outputUriPrefix": "gs://ours/sweep/first"}}},
        "outputs": {
            "state": state,
            "startTime": "2026-01-01T00:00:00Z",
            "endTime": "2026-01-01T00:01:30.5Z" if state.endswith("ED") else "",
            "error": "no memory" if state == "JOB_STATE_FAILED" else "",
            "consoleUrl": "https://console",
            "logUrl": "https://logs",
        },
        "initErrors": errors,
    }
    export = json.dumps({"deployment": {"resources": [resource]}})
    assert RUNTIME.recorded(plan, export) == [
        Trial(
            name=first,
            arguments={"a": "1"},
            status=expected,  # type: ignore[arg-type]
            duration=90.5 if state.endswith("ED") else None,
            output="gs://ours/sweep/first",
            reasons=reasons,
        ),
        Trial(name=second, arguments={"a": "2"}),
    ]


def test_a_job_runs_once_it_is_created() -> None:
    plan = compiled_stack(experiment(job()))
    [unit] = plan.units
    progress = Progress({unit.name: Trial(name=unit.name, arguments={})}, trials.jobs(plan))
    metadata: dict[str, Any] = {
        "op": "create",
        "urn": f"urn:pulumi:sweep::experiments::{CUSTOM_JOB}::{unit.name}",
        "type": CUSTOM_JOB,
        "new": {"outputs": {"state": "JOB_STATE_PENDING"}},
    }
    assert progress.apply({"resOutputsEvent": {"metadata": metadata}}) == Trial(
        name=unit.name, arguments={}, status="running"
    )
