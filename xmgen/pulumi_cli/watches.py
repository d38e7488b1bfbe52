"""Watches over an engine that has gone quiet, which end it when it can come to no end by itself."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Watch(ABC):
    """Interrupts an engine once, when what it does is hopeless. As a context manager.

    interrupt: asks the engine to stop. every: seconds between two looks.
    """

    def __init__(self, interrupt: Callable[[], None], every: float) -> None:
        self._interrupt = interrupt
        self._every = every
        self._events = 0
        self._quiet_looks = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @abstractmethod
    def hopeless(self) -> bool:
        """Whether nothing can happen any more."""

    @abstractmethod
    def give_up(self) -> None:
        """Remember why, before the engine is interrupted."""

    def silent(self) -> float:
        """For how many seconds the engine has said nothing, as far as it was listened to: this process may have stood
        still, and then has not read yet what the engine said.
        """
        return self._quiet_looks * self._every

    def heard(self) -> None:
        self._events += 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        events = self._events
        while not self._ended.wait(self._every):
            events, before = self._events, events
            self._quiet_looks = self._quiet_looks + 1 if events == before else 0
            if self.hopeless():
                self.give_up()
                self._interrupt()
                return
