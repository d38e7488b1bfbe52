"""An engine that waits for ever after a deletion has failed is interrupted; any other goes on."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from xmgen.pulumi_cli import stalls, watches

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


class Listening(watches.Watch):
    """Notes how long the engine was silent, at every look."""

    def __init__(self) -> None:
        super().__init__(lambda: None, every=0.001)
        self.silences: list[float] = []
        self.looked = threading.Semaphore(0)

    def hopeless(self) -> bool:
        self.silences.append(self.silent())
        self.looked.release()
        return False

    def give_up(self) -> None: ...


def test_silence_is_what_was_listened_to() -> None:
    """However long the process itself may have stood still between two looks."""
    with Listening() as watch:
        for _ in range(5):
            assert watch.looked.acquire(timeout=60)
    assert watch.silences[:5] == [0.001, 0.002, 0.003, 0.004, 0.005]


def test_an_event_ends_the_silence() -> None:
    with Listening() as watch:
        for _ in range(5):
            assert watch.looked.acquire(timeout=60)
        before = len(watch.silences)
        watch.heard()
        after = len(watch.silences)
        while len(watch.silences) < after + 2:
            assert watch.looked.acquire(timeout=60)
    assert 0 in watch.silences[before:]
