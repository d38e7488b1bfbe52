"""What is looked for after an operation that was killed, or that lost an answer, and what is said of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.engine_states import IMAGE, NETWORK, NETWORK_ID, PROVIDER_URN, RUN, TENSORBOARD, resource, state
from xmgen.pulumi_cli import interrupted
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.interrupted import MARK
from xmgen.pulumi_cli.state import StateResource

BEGUN = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
SOUGHT = {**NETWORK, "id": NETWORK_ID}
MARKED = {**SOUGHT, "initErrors": [MARK]}


def resources(export: str) -> list[dict[str, Any]]:
    return json.loads(export)["deployment"]["resources"][1:]


def test_creates_are_told_apart() -> None:
    left = interrupted.pending(
        state(NETWORK, creating=[NETWORK, IMAGE, RUN, TENSORBOARD], updating=[NETWORK], deleting=[NETWORK])
    )
    assert left == interrupted.Sorted(
        sought=[StateResource.of(SOUGHT)], untraceable=[StateResource.of(TENSORBOARD)], again=2, taken_up=2
    )


JOB = resource("xmgen:vertex:CustomJob", "train", inputs={})


@pytest.mark.parametrize(
    ("there", "pending", "cancelled"),
    [
        ([JOB], {"deleting": [JOB]}, [JOB["urn"]]),
        ([JOB, RUN], {"deleting": [RUN], "updating": [JOB]}, []),
        ([], {"deleting": [JOB]}, []),
        # It was replaced, and goes by itself.
        ([{**JOB, "delete": True}], {"deleting": [JOB]}, []),
    ],
)
def test_jobs_that_a_killed_deletion_has_cancelled(
    there: list[dict[str, Any]], pending: dict[str, list[dict[str, Any]]], cancelled: list[str]
) -> None:
    assert interrupted.cancelled(state(*there, **pending)) == cancelled


def test_a_search_that_was_interrupted_goes_on() -> None:
    assert interrupted.pending(state(MARKED)).sought == [StateResource.of(MARKED)]


def test_a_mark_keeps_when_the_operation_began() -> None:
    export = interrupted.marked(state(creating=[NETWORK]), interrupted.pending(state(creating=[NETWORK])).sought, BEGUN)
    (again,) = interrupted.pending(export).sought
    assert interrupted.begun(again, datetime(2026, 5, 2, tzinfo=UTC)) == BEGUN
    # A search that goes on knows no better.
    later = interrupted.marked(export, [again], datetime(2026, 5, 2, tzinfo=UTC))
    assert resources(later) == resources(export)
    # An earlier one did not know.
    assert interrupted.begun(StateResource.of(MARKED), BEGUN) is None
    assert interrupted.begun(StateResource.of(NETWORK), BEGUN) == BEGUN


SAVED = "2026-05-01T12:05:00.123456789+00:00"


@pytest.mark.parametrize(
    ("manifest", "locked", "begun"),
    [
        ({"time": SAVED}, [BEGUN], BEGUN),
        ({"time": "2026-05-01T14:05:00.123456789+02:00"}, [BEGUN], BEGUN),
        # A search that was killed: what is pending was so before.
        ({"time": SAVED}, [datetime(2026, 5, 1, 13, tzinfo=UTC)], None),
        ({"time": SAVED}, [datetime(2026, 5, 1, 13, tzinfo=UTC), BEGUN], BEGUN),
        ({"time": SAVED}, [], None),
        ({}, [BEGUN], None),
        (None, [BEGUN], None),
    ],
)
def test_the_state_says_which_lock_was_that_of_the_operation(
    manifest: dict[str, Any] | None, locked: list[datetime], begun: datetime | None
) -> None:
    export = json.dumps({"version": 3, "deployment": {"manifest": manifest}})
    assert interrupted.begin(export, locked) == begun


REPLACED = {**NETWORK, "id": "older", "outputs": {"name": "older"}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [MARKED]),
        ([RUN], [RUN, MARKED]),
        # A replacement: the one that was replaced still has to go, after the new one is there.
        ([REPLACED, RUN], [MARKED, {**REPLACED, "delete": True}, RUN]),
        # It is gone already.
        ([{**REPLACED, "pendingReplacement": True}, RUN], [MARKED, RUN]),
        ([MARKED, RUN], [MARKED, RUN]),
    ],
)
def test_what_is_sought_stands_in_the_state_with_a_mark(
    before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    export = interrupted.marked(state(*before, creating=[NETWORK]), [StateResource.of(SOUGHT)])
    assert resources(export) == after
    assert interrupted.pending(export).sought == [StateResource.of(MARKED)]
    assert interrupted.still_marked(export) == {NETWORK["urn"]}
    there = {**SOUGHT, "outputs": {"name": "net-1234567"}}
    assert interrupted.found(state(there), [StateResource.of(SOUGHT)]) == {NETWORK["urn"]: StateResource.of(there)}
    assert interrupted.found(export, [StateResource.of(SOUGHT)]) == {}
    assert MARKED not in resources(interrupted.without(export, [NETWORK["urn"]]))


@pytest.mark.parametrize(
    ("text", "sought"),
    [
        ("error reading from server: EOF", True),
        ('connection error: desc = "transport: dial tcp 127.0.0.1:1: connect: connection refused"', True),
        ("rpc error: code = Unavailable desc = transport is closing", True),
        ("googleapi: got HTTP response code 502: the response was lost", True),
        ("googleapi: Error 503: The service is currently unavailable, backendError", True),
        ('Post "https://10.0.0.2/api/v1/namespaces": read tcp 10.0.0.1:1: connection reset by peer', True),
        # Answers: what is there belongs to somebody else, or nothing is there.
        ("googleapi: Error 409: Already exists, alreadyExists", False),
        ("googleapi: Error 429: Quota exceeded, rateLimitExceeded", False),
        ("googleapi: Error 403: forbidden, forbidden", False),
        ('namespaces "jobs" already exists', False),
    ],
)
def test_only_creates_without_an_answer_are_looked_for(text: str, sought: bool) -> None:
    new = {key: value for key, value in NETWORK.items() if key != "custom"}
    progress = Progress(units={}, failed_creates={NETWORK["urn"]: new}, errors={NETWORK["urn"]: [text]})
    found = interrupted.failed(state(RUN), progress).sought
    # It is deleted before everything that was there when it was made.
    expected = StateResource.of({**SOUGHT, "dependencies": [PROVIDER_URN, RUN["urn"]]})
    assert found == ([expected] if sought else [])
    # It is in the state already, as failed.
    assert interrupted.failed(state(NETWORK), progress).sought == []


@pytest.mark.parametrize(
    ("outputs", "begun", "expected"),
    [
        ({"metadata": {"creationTimestamp": "2026-05-01T11:00:00Z"}}, BEGUN, True),
        ({"metadata": {"creationTimestamp": "2026-05-01T12:00:10Z"}}, BEGUN, False),
        # Clocks differ.
        ({"metadata": {"creationTimestamp": "2026-05-01T11:59:00Z"}}, BEGUN, False),
        ({"createTime": "2026-05-01T10:00:00.123456Z"}, BEGUN, True),
        ({"timeCreated": "2026-05-01T12:00:10Z"}, BEGUN, False),
        ({"name": "net"}, BEGUN, False),
        ({"createTime": "2026-05-01T10:00:00Z"}, None, False),
        (None, BEGUN, False),
    ],
)
def test_what_was_there_before_is_somebody_elses(
    outputs: dict[str, Any] | None, begun: datetime | None, expected: bool
) -> None:
    assert interrupted.older(StateResource.of({**NETWORK, "outputs": outputs}), begun) is expected


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("googleapi: Error 404: Not found: projects/acme/locations/z/clusters/c, notFound", True),
        ("rpc error: code = NotFound desc = Not found", True),
        ("googleapi: Error 403: Permission denied, forbidden", False),
    ],
)
def test_an_import_may_fail_where_there_is_nothing(text: str, absent: bool) -> None:
    assert interrupted.is_absent([text]) is absent
