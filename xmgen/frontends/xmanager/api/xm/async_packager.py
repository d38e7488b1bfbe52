"""Collects what is to be packaged, so that it is packaged in one go."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any

from xmgen.frontends.xmanager.api.xm.job_blocks import Executable, Packageable

PackageBatch = Callable[[Sequence[Packageable]], Sequence[Executable]]


class PackageHasNotBeenCalledError(RuntimeError):
    """The result of `package_async` was awaited before `package` was called."""


class PackagedLater(Awaitable[Executable]):
    """The executable that `package` will make. Pickles as an awaitable of the finished executable."""

    def __init__(self, future: concurrent.futures.Future[Executable]) -> None:
        self._future = future

    def _result(self) -> Executable:
        if not self._future.done():
            raise PackageHasNotBeenCalledError("call package() before awaiting what package_async() returned")
        return self._future.result()

    def __await__(self) -> Generator[Any, None, Executable]:
        self._result()
        return asyncio.wrap_future(self._future).__await__()

    def __reduce__(self) -> tuple[Callable[[Executable], PackagedLater], tuple[Executable]]:
        return _packaged, (self._result(),)


def _packaged(executable: Executable) -> PackagedLater:
    future: concurrent.futures.Future[Executable] = concurrent.futures.Future()
    future.set_result(executable)
    return PackagedLater(future)


class AsyncPackager:
    """Queues packageables. `package_batch` packages several at once."""

    def __init__(self, package_batch: PackageBatch) -> None:
        self._package_batch = package_batch
        self._lock = threading.Lock()
        self._queue: list[tuple[Packageable, concurrent.futures.Future[Executable]]] = []

    def add(self, packageable: Packageable) -> PackagedLater:
        future: concurrent.futures.Future[Executable] = concurrent.futures.Future()
        with self._lock:
            self._queue.append((packageable, future))
        return PackagedLater(future)

    def package(self, extra_packageables: Sequence[Packageable] = ()) -> Sequence[Executable]:
        """Packages what is queued and `extra_packageables`; returns the executables of the latter."""
        with self._lock:
            queue, self._queue = self._queue, []
        packageables = [packageable for packageable, _ in queue] + list(extra_packageables)
        if not packageables:
            return []
        try:
            executables = self._package_batch(packageables)
        except Exception as error:
            for _, future in queue:
                future.set_exception(error)
            raise
        for executable, (_, future) in zip(executables, queue, strict=False):
            future.set_result(executable)
        return executables[len(queue) :]
