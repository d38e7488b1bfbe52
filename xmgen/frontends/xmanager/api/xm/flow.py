"""What a launch script has waited for, at each point of its execution.

`await work_unit.wait_until_complete()` means that whatever the script does next happens after that unit. A script may
wait in several tasks at once, and what one task waited for holds for another only if that one awaited the first. So
every task has a `Flow`: it starts with what its creator had waited for and learns what another task waited for when it
looks at that task's outcome (`await`, `gather`, `wait`, a callback, `result()`).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
from collections.abc import Callable, Coroutine, Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from xmgen.frontends.xmanager import recording

if TYPE_CHECKING:
    from xmgen.frontends.xmanager.api.xm.units import ExperimentUnit

T = TypeVar("T")

_flow: contextvars.ContextVar[Flow | None] = contextvars.ContextVar("xmgen_flow", default=None)


class Flow:
    """The units that one task of the script has waited for."""

    __slots__ = ("_ended", "_joined", "_waited", "task")

    def __init__(self, waited: Iterable[ExperimentUnit] = ()) -> None:
        self._waited: dict[ExperimentUnit, None] = dict.fromkeys(waited)
        self._joined: list[Flow] = []
        self._ended = False
        self.task: asyncio.Future[Any] | None = None

    @property
    def ended(self) -> bool:
        return self._ended or (self.task is not None and self.task.done())

    def end(self) -> None:
        self._ended = True

    def waited(self) -> dict[ExperimentUnit, None]:
        """Everything that is certainly complete here, in the order in which it was waited for."""
        if self._joined:
            for other in self._joined:
                if other.ended:
                    self._waited.update(other.waited())
            self._joined = [other for other in self._joined if not other.ended]
        return self._waited

    def wait(self, unit: ExperimentUnit) -> None:
        # What the unit itself came after is implied by it: a chain of units stays a chain.
        for implied in unit.predecessors:
            self._waited.pop(implied, None)
        self._waited[unit] = None

    def join(self, other: Flow) -> None:
        """From the end of `other` on, what it waited for is complete here too."""
        if other is not self and other not in self._joined:
            self._joined.append(other)


def current() -> Flow:
    """That of the running task, else that of the script itself, outside any task of its event loops."""
    return _flow.get() or recording.current().one(_of_script)


def _of_script(active: recording.Recording) -> Flow:
    del active
    return Flow()


def enter(flow: Flow) -> None:
    """Makes `flow` that of the running task."""
    _flow.set(flow)


if TYPE_CHECKING:
    _Future = asyncio.Future[Any]
else:
    _Future = object


class _Observed(_Future):
    """A future with the flow that brings about its result: whoever looks at the outcome joins it."""

    flow: Flow

    def __await__(self) -> Generator[Any, None, Any]:
        current().join(self.flow)
        return super().__await__()

    __iter__ = __await__

    def add_done_callback(self, fn: Callable[..., object], /, *, context: contextvars.Context | None = None) -> None:
        current().join(self.flow)
        super().add_done_callback(fn, context=context)

    def result(self) -> Any:
        current().join(self.flow)
        return super().result()

    def exception(self) -> BaseException | None:
        current().join(self.flow)
        return super().exception()


@dataclass(frozen=True, slots=True)
class Launch:
    """A generator that is to run: its outcome, what it has waited for, and what sets it going.

    It is set going once its unit knows it, so that whoever waits for the unit waits for it.
    """

    future: concurrent.futures.Future[Any]
    flow: Flow
    start: Callable[[], object]


class LaunchFuture(_Observed, asyncio.Future[T]):
    """What `add` returns for a generator that still runs."""

    def __init__(self, flow: Flow, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.flow = flow

    def follow(self, callback: Callable[[asyncio.Future[T]], object]) -> None:
        """`add_done_callback` of our own: it does not look at the outcome on the script's behalf."""
        super(_Observed, self).add_done_callback(callback)

    def settle(self, outcome: concurrent.futures.Future[Any], value: T) -> None:
        """Takes over the end of the launch: `value` when it went well."""
        if self.done():
            return
        if outcome.cancelled():
            self.cancel()
        elif error := outcome.exception():
            self.set_exception(error)
            # The experiment raises it when its context is left; asyncio need not report it as well.
            super(_Observed, self).exception()
        else:
            self.set_result(value)


class FlowTask(_Observed, asyncio.Task[T]):
    """A task of a launch script."""


def observe(loop: asyncio.AbstractEventLoop) -> None:
    """Gives every task that `loop` creates from now on a flow of its own."""
    if loop.get_task_factory() is not _create_task:
        loop.set_task_factory(_create_task)


def _create_task(
    loop: asyncio.AbstractEventLoop,
    coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
    *,
    context: contextvars.Context | None = None,
    **options: Any,
) -> asyncio.Task[T]:
    flow = Flow(current().waited())
    context = context or contextvars.copy_context()
    context.run(_flow.set, flow)
    task: FlowTask[T] = FlowTask(coro, loop=loop, context=context, **options)
    task.flow = flow
    flow.task = task
    return task
