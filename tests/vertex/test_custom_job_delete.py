"""Jobs that are cancelled and deleted, in whichever state they are; and imported, from what the API has of them."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from typing import Any

import pytest

from tests.vertex.job_service import TOKEN, Fault, JobService
from tests.vertex.requests import ENDED, REQUEST, inputs, run
from xmgen.errors import OperationError, Problem
from xmgen.provider import custom_job, custom_job_api
from xmgen.provider.custom_job import CustomJobResource
from xmgen.provider.settings import Settings

# The provider waits before it tries again.
pytestmark = pytest.mark.usefixtures("quick")


def test_a_job_that_ends_while_it_is_cancelled_is_deleted_all_the_same(service: JobService):
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.become("JOB_STATE_RUNNING")
    service.faults.append(Fault(method="POST", ends=":cancel", status=400))
    service.coming = ("JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED")
    run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert service.jobs == {}


@pytest.mark.parametrize(
    "fault",
    [Fault(method="POST", ends=":cancel", evicts=True), Fault(method="DELETE", evicts=True)],
    ids=["cancelled", "deleted"],
)
def test_a_job_that_vanishes_while_it_is_deleted_is_deleted(service: JobService, fault: Fault):
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.faults.append(copy.copy(fault))
    run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert (service.jobs, service.faults[0].times) == ({}, 0)


def test_a_job_that_cannot_be_cancelled_is_told_of(service: JobService):
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.faults.append(Fault(method="POST", ends=":cancel", status=400, times=99))
    with pytest.raises(OperationError, match="Vertex AI answers 400: as the test wants it"):
        run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert service.states() == ["JOB_STATE_RUNNING"]


def test_a_cancellation_that_was_accepted_is_waited_for_whatever_is_said_to_the_next():
    class Slow:
        """Says for a while that a job runs that it is about to cancel."""

        looks = iter([*(["JOB_STATE_RUNNING"] * 6), "JOB_STATE_CANCELLED"])
        answers = iter([None, *(custom_job_api.Refused(400, Problem("cancelled already")) for _ in range(5))])

        async def get(self, name: str) -> dict[str, Any]:
            return {"state": next(self.looks)}

        async def cancel(self, name: str) -> custom_job_api.Refused | None:
            return next(self.answers)

        async def delete(self, name: str) -> None: ...

    async def delete(resource: CustomJobResource) -> None:
        resource._service = Slow()  # type: ignore[assignment]
        await resource.delete(REQUEST, "a job", {}, {})

    run(delete)


def test_looks_at_what_is_soon_over_come_less_and_less_often(service: JobService, monkeypatch: pytest.MonkeyPatch):
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async def delete() -> None:
        resource = CustomJobResource(Settings(vertex_endpoint=service.address, access_token=TOKEN))
        state = await resource.create(REQUEST, inputs())
        monkeypatch.setattr(custom_job.asyncio, "sleep", sleep)
        await resource.delete(REQUEST, state.id, inputs(), state.outputs)

    service.cancelling = 5
    asyncio.run(delete())
    assert waited == [1, 2, 4, 8, 15, 15, 15]


def test_a_cancellation_that_takes_its_time_is_asked_for_once(service: JobService):
    service.cancelling = 4
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert (service.jobs, service.count("POST", "customJobs:cancel")) == ({}, 1)


def test_deleting_no_longer_than_the_timeout(service: JobService):
    service.cancelling = 10**6
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    hurried = replace(REQUEST, timeout=0.1)
    with pytest.raises(OperationError, match=r"0\.1 s are over, and the job is not deleted yet"):
        run(lambda resource: resource.delete(hurried, state.id, inputs(), state.outputs), service)


def test_a_deletion_is_followed_to_its_end(service: JobService):
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.operations = [{"done": False}, {"done": False}, {"done": True, "error": {"message": "it is locked"}}]
    with pytest.raises(OperationError, match="Vertex AI cannot delete the job: it is locked"):
        run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert service.operations == []


@pytest.mark.parametrize("state", ENDED)
def test_a_job_that_has_ended_is_deleted_without_a_cancellation(service: JobService, state: str):
    made = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.become(state)
    run(lambda resource: resource.delete(REQUEST, made.id, inputs(), made.outputs), service)
    assert (service.jobs, service.count("POST", "customJobs:cancel")) == ({}, 0)


def test_an_import_has_what_would_have_made_the_job(service: JobService):
    made = run(lambda resource: resource.create(REQUEST, inputs(labels={"team": "vision"})), service)
    found = run(lambda resource: resource.read(REQUEST, made.id, {}, {}), service)
    assert found.inputs == inputs(labels={"team": "vision"}, project="123456789012")
    assert found.outputs["state"] == "JOB_STATE_PENDING"
    by_id = run(lambda resource: resource.read(REQUEST, made.id.replace("123456789012", "acme"), {}, {}), service)
    assert by_id.inputs == inputs(labels={"team": "vision"})


def test_there_is_nothing_to_import(service: JobService):
    name = "projects/1/locations/us-central1/customJobs/2"
    assert run(lambda resource: resource.read(REQUEST, name, {}, {}), service) is None


@pytest.mark.parametrize(
    "name",
    [
        "customJobs/2",
        "projects/1/locations/example.com#/customJobs/2",
        "projects/1/locations/example.com?/customJobs/2",
        "projects/1/locations/me@example.com:80#/customJobs/2",
        "projects/1#/locations/us-central1/customJobs/2",
        "projects/1/locations/us-central1/customJobs/2:cancel",
        "projects/1/locations/us-central1/customJobs/2?filter=x",
        "projects/1/locations/us-central1/customJobs/2\n",
    ],
)
def test_what_is_no_name_of_a_job_is_sent_nowhere(service: JobService, name: str):
    """Part of the name becomes the host of the API, which is sent an access token."""
    with pytest.raises(OperationError) as refused:
        run(lambda resource: resource.read(REQUEST, name, {}, {}), service)
    expected = Problem(f"{name!r} is no CustomJob", hint="projects/<project>/locations/<region>/customJobs/<number>")
    assert (refused.value.problems, service.log) == ((expected,), [])
