"""Watches over an engine that has gone quiet, which end it when it can come to no end by itself."""

from __future__ import annotations

import threading
import time
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
        self._heard = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @abstractmethod
    def hopeless(self) -> bool:
        """Whether nothing can happen any more."""

    @abstractmethod
    def give_up(self) -> None:
        """Remember why, before the engine is interrupted."""

    def silent(self) -> float:
        """For how many seconds the engine has said nothing."""
        return time.monotonic() - self._heard

    def heard(self) -> None:
        self._heard = time.monotonic()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._every):
            if self.hopeless():
                self.give_up()
                self._interrupt()
                return
