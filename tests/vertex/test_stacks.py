"""Whole stacks on Vertex AI through the real engine: everything they declare, created as written, and removed."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.engine.harness import kill, until
from tests.gcp_programs import SDK
from tests.vertex import stacks
from tests.vertex.job_service import JobService
from tests.vertex.stacks import Google
from xmgen.rehearsal.cloud.kinds import BUCKET, TENSORBOARD

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
