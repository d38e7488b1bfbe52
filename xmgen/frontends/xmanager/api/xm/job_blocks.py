"""Jobs, groups of jobs, and what they are made of."""

from __future__ import annotations

import abc
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeGuard, TypeVar, Union

import attrs

from xmgen.frontends.xmanager.api.xm.problems import here, invalid, of_type
from xmgen.frontends.xmanager.api.xm.sequential_args import SequentialArgs, UserArgs, merge_args

__all__ = [
    "Constraint",
    "Executable",
    "ExecutableSpec",
    "Executor",
    "ExecutorSpec",
    "Job",
    "JobConfig",
    "JobGeneratorType",
    "JobGroup",
    "JobType",
    "JobTypeVar",
    "Packageable",
    "SequentialArgs",
    "UserArgs",
    "get_args_for_all_jobs",
    "is_job_generator",
    "merge_args",
]

_ENV_NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")


class _Written:
    """Remembers where the script says it, for errors; no part of what it is."""

    _origin = ""

    def __attrs_post_init__(self) -> None:
        self._origin = here()

    @staticmethod
    def origin_of(written: _Written) -> str:
        """`launcher.py:40`; empty when it is not known."""
        return written._origin


class ExecutableSpec(_Written, abc.ABC):
    """What code to run. `Experiment.package` turns it into an `Executable`."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        raise NotImplementedError


@attrs.define(slots=False)
class Executable(abc.ABC):  # noqa: B024 - a marker, as in XManager
    """Packaged code, ready for a job. Its name is the default name of the job."""

    name: str = attrs.field(validator=of_type(str))


class ExecutorSpec(abc.ABC):  # noqa: B024 - a marker, as in XManager
    """For which kind of executor something is packaged."""


class Executor(_Written, abc.ABC):
    """Where a job runs: `xm_local.Local`, `xm_local.Kubernetes` or `xm_local.Vertex`."""

    Spec: ClassVar[Callable[..., ExecutorSpec]]


def _env(env_vars: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(env_vars or {})


def _check_env(instance: Any, attribute: Any, env_vars: Mapping[Any, Any]) -> None:
    del instance, attribute
    for name in env_vars:
        if not (isinstance(name, str) and _ENV_NAME.fullmatch(name)):
            raise invalid(
                f"{name!r} is no name of an environment variable",
                hint="letters, digits and _, not starting with a digit",
            )


@attrs.define(slots=False)
class Packageable:
    """What to build, for which executor, with arguments and environment that every job of it gets."""

    executable_spec: ExecutableSpec
    executor_spec: ExecutorSpec
    args: SequentialArgs = attrs.field(factory=SequentialArgs, converter=SequentialArgs.from_collection)
    env_vars: dict[str, Any] = attrs.field(factory=dict[str, Any], converter=_env, validator=_check_env)


class Constraint(abc.ABC):  # noqa: B024 - a marker, as in XManager
    """Where the jobs of a group may run. No executor of ours knows one; they are accepted and without effect."""


JobGeneratorType = Callable[..., Awaitable[Any] | None]
JobType = Union["Job", "JobGroup", "JobConfig", JobGeneratorType]


def _text(name: str | None) -> str:
    return name or ""


@attrs.define(slots=False)
class Job:
    """One program to run.

    executable: what; a result of `Experiment.package`.
    executor:   where.
    name:       unique in its unit; its place in the group, or the executable's name, unless given.
    args:       dict, list or SequentialArgs; merged over the executable's own.
    env_vars:   merged over the executable's own; None takes a variable away.
    """

    executable: Executable
    executor: Executor
    name: str = attrs.field(default="", converter=_text, validator=of_type(str))
    args: SequentialArgs = attrs.field(factory=SequentialArgs, converter=SequentialArgs.from_collection)
    env_vars: dict[str, Any] = attrs.field(factory=dict[str, Any], converter=_env, validator=_check_env)


class JobGroup:
    """Jobs that run together, by name: `JobGroup(learner=Job(…), actor=Job(…))`. Groups nest."""

    jobs: dict[str, JobType]
    constraints: list[Constraint]

    def __init__(self, *, constraints: Sequence[Constraint] | None = None, **jobs: JobType) -> None:
        self.jobs = jobs
        self.constraints = list(constraints or ())

    def __repr__(self) -> str:
        return f"JobGroup({', '.join(f'{name}={job!r}' for name, job in self.jobs.items())})"


class JobConfig(abc.ABC):  # noqa: B024 - a marker, as in XManager
    """A job in a platform's own language. No executor of ours knows one."""


JobTypeVar = TypeVar("JobTypeVar", bound=JobType)


def is_job_generator(job: JobType) -> TypeGuard[JobGeneratorType]:
    return callable(job)


def get_args_for_all_jobs(job: JobType, args: Mapping[str, Any]) -> dict[str, Any]:
    """What `add` takes as `args` to give every job of a group the same arguments."""
    if isinstance(job, JobGroup):
        return {name: get_args_for_all_jobs(each, args) for name, each in job.jobs.items()}
    return {"args": dict(args)}
