"""How an experiment is planned for the place where its jobs run: the compile-time side of an executor.

Each executor has a folder, and in it `planner.py` with one subclass of `ExecutorPlanner`. The planner finds it by the
class of a job's executor, and names none. Pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import ClassVar

from xmgen import executors, names
from xmgen.catalog.model import Architecture
from xmgen.errors import Problem
from xmgen.executors import images
from xmgen.executors.images import Image
from xmgen.experiment import Executable, Experiment, Job, WorkUnit
from xmgen.plan import places
from xmgen.plan.model import Manifest, Plan, PlannedExecutable, PlannedImage, PlannedUnit
from xmgen.plan.places import Key
from xmgen.plan.resources import Declared


class ExecutorPlanner(ABC):
    """kind: what its units are called in a plan. place: where its jobs run, in an error; where: in a summary, if that
    is said otherwise. executor: class of its jobs' executors.

    Problems of jobs are found when it is made, so that all of an experiment are reported together.
    """

    kind: ClassVar[str]
    place: ClassVar[str]
    where: ClassVar[str] = ""
    executor: ClassVar[type]

    def __init__(self, experiment: Experiment, shared: Plan | None) -> None:
        """shared: the plan of the stack whose cluster the experiment uses."""
        self.experiment = experiment
        self.problems: list[Problem] = []
        """Of its jobs."""
        self.job_notes: list[str] = []
        """What a reader should know of its jobs."""
        self.machine_notes: list[str] = []
        """The same of its machines."""
        self.pods: Mapping[Key, int] = {}
        """How many pods each job on a cluster is."""

    @classmethod
    def uses(cls, experiment: Experiment) -> bool:
        return any(isinstance(job.executor, cls.executor) for unit in experiment.units for job in unit.jobs)

    @classmethod
    def refusals(cls, experiment: Experiment, shared: Plan | None) -> list[Problem]:
        """What is wrong with the experiment as a whole, whether its jobs use this executor or not."""
        return []

    @abstractmethod
    def package(self, executable: Executable, name: str) -> PlannedExecutable | PlannedImage | str | Problem:
        """The executable as its jobs run it: a resource, an image to build or the name of one, or why not."""

    @abstractmethod
    def manifests(self, unit: UnitToPlan, code: PackagedCode) -> tuple[Manifest, ...]:
        """The documents from which the program creates the unit's resources."""

    @abstractmethod
    def declared(self, plan: Plan) -> Declared:
        """All that the stack's program declares."""

    @classmethod
    @abstractmethod
    def modules(cls, plan: Plan) -> dict[str, str]:
        """The modules of the stack's program: file -> text."""

    def architecture(self, key: Key) -> Architecture:
        """Of the machines that run a job."""
        return "amd64"

    def completed(self, plan: Plan, code: PackagedCode) -> Plan:
        """The plan, with what else the executor decides."""
        return plan


def is_service(job: Job) -> bool:
    """Whether a job serves the others of its group, and never ends by itself. Vertex AI has none."""
    return bool(getattr(job.executor, "service", False))


def planners() -> list[type[ExecutorPlanner]]:
    return [_of_folder(name) for name in executors.folders()]


def planner_of(plan: Plan) -> type[ExecutorPlanner]:
    """By what the plan's stack runs on."""
    folder = executors.folder_of(plan.declared.runs)
    assert folder is not None, plan.declared.runs  # noqa: S101 — an executor has declared it
    return _of_folder(folder)


def _of_folder(name: str) -> type[ExecutorPlanner]:
    return import_module(f"xmgen.executors.{name}.planner").PLANNER


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitToPlan:
    """position: in `Experiment.units`. name: the logical name. awaited: whether another unit waits for it."""

    position: int
    unit: WorkUnit
    name: str
    identity: str
    predecessors: Sequence[PlannedUnit] = ()
    awaited: bool = False


@dataclass(slots=True, kw_only=True)
class PackagedCode:
    """The experiment's executables, as the executors that use them package them.

    keys:        name of the executable -> its logical name. of_jobs: name -> the image that its jobs run, unless here.
    controllers: names of the executables whose jobs start other jobs on the cluster.
    """

    keys: Mapping[str, str]
    executables: tuple[PlannedExecutable, ...] = ()
    images: tuple[PlannedImage, ...] = ()
    of_jobs: dict[str, Image] = field(default_factory=dict[str, Image])
    controllers: set[str] = field(default_factory=set[str])
    problems: list[Problem] = field(default_factory=list[Problem])

    @staticmethod
    def of(experiment: Experiment, used: Sequence[ExecutorPlanner]) -> PackagedCode:
        wanted = (names.slug(e.name) or f"executable-{names.short_hash(e.name)}" for e in experiment.executables)
        code = PackagedCode(keys=dict(zip((e.name for e in experiment.executables), names.unique(wanted), strict=True)))
        users: dict[str, list[type]] = {}
        for unit in experiment.units:
            for job in unit.jobs:
                users.setdefault(job.executable, []).append(type(job.executor))
        unused = planners()[0](experiment, None)
        for executable in experiment.executables:
            of_jobs = users.get(executable.name)
            for planner in [each for each in used if each.executor in of_jobs] if of_jobs else [unused]:
                code._add(executable, planner.package(executable, code.keys[executable.name]), experiment)
        return code

    def _add(
        self, executable: Executable, packaged: PlannedExecutable | PlannedImage | str | Problem, experiment: Experiment
    ) -> None:
        match packaged:
            case Problem():
                where = packaged.where or places.of_executable(executable.name)
                # Two executors may say the same of it.
                self.problems = list(dict.fromkeys([*self.problems, replace(packaged, where=where)]))
            case PlannedExecutable():
                self.executables = (*self.executables, packaged)
            case PlannedImage():
                self.images = (*self.images, packaged)
                self._runs(executable, images.reference(packaged.name, packaged.tag), experiment)
            case str():
                self._runs(executable, packaged, experiment)

    def _runs(self, executable: Executable, reference: str, experiment: Experiment) -> None:
        self.of_jobs[executable.name] = Image(reference=reference, entrypoint=images.known_entrypoint(executable))
        if images.is_controller(executable, experiment):
            self.controllers.add(executable.name)
