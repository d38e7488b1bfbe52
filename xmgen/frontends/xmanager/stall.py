"""Notices a launch script that can never end, such as one that awaits a future that nobody will resolve.

A process whose every thread waits without a time limit for another of them is dead. A thread of ours looks for that,
and nothing else: a script that computes, sleeps, reads a socket or waits for a child process may take its time.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import signal
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

from xmgen.errors import InputError, Problem

INTERVAL = 0.5
"""Seconds between two looks."""

LOOKS = 5
"""That many in a row must have found the same: a thread that is about to be woken looks as if it waited."""

_NO_LIMIT = (None, -1)  # epoll's way to say it is -1


@contextlib.contextmanager
def noticed(script: Path, place: str) -> Generator[None]:
    """Raise InputError when the code inside can never end. Only the main thread can be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _Watch(script)
    watch.start()
    try:
        with _interruptible(watch):
            yield
    except KeyboardInterrupt:
        if watch.waits is None:
            raise
        raise InputError(*(_problem(line, place) for line in watch.waits or [None])) from None
    finally:
        watch.stop()


@contextlib.contextmanager
def _interruptible(watch: _Watch) -> Generator[None]:
    """Let the watch interrupt the main thread also where SIGINT is ignored, as it is in what a script runs with `&`."""

    def handle(signum: int, frame: FrameType | None) -> None:
        if watch.waits is not None:
            raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _problem(line: int | None, place: str) -> Problem:
    return Problem(
        "the launch script would wait for ever: nothing that is left to run can end this wait",
        where=f"{place}:{line}" if line else place,
        hint="at compile time only `add`, `package` and `wait_until_complete()` of this experiment come to an end",
    )


class _Watch(threading.Thread):
    """waits: once everything stands still, the lines of the script that wait; None before."""

    def __init__(self, script: Path) -> None:
        super().__init__(name="xmgen-stall", daemon=True)
        self.waits: list[int] | None = None
        self._script = str(script)
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def run(self) -> None:
        before: object = None
        same = 0
        while not self._stopped.wait(INTERVAL):
            now = self._standing_still()
            same = same + 1 if now is not None and now == before else 0
            if same == LOOKS - 1:
                self.waits = self._lines()
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
                return
            before = now

    def _frames(self) -> dict[int, FrameType]:
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - documented
        return {ident: frame for ident, frame in frames.items() if ident != self.ident}

    def _standing_still(self) -> object:
        """Where each thread waits, if all do; None otherwise."""
        frames = self._frames()
        if all(_waits_for_ever(frame) for frame in frames.values()):
            return {ident: (id(frame), frame.f_lasti) for ident, frame in frames.items()}
        return None

    def _lines(self) -> list[int]:
        """The script's lines that wait: of its tasks, else of its main thread."""
        loops = {loop for frame in self._frames().values() if (loop := _loop(frame)) is not None}
        tasks = [task for loop in loops for task in asyncio.all_tasks(loop)]
        lines = {line for task in tasks if (line := self._line(_coroutine_frames(task.get_coro())))}
        return sorted(lines)

    def _line(self, frames: list[FrameType]) -> int | None:
        own = [frame.f_lineno for frame in frames if frame.f_code.co_filename == self._script]
        return own[-1] if own else None


def _waits_for_ever(frame: FrameType) -> bool:
    """Whether the thread waits for another thread, without a time limit."""
    code, values = frame.f_code, frame.f_locals
    match Path(code.co_filename).name, code.co_name:
        case "selectors.py", "select":
            # One descriptor is the loop's own, through which other threads wake it.
            own: Any = values.get("self")
            watched = own.get_map() if isinstance(own, selectors.BaseSelector) else None
            return values.get("timeout", 0) in _NO_LIMIT and len(watched or ()) <= 1
        case "threading.py", "wait":
            return values.get("timeout", 0) in _NO_LIMIT
        case "thread.py", "_worker":
            return True  # an idle thread of an executor
        case _:
            return False


def _loop(frame: FrameType | None) -> asyncio.AbstractEventLoop | None:
    """The event loop that a waiting thread runs."""
    while frame is not None:
        own = frame.f_locals.get("self")
        if frame.f_code.co_name == "_run_once" and isinstance(own, asyncio.AbstractEventLoop):
            return own
        frame = frame.f_back
    return None


def _coroutine_frames(coroutine: Any) -> list[FrameType]:
    """The frames of a suspended coroutine, outermost first."""
    frames: list[FrameType] = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None:
            frames.append(frame)
        coroutine = getattr(coroutine, "cr_await", None)
    return frames
