"""Whole stacks on Vertex AI through the real engine: everything they declare, created and removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gcp_programs import SDK
from tests.vertex import stacks
from tests.vertex.stacks import Google
from tests.vertex.job_service import JobService
from xmgen.rehearsal.cloud.kinds import BUCKET, TENSORBOARD

pytestmark = [pytest.mark.engine, pytest.mark.gcp]

SUCCESS = ("JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED")


@pytest.fixture
def ours(tmp_path: Path, service: JobService, monkeypatch: pytest.MonkeyPatch) -> Iterator[Google]:
    monkeypatch.syspath_prepend(str(SDK))
    with stacks.project(tmp_path, service) as project:
        yield project


@pytest.mark.parametrize(
    ("stack", "keeps"),
    [("vertex", [BUCKET, TENSORBOARD]), ("vertex-group", []), ("caliban-mnist-vertex", [BUCKET])],
)
def test_a_committed_stack_is_created_as_written_unchanged_by_a_second_up_and_removed(
    ours: Google, stack: str, keeps: list[str]
) -> None:
    ours.has(stack)
    ours.create_stack(stack, deleteOutputs=str(not keeps).lower())
    ours.service.coming = SUCCESS
    outcome = ours.operate("up", stack)
    assert outcome.ok, outcome.output
    assert ours.submitted() == ours.expected(stack)
    assert set(ours.jobs(stack)) == set(ours.submitted())
    created = ours.there()

    ours.service.log.clear()
    again = ours.operate("up", stack, "--expect-no-changes")
    assert again.ok, again.output
    assert ours.service.log == []

    ours.service.become("JOB_STATE_SUCCEEDED")
    refreshed = ours.operate("refresh", stack)
    assert refreshed.ok, refreshed.output
    assert set(ours.jobs(stack).values()) == {"JOB_STATE_SUCCEEDED"}
    again = ours.operate("up", stack, "--expect-no-changes")
    assert again.ok, again.output
    assert (ours.there(), len(ours.service.bodies)) == (created, len(ours.jobs(stack)))

    destroyed = ours.operate("destroy", stack)
    assert destroyed.ok, destroyed.output
    assert (ours.resources(stack), ours.there(), ours.service.jobs) == ([], keeps, {})
