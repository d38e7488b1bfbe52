"""Experiment -> Plan: which resources an experiment takes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xmgen import names
from xmgen.catalog.model import Architecture
from xmgen.catalog.options import wrong_amounts
from xmgen.errors import InputError, Problem
from xmgen.executors import addresses, images
from xmgen.executors.gke import jobs as kubernetes
from xmgen.executors.gke import objects as kubernetes_objects
from xmgen.executors.gke import plan as gke
from xmgen.executors.gke import refusals as kubernetes_refusals
from xmgen.executors.gke import resources as gke_resources
from xmgen.executors.images import Image
from xmgen.executors.local import resources as local_resources
from xmgen.executors.local import runs as local
from xmgen.executors.vertex import custom_jobs
from xmgen.executors.vertex import plan as vertex
from xmgen.executors.vertex import resources as vertex_resources
from xmgen.experiment import (
    Executable,
    Experiment,
    Job,
    Kubernetes,
    Local,
    ModuleName,
    PythonContainer,
    Vertex,
    WorkUnit,
)
from xmgen.plan import entrypoints, places
from xmgen.plan.identity import identities
from xmgen.plan.model import Manifest, Plan, PlannedExecutable, PlannedImage, PlannedUnit, VertexPlace
from xmgen.plan.places import place
from xmgen.plan.resources import Declared
from xmgen.pulumi_values import UNKNOWNS

IDENTITY_IN_NAME = 8
"""Hex digits of a unit's identity in its logical name."""


Stacks = Callable[[str], Experiment]
"""The experiment of another stack of the project. Raises InputError when there is none."""


def no_other_stack(name: str) -> Experiment:
    raise InputError(Problem(f"the cluster is that of the stack {name!r}, which is not known here"))


def plan(experiment: Experiment, stacks: Stacks = no_other_stack) -> Plan:
    """Raises InputError with everything that cannot be planned, in the order of the units and their jobs."""
    problems = [problem for unit in experiment.units for problem in (*_refusals(unit), *_unsayable(unit))]
    code = _Code.of(experiment)
    needs_cluster = experiment.pools is not None or _any_on(experiment, Kubernetes)
    shared = _shared(experiment, stacks)
    cluster = gke.plan(experiment, shared) if needs_cluster else None
    managed = vertex.plan(experiment) if _any_on(experiment, Vertex) else None
    problems += kubernetes_refusals.of_cluster(experiment, shared)
    of_executors = [*_wrong_amounts_here(experiment), *kubernetes_refusals.problems(experiment)]
    for planned in (cluster, managed):
        of_executors += planned if isinstance(planned, list) else []
    pods = {key: each.pods for key, each in cluster.places.items()} if isinstance(cluster, gke.ClusterPlan) else {}
    problems += [*code.problems, *addresses.problems(experiment, pods)]
    of_executors += kubernetes_refusals.of_services(experiment, pods)
    if not problems and not of_executors:
        of_executors = _mixed(experiment)
    if problems or of_executors:
        raise InputError(*places.gathered(places.located(experiment, problems, of_executors)))
    on_cluster = cluster if isinstance(cluster, gke.ClusterPlan) else None
    on_vertex = managed if isinstance(managed, vertex.VertexPlan) else None
    units = tuple(_units(experiment, code, on_cluster, on_vertex))
    controllers = bool(code.controllers)
    service = any(
        kubernetes.needs_service(manifest)
        for unit in units
        if unit.executor == "kubernetes"
        for manifest in unit.manifests
    )
    made = Plan(
        experiment=experiment,
        executables=code.executables,
        images=_for_architectures(experiment, code, on_cluster, on_vertex),
        cluster=replace(on_cluster.cluster, filestore=_filestore(experiment)) if on_cluster else None,
        vertex=VertexPlace(region=on_vertex.region) if on_vertex else None,
        units=units,
        objects=tuple(kubernetes_objects.objects(experiment, service=service, controllers=controllers)),
        controllers=controllers,
        notes=(
            *_notes(experiment),
            *kubernetes_refusals.notes(experiment),
            *addresses.notes(experiment),
            *(on_cluster.notes if on_cluster else ()),
            *(on_vertex.notes if on_vertex else ()),
        ),
    )
    return replace(made, declared=_declared(made))


def _declared(made: Plan) -> Declared:
    """All that the program of a stack declares."""
    if made.cluster is not None:
        return gke_resources.declared(made)
    return vertex_resources.declared(made) if made.vertex is not None else local_resources.declared(made)


def _for_architectures(
    experiment: Experiment, code: _Code, cluster: gke.ClusterPlan | None, managed: vertex.VertexPlan | None
) -> tuple[PlannedImage, ...]:
    """The images, for the architectures of the machines that run them."""
    machines = cluster.places if cluster is not None else managed.machines if managed is not None else None
    if machines is None:
        return code.images
    wanted: dict[str, set[Architecture]] = {}
    for position, unit in enumerate(experiment.units):
        for job in unit.jobs:
            architectures = wanted.setdefault(code.keys[job.executable], set())
            architectures.add(machines[position, job.name].architecture)
    return tuple(
        replace(image, architectures=tuple(sorted(wanted.get(image.name, {"amd64"})))) for image in code.images
    )


def _shared(experiment: Experiment, stacks: Stacks) -> Plan | None:
    """The plan of the stack whose cluster the experiment uses. It is planned from what is compiled, without a cloud."""
    choice = experiment.cluster
    if choice is None or choice.kind != "stack":
        return None
    if choice.name == experiment.stack:
        raise InputError(Problem("a stack's own cluster is no other stack's", hint="leave the choice of a cluster out"))
    other = plan(stacks(choice.name), stacks)
    if other.cluster is None or other.cluster.kind != "own":
        raise InputError(
            Problem(
                f"the stack {choice.name!r} has no cluster of its own",
                hint="name the stack that creates the cluster; `xmgen cluster create` makes one",
            )
        )
    return other


def _filestore(experiment: Experiment) -> bool:
    return bool(experiment.filestore or kubernetes_objects.on_filestore(experiment))


def _any_on(experiment: Experiment, executor: type[Local] | type[Kubernetes] | type[Vertex]) -> bool:
    return any(isinstance(job.executor, executor) for unit in experiment.units for job in unit.jobs)


@dataclass(slots=True, kw_only=True)
class _Code:
    """The experiment's executables, as resources of the executors that use them.

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
    def of(experiment: Experiment) -> _Code:
        wanted = (names.slug(e.name) or f"executable-{names.short_hash(e.name)}" for e in experiment.executables)
        code = _Code(keys=dict(zip((e.name for e in experiment.executables), names.unique(wanted), strict=True)))
        used_by: dict[str, set[type]] = {}
        late_bound: set[str] = set()
        for unit in experiment.units:
            for job in unit.jobs:
                used_by.setdefault(job.executable, set()).add(type(job.executor))
                if isinstance(job.executor, Vertex) and custom_jobs.is_late_bound(job):
                    late_bound.add(job.executable)
        for executable in experiment.executables:
            executors = used_by.get(executable.name, {Local})
            if Local in executors:
                code._add_local(executable.name, local.executable(executable, code.keys[executable.name], experiment))
            if executors & {Kubernetes, Vertex}:
                image = images.image(executable, code.keys[executable.name], experiment)
                if executable.name in late_bound and isinstance(image, PlannedImage):
                    image = custom_jobs.with_late_bindings(image)
                code._add_image(executable, image)
                if images.is_controller(executable, experiment):
                    code.controllers.add(executable.name)
        return code

    def _add_local(self, name: str, planned: PlannedExecutable | Problem) -> None:
        if isinstance(planned, Problem):
            self._refuse(name, planned)
        else:
            self.executables = (*self.executables, planned)

    def _refuse(self, name: str, problem: Problem) -> None:
        self.problems.append(problem if problem.where else replace(problem, where=places.of_executable(name)))

    def _add_image(self, executable: Executable, planned: PlannedImage | str | Problem) -> None:
        match planned:
            case Problem():
                self._refuse(executable.name, planned)
                return
            case str():
                reference = planned
            case PlannedImage():
                self.images = (*self.images, planned)
                reference = kubernetes.image_reference(planned.name, planned.tag)
        entrypoint = images.known_entrypoint(executable)
        self.of_jobs[executable.name] = Image(reference=reference, entrypoint=entrypoint)


def _units(
    experiment: Experiment, code: _Code, cluster: gke.ClusterPlan | None, managed: vertex.VertexPlan | None
) -> list[PlannedUnit]:
    all_identities = identities(experiment)
    logical_names = list(
        names.unique(
            f"{names.unit_slug(unit, experiment.experiment_id)}-{identity[:IDENTITY_IN_NAME]}"
            for unit, identity in zip(experiment.units, all_identities, strict=True)
        )
    )
    awaited = {predecessor for unit in experiment.units for predecessor in unit.depends_on}
    on_cluster = cluster and _KubernetesJobs(experiment, code, cluster, awaited)
    result: list[PlannedUnit] = []
    for position, (unit, name, identity) in enumerate(
        zip(experiment.units, logical_names, all_identities, strict=True)
    ):
        depends_on = tuple(logical_names[predecessor] for predecessor in unit.depends_on)
        # A stack runs in one place: there is a cluster, a plan for Vertex AI, or neither.
        if on_cluster:
            predecessors = [result[predecessor] for predecessor in unit.depends_on]
            executor, manifests = "kubernetes", on_cluster.manifests(position, name, predecessors)
        elif managed:
            machines = {job.name: managed.machines[position, job.name] for job in unit.jobs}
            made = custom_jobs.custom_job(experiment, unit, unit_name=name, images=code.of_jobs, machines=machines)
            executor, manifests = "vertex", (made,)
        else:
            made = local.manifest(experiment, unit, name, identity, code.keys, depends_on)
            executor, manifests = "local", (made,)
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


class _KubernetesJobs:
    def __init__(self, experiment: Experiment, code: _Code, cluster: gke.ClusterPlan, awaited: set[int]) -> None:
        self._experiment = experiment
        self._cluster = cluster
        self._awaited = awaited
        self._context = kubernetes.Context.of(experiment, code.controllers)
        self._images = code.of_jobs

    def manifests(self, position: int, name: str, predecessors: list[PlannedUnit]) -> tuple[Manifest, ...]:
        unit = self._experiment.units[position]
        after = [kubernetes.job_name(manifest) for each in predecessors for manifest in each.manifests]

        def made(job: Job, ends_with: Sequence[str] = ()) -> list[Manifest]:
            return kubernetes.job_manifests(
                self._context,
                unit,
                job,
                unit_name=name,
                image=self._images[job.executable],
                placement=self._cluster.places[position, job.name],
                nodes=self._cluster.nodes[position, job.name],
                after=after,
                ends_with=ends_with,
                waits=position in self._awaited,
            )

        of_job = {job.name: made(job) for job in unit.jobs if not _is_service(job)}
        ends_with = [kubernetes.job_name(manifest) for manifests in of_job.values() for manifest in manifests]
        of_job |= {job.name: made(job, ends_with) for job in unit.jobs if _is_service(job)}
        return tuple(manifest for job in unit.jobs for manifest in of_job[job.name])


def _is_service(job: Job) -> bool:
    return bool(not isinstance(job.executor, Vertex) and job.executor.service)


def _wrong_amounts_here(experiment: Experiment) -> list[Problem]:
    """Of the jobs of this machine; for the others the catalog says it."""
    return [
        replace(wrong, where=where)
        for where, executor in places.executors(experiment, Local)
        if (wrong := wrong_amounts(executor.requirements))
    ]


def _unsayable(unit: WorkUnit) -> list[Problem]:
    """Texts that Pulumi takes for a value that is not known yet, wherever they stand."""
    return [
        Problem(
            f"has the text {text!r} as an argument or in its environment, which Pulumi takes for an unknown value",
            where=place(unit, job.name),
            hint="make it part of a longer text",
        )
        for job in unit.jobs
        for text in (*job.args, *job.env.values())
        if text in UNKNOWNS
    ]


def _mixed(experiment: Experiment) -> list[Problem]:
    """A stack has one program, and so one kind of executor."""
    runs = {Local: "on this machine", Kubernetes: "on a cluster", Vertex: "on Vertex AI"}
    first = {type(unit.jobs[0].executor): unit for unit in reversed(experiment.units)}
    there = [executor for executor in runs if executor in first]
    if len(there) < 2:
        return []
    second = max((first[executor] for executor in there), key=lambda unit: experiment.units.index(unit))
    by_flag = "a flag of the launch script can choose"
    by_file = "move some to a file of their own"
    return [
        Problem(
            f"some work units run {' and others '.join(runs[executor] for executor in there)}, "
            "but a stack runs in one place",
            where=place(second, second.jobs[0].name),
            hint="compile them into stacks of their own: "
            f"{by_file if experiment.source.endswith(names.YAML_SUFFIXES) else by_flag}",
        )
    ]


def _refusals(unit: WorkUnit) -> list[Problem]:
    problems: list[Problem] = []
    if len({type(job.executor) for job in unit.jobs}) > 1:
        problems.append(
            Problem(
                "its jobs have different executors, so they would not start together",
                where=place(unit),
                hint="give the jobs of a group one executor, or add them as work units of their own",
            )
        )
    if not problems and all(_is_service(job) for job in unit.jobs):
        problems.append(
            Problem(
                "all of its jobs are services, so it would never end",
                where=place(unit),
                hint="a unit needs a job that ends; leave out `service` for that one",
            )
        )
    return problems


def _notes(experiment: Experiment) -> list[str]:
    modules = [
        entrypoints.note(each.name, each.entrypoint.module, each.path, each.elsewhere)
        for each in experiment.executables
        if isinstance(each, PythonContainer) and isinstance(each.entrypoint, ModuleName) and each.elsewhere is not None
    ]
    ignored = {
        name
        for unit in experiment.units
        for job in unit.jobs
        if isinstance(job.executor, Local)
        for name in local.ignored(job.executor.requirements)
    }
    if not ignored:
        return modules
    return [*modules, f"The Local executor takes cpu and local_gpu; it ignores {', '.join(sorted(ignored))}."]
