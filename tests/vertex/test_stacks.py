"""Whole stacks on Vertex AI through the real engine: everything they declare, created as written, and removed."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.engine.harness import kill, until
from tests.gcp_programs import SDK
from tests.vertex import stacks
from tests.vertex.job_service import Fault, JobService, set_state
from tests.vertex.stacks import Google
from xmgen.resource_types import BUCKET, TENSORBOARD

pytestmark = [pytest.mark.engine, pytest.mark.gcp]

TESTS = Path(__file__).resolve().parents[1]
SUCCESS = ("JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED")


@pytest.fixture
def ours(tmp_path: Path, service: JobService, monkeypatch: pytest.MonkeyPatch) -> Iterator[Google]:
    monkeypatch.syspath_prepend(str(SDK))
    with stacks.project(tmp_path, service) as project:
        yield project


def create(ours: Google, stack: str) -> None:
    ours.service.coming = SUCCESS
    outcome = ours.operate("up", stack)
    assert outcome.ok, outcome.output
    assert ours.submitted() == ours.expected(stack)
    assert set(ours.jobs(stack)) == set(ours.submitted())


def remove(ours: Google, stack: str, keeps: Sequence[str] = ()) -> None:
    """keeps: types of what stays in the cloud."""
    outcome = ours.operate("destroy", stack)
    assert outcome.ok, outcome.output
    assert (ours.resources(stack), ours.there(), ours.service.jobs) == ([], list(keeps), {})


def nothing_to_do(ours: Google, stack: str) -> None:
    ours.service.log.clear()
    outcome = ours.operate("up", stack, "--expect-no-changes")
    assert outcome.ok, outcome.output
    assert ours.service.log == []


@pytest.mark.parametrize(
    ("stack", "keeps"),
    [("vertex", [BUCKET, TENSORBOARD]), ("vertex-group", []), ("caliban-mnist-vertex", [BUCKET])],
)
def test_a_committed_stack_is_unchanged_by_a_second_up_and_leaves_nothing_else(
    ours: Google, stack: str, keeps: list[str]
) -> None:
    ours.has(stack)
    ours.create_stack(stack, deleteOutputs=str(not keeps).lower())
    previewed = ours.pulumi("preview", "--stack", stack)
    assert previewed.ok, previewed.output
    assert (ours.service.log, ours.there()) == ([], [])
    create(ours, stack)
    nothing_to_do(ours, stack)
    created = ours.there()
    ours.service.become("JOB_STATE_SUCCEEDED")
    refreshed = ours.operate("refresh", stack)
    assert refreshed.ok, refreshed.output
    assert set(ours.jobs(stack).values()) == {"JOB_STATE_SUCCEEDED"}
    [bucket] = ours.cloud.store.of(BUCKET)
    status = ours.xmgen("status", stack)
    assert f"What trials write, metrics included, is below gs://{bucket.id}/{stack}." in status.output
    nothing_to_do(ours, stack)
    assert (ours.there(), len(ours.service.bodies)) == (created, len(ours.jobs(stack)))
    remove(ours, stack, keeps)


def test_status_asks_vertex_ai_and_writes_nothing(ours: Google) -> None:
    stack = "vertex"
    ours.has(stack)
    ours.create_stack(stack)
    create(ours, stack)
    before = ours.resources(stack)
    # The others were waited for.
    [last] = [job for job in ours.service.jobs.values() if job["state"] == "JOB_STATE_PENDING"]
    set_state(last, "JOB_STATE_FAILED", "no memory")
    ours.service.log.clear()
    status = ours.xmgen("status", stack)
    assert status.ok, status.output
    assert ours.service.log == [("GET", "customJobs")]
    assert f"{last['labels']['unit']} failed\n  no memory\n    https://console.cloud.google.com" in status.output
    told = json.loads(ours.xmgen("status", stack, "--json").output)
    assert (told["current"], Counter(unit["status"] for unit in told["units"])) == (
        True,
        {"finished": len(ours.jobs(stack)) - 1, "failed": 1},
    )
    ours.service.faults.append(Fault(method="GET", status=403))
    unreached = ours.xmgen("status", stack)
    assert unreached.code == 1
    assert f"As of the last `up` or `xmgen refresh {stack}`." in unreached.output
    assert "Vertex AI answers 403: as the test wants it" in unreached.output
    assert ours.resources(stack) == before
    remove(ours, stack, [BUCKET, TENSORBOARD])


def test_up_tells_of_jobs_that_failed_before_it_returned(ours: Google) -> None:
    stack = "vertex-group"
    ours.has(stack)
    ours.create_stack(stack)
    ours.service.first = "JOB_STATE_FAILED"
    outcome = ours.xmgen("up", stack, "--yes")
    assert outcome.ok, outcome.output
    assert f"failed\n  {ours.service.error}\n    https://console.cloud.google.com" in outcome.output
    assert f"1 failed. `xmgen up {stack}` runs again what failed, `xmgen destroy {stack}` removes" in outcome.output
    remove(ours, stack, [BUCKET])


AGAIN = {
    "JOB_STATE_FAILED": "failed before",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "failed before",
    "JOB_STATE_EXPIRED": "expired before",
    "JOB_STATE_CANCELLED": "was cancelled before",
    "gone": "vanished from Vertex AI",
}


def test_what_failed_or_was_stopped_runs_again_with_the_next_up_and_what_succeeded_never(ours: Google) -> None:
    stack = "caliban-mnist-vertex"
    ours.has(stack)
    ours.create_stack(stack)
    assert ours.xmgen("up", stack, "--yes").ok
    jobs = list(ours.service.jobs.values())
    ends = dict(zip((*AGAIN, "JOB_STATE_SUCCEEDED", "JOB_STATE_RUNNING"), jobs, strict=False))
    for state, job in ends.items():
        if state == "gone":
            del ours.service.jobs[job["name"]]
        else:
            set_state(job, state, ours.service.error)
    reasons = {job["labels"]["unit"]: AGAIN[state] for state, job in ends.items() if state in AGAIN}

    preview = ours.xmgen("preview", stack, "--json")
    steps = json.loads(preview.output.splitlines()[-1])["steps"]
    assert {step["name"]: step["reason"] for step in steps if step["operation"] == "replace"} == reasons
    assert len(ours.service.bodies) == len(jobs)

    ours.service.first = "JOB_STATE_RUNNING"
    up = ours.xmgen("up", stack, "--yes")
    assert up.ok, up.output
    why = "1 expired before, 2 failed before, 1 vanished from Vertex AI, 1 was cancelled before"
    assert f"5 CustomJobs will run again: {why}." in up.output
    assert {body["labels"]["unit"] for body in ours.service.bodies[len(jobs) :]} == set(reasons)
    assert Counter(ours.service.states()) == {
        "JOB_STATE_PENDING": len(jobs) - len(ends),
        "JOB_STATE_RUNNING": 6,
        "JOB_STATE_SUCCEEDED": 1,
    }

    assert ours.operate("refresh", stack).ok
    del ours.service.jobs[ends["JOB_STATE_SUCCEEDED"]["name"]]
    up = ours.xmgen("up", stack, "--yes")
    assert (up.ok, len(ours.service.bodies)) == (True, len(jobs) + len(reasons)), up.output
    remove(ours, stack, [BUCKET])


def test_an_up_that_cannot_ask_goes_on(ours: Google) -> None:
    stack = "vertex-group"
    ours.has(stack)
    ours.create_stack(stack)
    assert ours.xmgen("up", stack, "--yes").ok
    ours.service.become("JOB_STATE_FAILED")
    ours.service.faults.append(Fault(method="GET", status=403, times=2))
    up = ours.xmgen("up", stack, "--yes")
    assert up.ok, up.output
    assert "Which other jobs have failed cannot be known. Vertex AI answers 403: as the test wants it" in up.output
    assert len(ours.service.bodies) == 1
    remove(ours, stack, [BUCKET])


def test_whether_jobs_write_to_the_environments_bucket_is_decided_once(ours: Google) -> None:
    ours.has("vertex-group")
    ours.create_stack("vertex-group")
    ours.env["GOOGLE_CLOUD_BUCKET_NAME"] = "mine"
    refused = ours.xmgen("up", "vertex-group", "--yes")
    assert (refused.code, ours.service.log, ours.there()) == (2, [], [])
    assert "`--set bucket=mine` for that bucket" in refused.output
    created = ours.xmgen("up", "vertex-group", "--yes", "--set", "bucket=mine")
    assert created.ok, created.output
    [body] = ours.service.bodies
    assert body["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"].startswith("gs://mine/vertex-group/")
    # On another machine.
    ours.env["GOOGLE_CLOUD_BUCKET_NAME"] = "theirs"
    again = ours.xmgen("up", "vertex-group", "--yes")
    assert again.ok, again.output
    assert len(ours.service.bodies) == 1
    remove(ours, "vertex-group")


def test_jobs_that_a_killed_destroy_has_cancelled_run_again_with_the_next_up(ours: Google) -> None:
    stack = "vertex-group"
    ours.has(stack)
    ours.create_stack(stack)
    assert ours.xmgen("up", stack, "--yes").ok
    ours.service.cancelling = 10**6
    destroying = subprocess.Popen(["xmgen", "destroy", stack, "--yes"], cwd=ours.root, env=ours.env)
    until(lambda: "JOB_STATE_CANCELLING" in ours.service.states(), "the job is being cancelled")
    for pid in [destroying.pid, *ours.processes()]:
        with contextlib.suppress(ProcessLookupError):
            kill(pid)
    destroying.wait()
    ours.service.cancelling = 0
    outcome = ours.xmgen("up", stack, "--yes")
    assert outcome.ok, outcome.output
    assert "Took up 1 operation that a kill had interrupted." in outcome.output
    assert (ours.service.states(), len(ours.service.bodies)) == (["JOB_STATE_PENDING"], 2)
    remove(ours, stack, [BUCKET])


@pytest.mark.parametrize(
    ("launcher", "flags"),
    [
        ("vertex/launchers/documented", []),
        ("vertex/launchers/any_platform", ["--platform=gpu", "--cores=2"]),
        ("vertex/launchers/any_platform", ["--platform=tpu", "--image=gcr.io/acme/trainer"]),
        ("vertex/launchers/downloaded_config", []),
        ("vertex/launchers/tpu_sweep", []),
        ("launchers/examples/async_groups", ["--nodes=3"]),
        ("launchers/examples/own_dockerfile", []),
        ("launchers/examples/tensorboard_sweep", ["--tensorboard=projects/acme/locations/us-central1/tensorboards/7"]),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_launch_scripts_of_the_kinds_that_xmanager_has(
    ours: Google, monkeypatch: pytest.MonkeyPatch, launcher: str, flags: list[str]
) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_BUCKET_NAME", "bkt")
    stack = ours.compiles(TESTS / launcher / "launcher.py", *flags)
    ours.create_stack(stack, deleteOutputs="true")
    create(ours, stack)
    remove(ours, stack)
