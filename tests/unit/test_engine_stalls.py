"""An engine that waits for ever after a deletion has failed is interrupted; any other goes on."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from xmgen.engine import stalls

URN = "urn:pulumi:dev::experiments::kubernetes:batch/v1:Job::train"
OTHER = "urn:pulumi:dev::experiments::kubernetes:batch/v1:Job::other"


def step(kind: str, operation: str, urn: str = URN) -> dict[str, Any]:
    return {"sequence": 1, kind: {"metadata": {"urn": urn, "op": operation}}}


FAILED = [step("resourcePreEvent", "delete-replaced"), step("resOpFailedEvent", "delete-replaced")]


@pytest.fixture(autouse=True)
def without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "SECONDS", 0.0)


@pytest.mark.parametrize(
    "events",
    [
        FAILED,
        # The stack itself stays as it is until its program has ended.
        [step("resourcePreEvent", "same", "urn:pulumi:dev::experiments::pulumi:pulumi:Stack::dev"), *FAILED],
        [step("resourcePreEvent", "create", OTHER), *FAILED, step("resOutputsEvent", "create", OTHER)],
    ],
)
def test_nothing_is_under_way(events: list[dict[str, Any]]) -> None:
    interrupted = threading.Event()
    with stalls.Watch(interrupted.set) as watch:
        for event in events:
            watch.hear(event)
        assert interrupted.wait(60)
    assert watch.stuck == (URN,)
    (text,) = stalls.messages(watch.stuck)
    assert text.startswith("train could not be deleted, so that nothing could take its place;")


@pytest.mark.parametrize(
    "events",
    [
        [step("resourcePreEvent", "create", OTHER), *FAILED],
        [step("resourcePreEvent", "create"), step("resOpFailedEvent", "create")],
        [step("resourcePreEvent", "delete-replaced"), step("resOutputsEvent", "delete-replaced")],
        [step("resourcePreEvent", "delete"), step("resOpFailedEvent", "delete")],
    ],
)
def test_the_engine_is_left_to_itself(events: list[dict[str, Any]]) -> None:
    watch = stalls.Watch(lambda: pytest.fail("interrupted"))
    for event in events:
        watch.hear(event)
    assert not watch.hopeless()
