"""Experiment -> Plan: which resources an experiment takes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xmgen import gke, names
from xmgen.errors import InputError, Problem
from xmgen.executors import images, kubernetes, local
from xmgen.experiment import Experiment, Kubernetes, Local, ShellSafeArg, Vertex, WorkUnit
from xmgen.identity import identities
from xmgen.plan import Manifest, Plan, PlannedExecutable, PlannedImage, PlannedUnit

IDENTITY_IN_NAME = 8
"""Hex digits of a unit's identity in its logical name."""


def plan(experiment: Experiment) -> Plan:
    """Raises InputError with everything that cannot be planned."""
    problems = [problem for unit in experiment.units for problem in _refusals(unit)]
    code = _Code.of(experiment)
    cluster = gke.plan(experiment, _places(experiment)) if _any_on(experiment, Kubernetes) else None
    problems += [*code.problems, *(cluster if isinstance(cluster, list) else [])]
    problems += _shell_refusals(experiment)
    if problems:
        raise InputError(*problems)
    on_cluster = cluster if isinstance(cluster, gke.ClusterPlan) else None
    return Plan(
        experiment=experiment,
        executables=code.executables,
        images=code.images,
        cluster=on_cluster.cluster if on_cluster else None,
        units=tuple(_units(experiment, code, on_cluster)),
        notes=(*_notes(experiment), *(on_cluster.notes if on_cluster else ())),
    )


def place(unit: WorkUnit, job: str = "") -> str:
    """How an error names a work unit, and a job of it."""
    where = "auxiliary unit" if unit.role == "auxiliary" else f"work unit {unit.id}"
    return f"{where}, job {job}" if job else where


def _places(experiment: Experiment) -> dict[tuple[int, str], str]:
    return {
        (position, job.name): place(unit, job.name)
        for position, unit in enumerate(experiment.units)
        for job in unit.jobs
    }


def _any_on(experiment: Experiment, executor: type[Local] | type[Kubernetes]) -> bool:
    return any(isinstance(job.executor, executor) for unit in experiment.units for job in unit.jobs)


@dataclass(slots=True, kw_only=True)
class _Code:
    """The experiment's executables, as resources of the executors that use them.

    keys:      name of the executable -> its logical name. references: name -> how a Job's manifest names its image.
    """

    keys: Mapping[str, str]
    executables: tuple[PlannedExecutable, ...] = ()
    images: tuple[PlannedImage, ...] = ()
    references: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[Problem] = field(default_factory=list[Problem])

    @staticmethod
    def of(experiment: Experiment) -> _Code:
        wanted = (names.slug(e.name) or f"executable-{names.short_hash(e.name)}" for e in experiment.executables)
        code = _Code(keys=dict(zip((e.name for e in experiment.executables), names.unique(wanted), strict=True)))
        used_by: dict[str, set[type]] = {}
        for unit in experiment.units:
            for job in unit.jobs:
                used_by.setdefault(job.executable, set()).add(type(job.executor))
        for executable in experiment.executables:
            executors = used_by.get(executable.name, {Local})
            if Local in executors:
                code._add_local(local.executable(executable, code.keys[executable.name], experiment))
            if Kubernetes in executors:
                code._add_image(executable.name, images.image(executable, code.keys[executable.name], experiment))
        return code

    def _add_local(self, planned: PlannedExecutable | Problem) -> None:
        if isinstance(planned, Problem):
            self.problems.append(planned)
        else:
            self.executables = (*self.executables, planned)

    def _add_image(self, name: str, planned: PlannedImage | str | Problem) -> None:
        match planned:
            case Problem():
                self.problems.append(planned)
            case str():
                self.references[name] = planned
            case PlannedImage():
                self.images = (*self.images, planned)
                self.references[name] = kubernetes.image_reference(planned.name, planned.tag)


def _units(experiment: Experiment, code: _Code, cluster: gke.ClusterPlan | None) -> list[PlannedUnit]:
    all_identities = identities(experiment)
    logical_names = list(
        names.unique(
            f"{names.unit_slug(unit, experiment.experiment_id)}-{identity[:IDENTITY_IN_NAME]}"
            for unit, identity in zip(experiment.units, all_identities, strict=True)
        )
    )
    awaited = {predecessor for unit in experiment.units for predecessor in unit.depends_on}
    jobs = _KubernetesJobs(experiment, code, cluster, awaited)
    result: list[PlannedUnit] = []
    for position, (unit, name, identity) in enumerate(
        zip(experiment.units, logical_names, all_identities, strict=True)
    ):
        depends_on = tuple(logical_names[predecessor] for predecessor in unit.depends_on)
        if isinstance(unit.jobs[0].executor, Local):
            manifests = (_run(experiment, unit, name, identity, code.keys, depends_on),)
            executor = "local"
        else:
            manifests = jobs.manifests(position, name, [result[predecessor] for predecessor in unit.depends_on])
            executor = "kubernetes"
        result.append(
            PlannedUnit(
                name=name,
                identity=identity,
                position=position,
                executor=executor,
                manifests=manifests,
                depends_on=depends_on,
            )
        )
    return result


def _run(
    experiment: Experiment,
    unit: WorkUnit,
    name: str,
    identity: str,
    keys: Mapping[str, str],
    depends_on: tuple[str, ...],
) -> Manifest:
    manifest = local.manifest(experiment, unit, name, identity, keys)
    if depends_on:
        manifest["dependsOn"] = list(depends_on)
    return manifest


class _KubernetesJobs:
    def __init__(self, experiment: Experiment, code: _Code, cluster: gke.ClusterPlan | None, awaited: set[int]) -> None:
        self._experiment = experiment
        self._code = code
        self._cluster = cluster
        self._awaited = awaited
        self._entrypoints = {e.name: images.known_entrypoint(e) for e in experiment.executables}
        self._addresses = kubernetes.addresses(experiment) if cluster else frozenset[str]()

    def manifests(self, position: int, name: str, predecessors: list[PlannedUnit]) -> tuple[Manifest, ...]:
        assert self._cluster is not None  # noqa: S101 — planned whenever a job is for a cluster
        unit = self._experiment.units[position]
        after = [kubernetes.job_name(manifest) for each in predecessors for manifest in each.manifests]
        return tuple(
            kubernetes.job_manifest(
                self._experiment,
                unit,
                job,
                unit_name=name,
                image=self._code.references[job.executable],
                entrypoint=self._entrypoints[job.executable],
                placement=self._cluster.places[position, job.name],
                namespace=self._experiment.stack,
                after=after,
                addresses=self._addresses,
                waits=position in self._awaited,
            )
            for job in unit.jobs
        )


def _refusals(unit: WorkUnit) -> list[Problem]:
    problems = [
        Problem(
            "the Vertex executor cannot be compiled yet",
            where=place(unit, job.name),
            hint="xm_local.Kubernetes runs jobs on GKE, xm_local.Local on this machine; `xmgen expand` shows any unit",
        )
        for job in unit.jobs
        if isinstance(job.executor, Vertex)
    ]
    if not problems and len({type(job.executor) for job in unit.jobs}) > 1:
        problems.append(
            Problem(
                "its jobs have different executors, so they would not start together",
                where=place(unit),
                hint="give the jobs of a group one executor, or add them as work units of their own",
            )
        )
    if not problems and all(isinstance(job.executor, Local) and job.executor.service for job in unit.jobs):
        problems.append(
            Problem(
                "all of its jobs are services, so it would never end",
                where=place(unit),
                hint="a unit needs a job that ends; leave out `service` for that one",
            )
        )
    return problems


def _shell_refusals(experiment: Experiment) -> list[Problem]:
    """A shell needs the image's entry point, which only we ourselves know."""
    known = {e.name for e in experiment.executables if images.known_entrypoint(e) is not None}
    return [
        Problem(
            f"has a ShellSafeArg, but the entry point of {job.executable!r} is not known",
            where=place(unit, job.name),
            hint="use xm.PythonContainer, or expand the argument in the image's own entry point",
        )
        for unit in experiment.units
        for job in unit.jobs
        if isinstance(job.executor, Kubernetes)
        and job.executable not in known
        and any(isinstance(arg, ShellSafeArg) for arg in job.args)
    ]


def _notes(experiment: Experiment) -> list[str]:
    ignored = {
        name
        for unit in experiment.units
        for job in unit.jobs
        if isinstance(job.executor, Local)
        for name in local.ignored(job.executor.requirements)
    }
    if not ignored:
        return []
    return [f"The Local executor takes cpu and local_gpu; it ignores {', '.join(sorted(ignored))}."]
