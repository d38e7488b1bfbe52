"""Work units and auxiliary units: what an experiment consists of."""

from __future__ import annotations

import abc
import asyncio
import contextvars
import enum
import functools
import getpass
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from absl import logging

from xmgen.errors import InputError
from xmgen.frontends.xmanager.api.xm import flow, job_operators
from xmgen.frontends.xmanager.api.xm.errors import DebugInterrupt, ExperimentUnitError
from xmgen.frontends.xmanager.api.xm.job_blocks import Job, JobConfig, JobGroup, JobType, is_job_generator, merge_args
from xmgen.frontends.xmanager.api.xm.metadata_context import ContextAnnotations, MetadataContext
from xmgen.frontends.xmanager.api.xm.problems import invalid, refuse, unsupported

if TYPE_CHECKING:
    from xmgen.frontends.xmanager.api.xm.core import Experiment

CreateTask = Callable[[Awaitable[Any]], flow.Launch]

current_experiment: contextvars.ContextVar[Experiment | None] = contextvars.ContextVar("xmgen_experiment", default=None)
"""The experiment whose context the script has entered, or whose generator is running."""

current_unit: contextvars.ContextVar[ExperimentUnit | None] = contextvars.ContextVar("xmgen_unit", default=None)
"""The unit whose generator is running."""


class ExperimentUnitStatus(abc.ABC):
    """The state of a unit while the experiment runs; there is none at compile time."""

    @property
    @abc.abstractmethod
    def is_active(self) -> bool: ...

    @property
    @abc.abstractmethod
    def is_completed(self) -> bool: ...

    @property
    @abc.abstractmethod
    def is_failed(self) -> bool: ...

    @property
    @abc.abstractmethod
    def message(self) -> str: ...


class Importance(enum.Enum):
    """How much it matters that a unit is scheduled. Accepted and without effect."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


@attrs.define(slots=False, kw_only=True)
class ExperimentUnitRole(abc.ABC):  # noqa: B024 - a base, as in XManager
    """What a unit is in its experiment."""

    importance: Importance = Importance.NORMAL


@attrs.define(slots=False, kw_only=True)
class WorkUnitRole(ExperimentUnitRole):
    """A trial of the experiment."""

    tags: Sequence[str] = ()


@attrs.define(slots=False, kw_only=True)
class AuxiliaryUnitRole(ExperimentUnitRole):
    """Something beside the trials, such as a TensorBoard.

    termination_delay_secs: accepted and without effect: the unit exists as long as the stack.
    """

    termination_delay_secs: int


@attrs.define(slots=False, kw_only=True)
class LaunchedJob:
    """A job that was added. address, logs: known only while it runs."""

    name: str
    address: str | None = None
    logs: str | None = None


def apply_args(job_type: JobType, args: Mapping[str, Any]) -> None:
    """Merges what `add` was given as `args` into the jobs. Raises ValueError for a key that is none of theirs."""
    if isinstance(job_type, Job):
        _check_keys(args, ("args", "env_vars"), "xm.Job")
        if "args" in args:
            job_type.args = merge_args(job_type.args, args["args"])
        if "env_vars" in args:
            job_type.env_vars = {**job_type.env_vars, **(args["env_vars"] or {})}
    elif isinstance(job_type, JobGroup):
        _check_keys(args, job_type.jobs, "xm.JobGroup")
        for name, job in job_type.jobs.items():
            if name in args:
                apply_args(job, args[name])


def _check_keys(args: Mapping[str, Any], known: Mapping[str, Any] | Sequence[str], job_type: str) -> None:
    unknown_keys = [key for key in args if key not in known]
    if unknown_keys:
        raise invalid(
            f"add() got args {', '.join(map(repr, unknown_keys))}, which an {job_type} does not take",
            hint=f"it takes {', '.join(map(repr, known))}" if known else "it is empty",
        )


def _shown_args(job_type: JobType) -> dict[str, Any]:
    """The arguments of a unit, for display, when `add` was given none."""
    if isinstance(job_type, Job):
        shown = {"args": job_type.args.to_dict(kwargs_only=True), "env_vars": job_type.env_vars}
    elif isinstance(job_type, JobGroup):
        shown = {name: _shown_args(job) for name, job in job_type.jobs.items()}
    else:
        shown = {}
    return {key: value for key, value in shown.items() if value}


@functools.cache
def creator() -> str:
    """Who runs the script. Asked once: every unit of a sweep has it."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"  # A container's user may have no name.


def _alone(job: Job) -> JobGroup:
    group = JobGroup()
    group.jobs[job.name] = job  # not as a keyword: a job may be called `constraints`
    return group


class ExperimentUnit(abc.ABC):
    """Jobs that belong together. Made by `Experiment.add`."""

    experiment: Experiment

    def __init__(
        self,
        experiment: Experiment,
        create_task: CreateTask,
        args: Mapping[str, Any] | None,
        role: ExperimentUnitRole,
        identity: str = "",
    ) -> None:
        self.experiment = experiment
        self._create_task = create_task
        self._args = args
        self._role = role
        self._identity = identity
        self._launches: list[flow.Launch] = []
        self._waits_for: set[ExperimentUnit] = set()
        self.predecessors: dict[ExperimentUnit, None] = {}

    @property
    def experiment_id(self) -> int:
        return self.experiment.experiment_id

    @property
    def identity(self) -> str:
        return self._identity

    @property
    @abc.abstractmethod
    def experiment_unit_name(self) -> str: ...

    def get_full_job_name(self, job_name: str) -> str:
        """The job's host name, which other jobs of the unit reach it under."""
        return f"{self.experiment_unit_name}_{job_name}"

    @property
    def context(self) -> MetadataContext:
        return MetadataContext(creator=creator(), annotations=ContextAnnotations())

    @property
    def launched_jobs(self) -> list[LaunchedJob]:
        raise NotImplementedError

    def add(self, job: JobType, args: Mapping[str, Any] | None = None, *, identity: str = "") -> asyncio.Future[None]:
        """Adds a job, a group or a generator to this unit.

        args: merged into the job's own: `{'args': …, 'env_vars': …}` for a Job, one such dict by name for each job of
        a JobGroup, keyword arguments for a generator. The future is done unless `job` is a generator.
        """
        launch = self.launch(job, args, identity)
        return self.experiment.future(launch, None)

    def launch(self, job: JobType, args: Mapping[str, Any] | None, identity: str) -> flow.Launch | None:
        """Records `job` now; a generator is started instead, and its launch returned."""
        identity = self.identity or identity
        self._follow(flow.current().waited())
        if is_job_generator(job):
            if not inspect.iscoroutinefunction(job) and not inspect.iscoroutinefunction(type(job).__call__):
                raise invalid(
                    f"a job generator must be an async function, and {job!r} is none",
                    hint="async def job_generator(work_unit: xm.WorkUnit, **args) -> None:",
                )
            launch = self._create_task(self._generate(job, dict(args or {})))
            self._launches.append(launch)
            launch.start()
            self.experiment.settle()
            return launch
        job = job_operators.shallow_copy_job_type(job)
        if args is not None:
            apply_args(job, args)
        job_operators.populate_job_names(job)
        if isinstance(job, Job | JobGroup):
            group = job if isinstance(job, JobGroup) else _alone(job)
            shown = _shown_args(job) if self._args is None else self._args
            self._launch_job_group(group, shown, identity)
        elif isinstance(job, JobConfig):
            self._launch_job_config(job, args or {}, identity)
        else:
            raise unsupported(f"{job!r} is no job", hint="an xm.Job, an xm.JobGroup or an async function")
        return None

    async def _generate(self, generator: Callable[..., Any], args: dict[str, Any]) -> None:
        current_experiment.set(self.experiment)
        current_unit.set(self)
        try:
            result = await generator(self, **args)
            # A generator may return something that is still to be awaited, such as what `work_unit.add` returned.
            if inspect.isawaitable(result):
                await result
        except DebugInterrupt:
            logging.warning("%s: its generator was interrupted for debugging", described(self))

    def wait_until_complete(self) -> Coroutine[Any, Any, ExperimentUnit]:
        """Awaiting it makes what the script does next depend on this unit. Returns the unit."""
        return self._wait_until_complete_impl()

    async def _wait_until_complete_impl(self) -> ExperimentUnit:
        await self._wait_until_launched()
        await self._wait_until_complete()
        flow.current().wait(self)
        return self

    async def _wait_until_launched(self) -> None:
        waiter = current_unit.get()
        pending = any(not launch.future.done() for launch in self._launches)
        if waiter is not None and pending and self._leads_to(waiter):
            raise invalid(
                f"{described(waiter)} waits for {'itself' if waiter is self else described(self)},"
                " which would never end",
                hint="wait in the launch script, or in the generator of another unit",
            )
        if waiter is not None:
            waiter._waits_for.add(self)
        try:
            for launch in list(self._launches):
                await asyncio.wrap_future(launch.future)
        except InputError:
            raise  # To be reported as it is.
        except Exception as error:
            work_unit = self if isinstance(self, WorkUnit) else None
            raise ExperimentUnitError("Experiment unit could not be created.", work_unit=work_unit) from error
        finally:
            if waiter is not None:
                waiter._waits_for.discard(self)

    def _follow(self, waited: Mapping[ExperimentUnit, None]) -> None:
        """This unit starts after these."""
        self.predecessors.update({unit: None for unit in waited if unit is not self})

    def _leads_to(self, waiter: ExperimentUnit) -> bool:
        """Whether this unit's launch waits, maybe through others, for that of `waiter`."""
        seen: set[ExperimentUnit] = set()
        ahead: list[ExperimentUnit] = [self]
        while ahead:
            unit = ahead.pop()
            if unit is waiter:
                return True
            if unit not in seen:
                seen.add(unit)
                ahead.extend(unit._waits_for)
        return False

    async def _wait_until_complete(self) -> None:  # noqa: B027 - at compile time most have nothing to do
        """For implementations that have something to wait for."""

    def _launch_job_group(self, job_group: JobGroup, args_view: Mapping[str, Any], identity: str) -> None:
        raise NotImplementedError

    def _launch_job_config(self, job_config: JobConfig, args_view: Mapping[str, Any], identity: str) -> None:
        del args_view, identity
        raise unsupported(f"no executor knows {job_config!r}", hint="describe it as an xm.Job")

    def stop(
        self, *, mark_as_failed: bool = False, mark_as_completed: bool = False, message: str | None = None
    ) -> None:
        """Refused: nothing runs at compile time."""
        raise refuse(
            "ExperimentUnit.stop()",
            "leave the call out: a work unit ends with its jobs, an auxiliary unit with its stack (`xmgen destroy`)",
        )

    def get_status(self) -> ExperimentUnitStatus:
        """Refused: nothing runs at compile time."""
        raise refuse(
            "ExperimentUnit.get_status()",
            "to run something after a unit, `await work_unit.wait_until_complete()`: it becomes an edge of the graph;"
            " to see a status, `xmgen status`",
        )


def described(unit: ExperimentUnit) -> str:
    return f"work unit {unit.work_unit_id}" if isinstance(unit, WorkUnit) else "an auxiliary unit"


class WorkUnitCompletedAwaitable(Coroutine[Any, Any, "WorkUnit"]):
    """The completion of a work unit: to be awaited, alone or with `asyncio.gather` and the like."""

    def __init__(self, work_unit: WorkUnit, awaitable: Callable[[], Awaitable[Any]]) -> None:
        self.work_unit = work_unit
        self._awaitable = awaitable
        self._started: Coroutine[Any, Any, WorkUnit] | None = None

    async def _wait(self) -> WorkUnit:
        await self._awaitable()
        return self.work_unit

    @property
    def _coroutine(self) -> Coroutine[Any, Any, WorkUnit]:
        # Made when it is first needed: a coroutine that nobody awaits would warn.
        if self._started is None:
            self._started = self._wait()
        return self._started

    def __await__(self) -> Generator[Any, None, WorkUnit]:
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        return self._coroutine.send(value)

    def throw(self, *args: Any) -> Any:
        return self._coroutine.throw(*args)

    def close(self) -> None:
        if self._started is not None:
            self._started.close()


class WorkUnit(ExperimentUnit):
    """A trial."""

    @property
    @abc.abstractmethod
    def work_unit_id(self) -> int: ...

    def __str__(self) -> str:
        return f"WorkUnit(experiment_id={self.experiment_id}, work_unit_id={self.work_unit_id})"

    def wait_until_complete(self) -> WorkUnitCompletedAwaitable:
        return WorkUnitCompletedAwaitable(self, self._wait_until_complete_impl)


class AuxiliaryUnit(ExperimentUnit):
    """Something beside the trials."""

    @property
    @abc.abstractmethod
    def auxiliary_unit_id(self) -> int: ...


class AuxiliaryUnitJob(abc.ABC):
    """A job, group or generator that becomes an auxiliary unit when added. Usable as a generator itself."""

    role: AuxiliaryUnitRole
    _job: JobType

    def __init__(
        self, job: JobType, *, importance: Importance = Importance.NORMAL, termination_delay_secs: int
    ) -> None:
        self.role = AuxiliaryUnitRole(importance=importance, termination_delay_secs=termination_delay_secs)
        self._job = job

    async def __call__(self, aux_unit: ExperimentUnit, **kwargs: Any) -> None:
        aux_unit.add(self._job, args=kwargs)
