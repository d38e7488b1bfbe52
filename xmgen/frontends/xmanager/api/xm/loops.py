"""The event loop of a synchronous `with experiment:`, in a thread of its own."""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable
from typing import Any

from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api.xm import flow, utils

_PATIENCE = 10.0
"""Seconds. A generator that blocks for longer (on a lock that the script is to release) runs beside the script."""


class _Selector(selectors.DefaultSelector):
    """Says when the loop has nothing left to do."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[threading.Event] = []

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout > 0:
            for event in self.waiting:
                event.set()
            self.waiting.clear()
        return super().select(timeout)


class LoopThread:
    """An event loop in a daemon thread.

    The script and its generators would run at the same time, and which adds a unit first would be chance. So the
    script waits after each generator it starts until the loop is idle: the same script gives the same experiment.
    """

    def __init__(self, thread: Callable[..., threading.Thread]) -> None:
        self._selector = _Selector()
        self.loop = asyncio.SelectorEventLoop(self._selector)
        flow.observe(self.loop)
        self._thread = thread(target=recording.in_this_recording(self.loop.run_forever), daemon=True)
        self._thread.start()

    def wait_until_idle(self) -> None:
        """Returns once every task has ended or waits for something; at once in the loop's own thread."""
        if threading.current_thread() is self._thread:
            return
        event = threading.Event()
        self.loop.call_soon_threadsafe(self._selector.waiting.append, event)
        event.wait(_PATIENCE)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(utils.cancel_tasks(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
