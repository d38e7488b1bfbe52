"""The experiment that launch scripts create: it records what is added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from absl import logging

from xmgen import names, rules
from xmgen.experiment import Reference, Role
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm import job_operators
from xmgen.frontends.xmanager.api.xm.async_packager import AsyncPackager
from xmgen.frontends.xmanager.api.xm.metadata_context import KeptAnnotations
from xmgen.frontends.xmanager.api.xm.problems import here, invalid, refuse, repeatable, unsupported
from xmgen.frontends.xmanager.api.xm.units import CreateTask, creator
from xmgen.frontends.xmanager.api.xm.utils import ARGV_ESCAPER
from xmgen.frontends.xmanager.api.xm_local.executables import packager
from xmgen.frontends.xmanager.api.xm_local.executors import Kubernetes, Local, Vertex
from xmgen.frontends.xmanager.recording import RecordedExperiment, RecordedJob, RecordedUnit


class _RecordedUnit(xm.ExperimentUnit):
    """Writes what is added to it into the recording."""

    def __init__(
        self,
        experiment: LocalExperiment,
        create_task: CreateTask,
        args: Mapping[str, Any] | None,
        role: xm.ExperimentUnitRole,
        recorded: RecordedUnit,
    ) -> None:
        super().__init__(experiment, create_task, args, role, recorded.identity)
        self.recorded = recorded
        self._context = xm.MetadataContext(creator=creator(), annotations=KeptAnnotations())

    @property
    def experiment_unit_name(self) -> str:
        return self.recorded.name

    @property
    def context(self) -> xm.MetadataContext:
        return self._context

    @property
    def launched_jobs(self) -> list[xm.LaunchedJob]:
        """The jobs added so far. Addresses and logs exist only while they run."""
        return [xm.LaunchedJob(name=job.name) for job in self.recorded.jobs]

    def _follow(self, waited: Mapping[xm.ExperimentUnit, None]) -> None:
        super()._follow(waited)
        for unit in self.predecessors:
            if isinstance(unit, _RecordedUnit):
                self.recorded.after[unit.recorded] = None

    def _launch_job_group(self, job_group: xm.JobGroup, args_view: Mapping[str, Any], identity: str) -> None:
        self.recorded.identity = self.recorded.identity or identity
        self.recorded.jobs.extend(self._record(job) for job in job_operators.flatten_jobs(job_group))

    def _record(self, job: xm.Job) -> RecordedJob:
        if not isinstance(job.executor, Local | Kubernetes | Vertex):
            raise unsupported(
                f"job {job.name!r} has the executor {job.executor!r}",
                hint="xm_local.Local, xm_local.Kubernetes or xm_local.Vertex",
            )
        own_args: xm.UserArgs | None = getattr(job.executable, "args", None)
        own_env: Mapping[str, Any] = getattr(job.executable, "env_vars", None) or {}
        args = xm.merge_args(own_args or (), job.args).to_argv() if own_args else job.args.to_argv()
        env = {**own_env, **job.env_vars}
        return RecordedJob(
            name=job.name,
            executable=job.executable,
            executor=job.executor,
            args=args,
            env={name: _env_text(name, value) for name, value in env.items() if value is not None},
        )


def _env_text(name: str, value: Any) -> str:
    if isinstance(value, xm.ShellSafeArg):
        raise unsupported(
            f"environment variable {name} is an xm.ShellSafeArg",
            hint="no shell reads the environment: pass the value as an argument, or as text",
        )
    return repeatable(value, ARGV_ESCAPER(value))


class LocalWorkUnit(_RecordedUnit, xm.WorkUnit):
    """A recorded trial."""

    @property
    def work_unit_id(self) -> int:
        return self.recorded.id


class LocalAuxiliaryUnit(_RecordedUnit, xm.AuxiliaryUnit):
    """A recorded auxiliary unit."""

    @property
    def auxiliary_unit_id(self) -> int:
        return self.recorded.id


class _Title(KeptAnnotations):
    """Keeps the title where it is compiled from."""

    def __init__(self, recorded: RecordedExperiment) -> None:
        super().__init__()
        self._recorded = recorded

    @property
    def title(self) -> str:
        return self._recorded.title

    def set_title(self, title: str) -> None:
        self._recorded.title = _title(title)


class LocalExperiment(xm.Experiment):
    """Records what is added."""

    def __init__(self, experiment_title: str) -> None:
        super().__init__()
        self._recording = recording.current()
        self._recorded = RecordedExperiment(experiment_title)
        self._recording.experiments.append(self._recorded)
        self._work_units: dict[int, xm.WorkUnit] = {}
        self._context = xm.MetadataContext(creator=creator(), annotations=_Title(self._recorded))

    @classmethod
    def _packager(cls) -> AsyncPackager:
        return recording.current().one(packager)

    @property
    def experiment_id(self) -> int:
        return self._recording.experiment_id

    @property
    def work_unit_count(self) -> int:
        return len(self._work_units)

    @property
    def work_units(self) -> Mapping[int, xm.WorkUnit]:
        return self._work_units

    @property
    def context(self) -> xm.MetadataContext:
        return self._context

    def _create_experiment_unit(
        self, args: Mapping[str, Any] | None, role: xm.ExperimentUnitRole, identity: str
    ) -> xm.ExperimentUnit:
        if isinstance(role, xm.WorkUnitRole):
            number = len(self._work_units) + 1
            recorded = self._recorded_unit("work_unit", number, identity)
            unit = LocalWorkUnit(self, self._create_task, args, role, recorded)
            self._work_units[number] = unit
        elif isinstance(role, xm.AuxiliaryUnitRole):
            recorded = self._recorded_unit("auxiliary", 0, identity)
            unit = LocalAuxiliaryUnit(self, self._create_task, args, role, recorded)
        else:
            raise unsupported(f"{role!r} is no role", hint="xm.WorkUnitRole() or xm.AuxiliaryUnitRole(…)")
        self._recorded.units.append(recorded)
        return unit

    def _recorded_unit(self, role: Role, number: int, identity: str) -> RecordedUnit:
        return RecordedUnit(number, role, names.unit_prefix(self.experiment_id, role, number), identity, here())


def create_experiment(experiment_title: str) -> LocalExperiment:
    """The experiment of this launch script."""
    return LocalExperiment(_title(experiment_title))


def _title(title: object) -> str:
    if not isinstance(title, str):
        logging.warning("the title of an experiment is a text, not %r", title)
    return str(title)


def secret(name: str) -> str:
    """(xmgen's own) A text that stands, in arguments and environment, for a secret of the stack's configuration.

    `xmgen up STACK --secret NAME` asks for its value; nothing that is compiled holds it.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - scripts are not checked
        raise unsupported(f"a secret's name is a text, not {name!r}")
    if rule := rules.not_a_secret(name):
        raise invalid(f"{name!r} cannot name a secret", rule)
    return recording.current().reference(Reference(kind="secret", name=name))


def get_experiment(experiment_id: int) -> NoReturn:
    """Refused: a stack knows no other experiment."""
    raise refuse(
        f"xm_local.get_experiment({experiment_id!r})",
        "compile what builds on another experiment into the same launch script, after"
        " `await work_unit.wait_until_complete()`",
    )


def list_experiments() -> NoReturn:
    """Refused: a stack knows no other experiment."""
    raise refuse("xm_local.list_experiments()", "`pulumi stack ls` lists what was launched; name what you need instead")
