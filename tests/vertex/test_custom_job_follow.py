"""Jobs that are waited for, until they end or nobody answers."""

from __future__ import annotations

import pytest

from tests.vertex.job_service import Fault, JobService
from tests.vertex.requests import ENDED, REQUEST, inputs, run
from xmgen.provider import custom_job_states

# The provider waits before it tries again.
pytestmark = pytest.mark.usefixtures("quick")


@pytest.mark.parametrize("state", ENDED)
def test_a_wait_ends_with_the_job(service: JobService, state: str):
    service.coming = ("JOB_STATE_RUNNING", state)
    made = run(lambda resource: resource.create(REQUEST, inputs(wait=True)), service)
    assert made.outputs["state"] == state
    assert bool(made.reasons) == (state != custom_job_states.SUCCEEDED)


def test_an_api_that_does_not_answer_any_more_ends_the_wait_and_not_the_job(service: JobService):
    service.faults.append(Fault(method="GET", ends="/1", status=403, times=99))
    made = run(lambda resource: resource.create(REQUEST, inputs(wait=True)), service)
    assert made.id == next(iter(service.jobs))
    [reason] = made.reasons
    assert reason.splitlines() == [
        "not waited for to the end: Vertex AI answers 403: as the test wants it. "
        "The job goes on, and the next `pulumi up` waits for it",
        "  docs/vertex.md#roles says which roles it takes, of whoever runs `up` and of the jobs' account",
        f"  {made.outputs['consoleUrl']}",
    ]


def test_who_does_not_wait_does_not_begin_to(service: JobService):
    service.coming = ("JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED")
    made = run(lambda resource: resource.create(REQUEST, inputs()), service)
    looked = run(lambda resource: resource.update(REQUEST, made.id, inputs(), inputs(), made.outputs), service)
    assert looked.outputs["state"] == "JOB_STATE_RUNNING"


def test_a_job_that_has_ended_need_not_be_there_any_more(service: JobService):
    known = {"state": "JOB_STATE_SUCCEEDED", "error": ""}
    name = "projects/1/locations/us-central1/customJobs/2"
    waited = run(lambda resource: resource.update(REQUEST, name, inputs(wait=True), inputs(), known), service)
    assert (waited.outputs, waited.reasons) == (known, ())
