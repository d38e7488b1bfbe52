"""The experiment: what a launch script creates, enters and adds to.

XManager launches what is added; here it is recorded (`api.xm_local`). A job or a group is recorded before `add`
returns; a generator runs in the event loop of the experiment's context, which is left when all have ended.
"""

from __future__ import annotations

import abc
import asyncio
import collections
import contextvars
import functools
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent import futures
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar, overload

from absl import logging

from xmgen.errors import InputError, Problem
from xmgen.frontends.xmanager.api.xm import flow, job_blocks, utils
from xmgen.frontends.xmanager.api.xm.async_packager import AsyncPackager
from xmgen.frontends.xmanager.api.xm.errors import (
    DebugInterrupt,
    ExperimentUnitError,
    ExperimentUnitFailedError,
    ExperimentUnitNotCompletedError,
    NotFoundError,
    ReloadError,
)
from xmgen.frontends.xmanager.api.xm.loops import LoopThread
from xmgen.frontends.xmanager.api.xm.metadata_context import ContextAnnotations, MetadataContext
from xmgen.frontends.xmanager.api.xm.problems import here, unsupported
from xmgen.frontends.xmanager.api.xm.units import (
    AuxiliaryUnit,
    AuxiliaryUnitJob,
    AuxiliaryUnitRole,
    ExperimentUnit,
    ExperimentUnitRole,
    ExperimentUnitStatus,
    Importance,
    LaunchedJob,
    WorkUnit,
    WorkUnitCompletedAwaitable,
    WorkUnitRole,
    apply_args,
    creator,
    current_experiment,
    current_unit,
)

__all__ = [
    "AuxiliaryUnit",
    "AuxiliaryUnitJob",
    "AuxiliaryUnitRole",
    "DebugInterrupt",
    "Experiment",
    "ExperimentUnit",
    "ExperimentUnitError",
    "ExperimentUnitFailedError",
    "ExperimentUnitNotCompletedError",
    "ExperimentUnitRole",
    "ExperimentUnitStatus",
    "Importance",
    "LaunchedJob",
    "NotFoundError",
    "ReloadError",
    "WorkUnit",
    "WorkUnitCompletedAwaitable",
    "WorkUnitRole",
    "get_xid_from_context",
]

T = TypeVar("T")

# Under these names XManager's own tests and some launchers reach them.
_apply_args = apply_args
_current_experiment = current_experiment
_current_experiment_unit = current_unit


class NotEntered(InputError, RuntimeError):
    """The experiment's context is needed, or was entered in the wrong way."""


class Experiment(abc.ABC):
    """A context to add units in: `with create_experiment(…) as experiment:`, or `async with` in a coroutine."""

    _async_packager: ClassVar[AsyncPackager]
    _loop_thread: LoopThread | None = None
    _event_loop: asyncio.AbstractEventLoop | None = None
    _token: contextvars.Token[Experiment | None] | None = None
    _launches: collections.deque[flow.Launch]
    _added_roles: collections.Counter[type[ExperimentUnitRole]]

    @property
    def experiment_id(self) -> int:
        raise NotImplementedError

    def __enter__(self) -> Self:
        if utils.is_in_running_loop():
            raise NotEntered(
                Problem(
                    "`with` on an experiment does not work in a coroutine",
                    where=here(),
                    hint="async with create_experiment(…) as experiment:",
                )
            )
        self._loop_thread = LoopThread(self._thread_factory())
        self._enter(self._loop_thread.loop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        try:
            self._end_launches(error, self._outcomes())
        finally:
            if self._loop_thread is not None:
                self._loop_thread.close()
                self._loop_thread = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        flow.observe(loop)
        self._enter(loop)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        if error is not None:
            self._cancel_launches()
        finished: list[futures.Future[Any]] = []
        while self._launches:
            future = self._launches.popleft().future
            await asyncio.gather(asyncio.wrap_future(future), return_exceptions=True)
            finished.append(future)
        self._end_launches(error, finished)

    def _thread_factory(self) -> Callable[..., threading.Thread]:
        return threading.Thread

    def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        self._event_loop = loop
        self._launches = collections.deque()
        self._added_roles = collections.Counter()
        self._token = current_experiment.set(self)

    def _leave(self) -> None:
        if self._token is not None:
            current_experiment.reset(self._token)
            self._token = None

    def _outcomes(self) -> Iterable[futures.Future[Any]]:
        """The launches as they end, those included that others add meanwhile."""
        while self._launches:
            future = self._launches.popleft().future
            futures.wait([future])
            yield future

    def _cancel_launches(self) -> None:
        for launch in self._launches:
            launch.future.cancel()

    def _end_launches(self, error: BaseException | None, outcomes: Iterable[futures.Future[Any]]) -> None:
        """Raises the first error of a generator, unless the script's own `error` is already on its way."""
        if error is not None:
            self._cancel_launches()
        first: BaseException | None = None
        cancelled = 0
        for future in outcomes:
            if future.cancelled():
                cancelled += 1
            elif failure := future.exception():
                first = first or failure
        if error is not None:
            return
        if cancelled:
            logging.warning("Ignored %d cancelled tasks.", cancelled)
        if first is not None:
            raise first
        self._validate_added_roles()

    def _validate_added_roles(self) -> None:
        if not any(issubclass(role, WorkUnitRole) for role in self._added_roles):
            logging.warning("No work units were added to this experiment, which is usually not intended.")

    @classmethod
    def _packager(cls) -> AsyncPackager:
        return cls._async_packager

    @classmethod
    def package(cls, packageables: Sequence[job_blocks.Packageable] = ()) -> Sequence[job_blocks.Executable]:
        """The executables of `packageables`, and of what `package_async` has queued. Needs no context."""
        return cls._packager().package(packageables)

    @classmethod
    def package_async(cls, packageable: job_blocks.Packageable) -> Awaitable[job_blocks.Executable]:
        """Queues `packageable` for the next `package()`; the executable can be awaited after that."""
        return cls._packager().add(packageable)

    @overload
    def add(  # pyright: ignore[reportOverlappingOverload] - such a job is a generator too
        self, job: AuxiliaryUnitJob, args: Mapping[str, Any] | None = ..., *, identity: str = ...
    ) -> asyncio.Future[AuxiliaryUnit]: ...

    @overload
    def add(
        self,
        job: job_blocks.JobType,
        args: Mapping[str, Any] | None = ...,
        *,
        role: WorkUnitRole = ...,
        identity: str = ...,
    ) -> asyncio.Future[WorkUnit]: ...

    @overload
    def add(
        self,
        job: job_blocks.JobType,
        args: Mapping[str, Any] | None = ...,
        *,
        role: AuxiliaryUnitRole,
        identity: str = ...,
    ) -> asyncio.Future[AuxiliaryUnit]: ...

    @overload
    def add(
        self,
        job: job_blocks.JobType,
        args: Mapping[str, Any] | None = ...,
        *,
        role: ExperimentUnitRole,
        identity: str = ...,
    ) -> asyncio.Future[Any]: ...

    def add(
        self,
        job: Any,
        args: Mapping[str, Any] | None = None,
        *,
        role: ExperimentUnitRole | None = None,
        identity: str = "",
    ) -> asyncio.Future[Any]:
        """Makes a unit of a job, a group or a generator (`async def generator(work_unit, **args)`).

        args:     merged into the job's own, as `ExperimentUnit.add` describes.
        role:     WorkUnitRole() unless given.
        identity: the user's own name for the unit.
        Returns a future of the unit; done at once, except for a generator.
        """
        self._running_loop()
        if not isinstance(identity, str):  # pyright: ignore[reportUnnecessaryIsInstance] - scripts are not checked
            raise unsupported(f"the identity of a unit must be a text, got {identity!r}")
        role = job.role if isinstance(job, AuxiliaryUnitJob) else role or WorkUnitRole()
        unit = self._create_experiment_unit(args, role, identity)
        self._added_roles[type(role)] += 1
        return self.future(unit.launch(job, args, identity), unit)

    @abc.abstractmethod
    def _create_experiment_unit(
        self, args: Mapping[str, Any] | None, role: ExperimentUnitRole, identity: str
    ) -> ExperimentUnit:
        """Makes a unit. Its id counts the calls."""

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._event_loop is None or not self._event_loop.is_running():
            raise NotEntered(
                Problem(
                    "the experiment's context is not entered",
                    where=here(),
                    hint="add inside `with create_experiment(…) as experiment:`",
                )
            )
        return self._event_loop

    def _create_task(self, task: Awaitable[Any]) -> flow.Launch:
        """A launch of `task` in the experiment's loop."""
        loop = self._running_loop()
        own = flow.Flow(flow.current().waited())
        started = asyncio.Event()

        async def run() -> Any:
            flow.enter(own)
            try:
                await started.wait()
                return await task
            finally:
                own.end()

        future = asyncio.run_coroutine_threadsafe(run(), loop)
        launch = flow.Launch(future, own, functools.partial(loop.call_soon_threadsafe, started.set))
        self._launches.append(launch)
        return launch

    def settle(self) -> None:
        """Lets the generators run until each has ended or waits for something; see `LoopThread`."""
        if self._loop_thread is not None:
            self._loop_thread.wait_until_idle()

    def future(self, launch: flow.Launch | None, value: T) -> asyncio.Future[T]:
        """A future for the script: of `value`, once `launch` has ended."""
        loop = asyncio.get_running_loop() if utils.is_in_running_loop() else self._running_loop()
        if launch is None:
            done: asyncio.Future[T] = loop.create_future()
            done.set_result(value)
            return done
        future: flow.LaunchFuture[T] = flow.LaunchFuture(launch.flow, loop=loop)

        def settle(outcome: futures.Future[Any]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(future.settle, outcome, value)

        def cancel(ended: asyncio.Future[T]) -> None:
            if ended.cancelled():
                launch.future.cancel()

        future.follow(cancel)
        launch.future.add_done_callback(settle)
        return future

    @property
    def work_unit_count(self) -> int:
        raise NotImplementedError

    @property
    def work_units(self) -> Mapping[int, WorkUnit]:
        """The work units added so far, by id."""
        raise NotImplementedError

    @property
    def context(self) -> MetadataContext:
        return MetadataContext(creator=creator(), annotations=ContextAnnotations())


def get_xid_from_context() -> int:
    """The id of the experiment whose context is entered; -1 outside any."""
    experiment = current_experiment.get()
    return -1 if experiment is None else experiment.experiment_id


def create_experiment(experiment_title: str | None = None) -> Experiment:
    """Abstract, as in XManager: `xm_local.create_experiment` is the one to call."""
    raise NotImplementedError


def get_experiment(experiment_id: int) -> Experiment:
    """Abstract, as in XManager."""
    raise NotImplementedError
