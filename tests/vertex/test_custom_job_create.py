"""Submitted once, whatever the API answers: what is tried again, how long, and what an answer is worth."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.harness import until
from tests.vertex.job_service import TOKEN, Fault, JobService
from tests.vertex.requests import REQUEST, URN, inputs, problems, run
from xmgen.errors import OperationError
from xmgen.provider import custom_job_api
from xmgen.provider.custom_job import CustomJobResource
from xmgen.provider.resource import Request
from xmgen.provider.settings import Settings
from xmgen.urns import Urn

# The provider waits before it tries again.
pytestmark = pytest.mark.usefixtures("quick")


@pytest.mark.parametrize(
    "fault",
    [
        *(Fault(method="POST", status=status, times=3) for status in (429, 502, 503, 504)),
        Fault(method="POST", lost=True, times=1),
        Fault(method="GET", status=503, times=7),
        Fault(method="GET", lost=True, times=2),
    ],
    ids=lambda fault: f"{fault.method} {fault.status or 'lost'}",
)
def test_what_may_go_better_is_tried_again_and_submitted_once(service: JobService, fault: Fault):
    service.faults.append(copy.copy(fault))
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert (list(service.jobs), len(service.bodies), service.faults[0].times) == ([state.id], 1, 0)


@pytest.mark.parametrize("status", [400, 403, 404, 409, 500])
def test_what_is_refused_is_asked_once(service: JobService, status: int):
    service.faults.append(Fault(method="POST", status=status, times=9))
    with pytest.raises(OperationError, match=f"Vertex AI answers {status}: as the test wants it"):
        run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert (service.faults[0].times, service.jobs) == (8, {})


def test_what_does_not_go_better_ends_with_what_was_said_last(service: JobService):
    service.faults.append(Fault(method="POST", status=429, times=99))
    with pytest.raises(OperationError, match="asked 8 times: as the test wants it"):
        run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert service.faults[0].times == 99 - custom_job_api.ATTEMPTS


def test_the_label_is_the_same_for_the_same_job_only(service: JobService):
    place = custom_job_api.Place("acme", "us-central1")
    labels = {
        custom_job_api.submission(urn, where, body)
        for urn, where, body in [
            (URN.text, place, {"displayName": "a"}),
            (URN.text, place, {"displayName": "a"}),
            (URN.text, place, {"labels": {"a": "b"}, "displayName": "a"}),
            (URN.text, place, {"displayName": "a", "labels": {"a": "b"}}),
            (f"{URN.text}-2", place, {"displayName": "a"}),
            (URN.text, place, {"displayName": "b"}),
            (URN.text, custom_job_api.Place("other", "us-central1"), {"displayName": "a"}),
        ]
    }
    assert len(labels) == 5
    assert problems(inputs(labels={custom_job_api.LABEL: next(iter(labels))})) == {}


def test_a_sweep_gets_through_although_only_so_many_are_taken_at_a_time(
    service: JobService, monkeypatch: pytest.MonkeyPatch
):
    """With eight attempts each there would be too few for all."""
    monkeypatch.setattr(custom_job_api, "_LONGEST_DELAY", 0.02)
    service.one_in = 7
    requests = [replace(REQUEST, urn=Urn(f"{URN.text}-{number}")) for number in range(20)]

    async def sweep(resource: CustomJobResource) -> list[Any]:
        return await asyncio.gather(*(resource.create(request, inputs()) for request in requests))

    made = run(sweep, service)
    assert sorted(state.id for state in made) == sorted(service.jobs)
    assert len(service.bodies) == 20


def test_between_attempts_it_waits_longer_and_longer_or_as_long_as_it_is_told(
    service: JobService, monkeypatch: pytest.MonkeyPatch
):
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(custom_job_api, "_FIRST_DELAY", 1.0)
    monkeypatch.setattr(custom_job_api.random, "uniform", lambda least, most: most)
    monkeypatch.setattr(custom_job_api.asyncio, "sleep", sleep)
    service.faults.append(Fault(method="POST", status=429, times=4))
    service.faults.append(Fault(method="POST", status=429, retry_after="25"))
    service.faults.append(Fault(method="POST", status=429, retry_after="9999"))
    service.faults.append(Fault(method="POST", status=429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"))
    run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert waited == [1, 2, 4, 8, 25, 60, 32]


def test_an_answer_that_takes_too_long_is_no_answer(service: JobService, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(custom_job_api, "_TIMEOUT", (5.0, 0.2))
    service.faults.append(Fault(method="POST", delay=1.0))
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert service.jobs[state.id]["displayName"] == "train"


class Answer:
    def __init__(self, text: str) -> None:
        self.text, self.reason = text, "Bad Request"

    def json(self) -> Any:
        return json.loads(self.text)


VIOLATION = {"field": "job_spec", "description": "is too long"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"error": {"message": "no"}}', "no"),
        ('{"error": {"status": "INVALID_ARGUMENT"}}', "INVALID_ARGUMENT"),
        (
            json.dumps({"error": {"message": "no", "details": [{"fieldViolations": [VIOLATION]}]}}),
            "no\n  job_spec: is too long",
        ),
        ("<html>\n<body>Log in", "<html>"),
        ("[]", "[]"),
        ("", "Bad Request"),
    ],
)
def test_what_an_answer_says(text: str, message: str):
    assert custom_job_api._message(Answer(text)) == message


@pytest.mark.parametrize(
    ("status", "says"),
    [(200, "asked 8 times: an answer that is not the API's: <html>"), (302, "Vertex AI answers 302: <html>")],
)
def test_an_answer_of_somebody_else_is_no_defect(service: JobService, status: int, says: str):
    service.faults.append(Fault(method="GET", status=status, text="<html>\nLog in", times=99))
    with pytest.raises(OperationError, match=says):
        run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert service.bodies == []


def test_a_redirect_is_not_followed(service: JobService):
    """The token would go with it."""
    with JobService() as other:
        service.faults.append(Fault(method="GET", status=307, location=other.address, times=99))
        with pytest.raises(OperationError, match="Vertex AI answers 307: as the test wants it"):
            run(lambda resource: resource.create(REQUEST, inputs()), service)
        assert other.peak == 0


async def interrupted(resource: CustomJobResource, service: JobService, *requests: Request) -> list[Any]:
    """What creates end with that are cancelled when the first submission has been sent, and before it is answered."""
    (submission,) = service.faults
    assert submission.until is not None
    tasks = [asyncio.ensure_future(resource.create(request, inputs())) for request in requests]
    await asyncio.to_thread(until, lambda: submission.times == 0, "it is being submitted")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks[1:], return_exceptions=True)
    submission.until.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_ctrl_c_sends_nothing_that_was_not_sent_yet(service: JobService):
    service.faults.append(Fault(method="POST", until=threading.Event()))
    settings = Settings(vertex_endpoint=service.address, access_token=TOKEN, vertex_concurrency=1)
    others = (replace(REQUEST, urn=Urn(f"{URN.text}-{number}")) for number in range(3))

    async def whole() -> list[Any]:
        return await interrupted(CustomJobResource(settings), service, REQUEST, *others)

    first, *rest = asyncio.run(whole())
    assert [first.id] == list(service.jobs)
    assert [type(each) for each in rest] == [asyncio.CancelledError] * 3


def test_ctrl_c_and_a_lost_answer_leave_a_job_that_is_found_again(service: JobService):
    service.faults.append(Fault(method="POST", until=threading.Event(), lost=True))
    [ended] = run(lambda resource: interrupted(resource, service, REQUEST), service)
    assert isinstance(ended, asyncio.CancelledError)
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert ([state.id], len(service.bodies)) == (list(service.jobs), 1)
