"""An experiment of ours, in the terms of a recorded vector."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from tests.vectors import canonical
from xmgen import names
from xmgen.experiment import Arg, DockerOptions, Experiment, Job, JobRequirements, Local, Vertex, WorkUnit
from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm_local.executables import PackagedExecutable
from xmgen.frontends.xmanager.api.xm_local.experiment import _RecordedUnit
from xmgen.frontends.xmanager.api.xm_local.order import in_order
from xmgen.frontends.xmanager.recording import RecordedJob, Recording

EXECUTORS = {"local": "Local", "kubernetes": "Kubernetes", "vertex": "Vertex"}
Comparable = Callable[[Any], Any]
UNITS = {"work_unit": "LocalWorkUnit", "auxiliary": "LocalAuxiliaryUnit"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PackageableRecord:
    """spec, executor_spec: names of types. fields: the spec's, in values that JSON has."""

    spec: str
    fields: Mapping[str, object]
    executor_spec: str
    args: tuple[Arg, ...]
    env: Mapping[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobRecord:
    """args, env: complete. packageable: the position of its executable's, if it was packaged.
    given: the job's own arguments; unset: those that it took away from its executable's.
    req, tensorboard, docker_options: fields by name.
    """

    unit: str
    unit_name: str
    executor: str
    full_name: str
    name: str
    args: tuple[Arg, ...]
    env: Mapping[str, str]
    packageable: int | None
    given: tuple[Arg, ...]
    unset: frozenset[str]
    req: Mapping[str, object]
    tensorboard: Mapping[str, object] | None
    docker_options: Mapping[str, object] | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    packageables: tuple[PackageableRecord, ...]
    jobs: tuple[JobRecord, ...]


@dataclasses.dataclass(frozen=True)
class Given:
    """A job's own arguments, as the script gave them. unset: those that it took away, by giving them None."""

    args: tuple[Arg, ...]
    unset: frozenset[str]


@contextlib.contextmanager
def noting_given() -> Iterator[dict[int, Given]]:
    """Collects, by `id` of each RecordedJob, what an experiment of ours no longer shows: it merges."""
    given: dict[int, Given] = {}
    original: Any = _RecordedUnit._record

    def noting(unit: Any, job: xm.Job) -> RecordedJob:
        recorded = original(unit, job)
        named = job.args.to_dict(kwargs_only=True)
        given[id(recorded)] = Given(
            args=job.args.to_argv(), unset=frozenset(name for name, value in named.items() if value is None)
        )
        return recorded

    with mock.patch.object(_RecordedUnit, "_record", noting):
        yield given


def record(recording: Recording, experiment: Experiment, root: Path, given: Mapping[int, Given]) -> ExperimentRecord:
    """Paths below `root` become relative to it, and the experiment's id `<XID>`."""
    texts = {f"{root.resolve()}/": "", str(root.resolve()): ".", str(experiment.experiment_id): canonical.XID}

    def comparable(value: Any) -> Any:
        return canonical.referring(canonical.replaced(value, texts), experiment.references)

    packageables = tuple(_packageable(packageable, comparable) for packageable in recording.packageables)
    jobs = tuple(
        _job(unit, job, _position(written, recording), given[id(written)], experiment.experiment_id, comparable)
        for unit, (recorded, _) in zip(experiment.units, in_order(recording.units), strict=True)
        for job, written in zip(unit.jobs, recorded.jobs, strict=True)
    )
    return ExperimentRecord(packageables=packageables, jobs=jobs)


def _position(job: RecordedJob, recording: Recording) -> int | None:
    """The position of the packageable that the job's executable was made from, if it was."""
    if not isinstance(job.executable, PackagedExecutable):
        return None
    specs = [id(packageable.executable_spec) for packageable in recording.packageables]
    return specs.index(id(job.executable.spec))


def _packageable(packageable: Any, comparable: Comparable) -> PackageableRecord:
    spec = packageable.executable_spec
    fields = {name: _json(value) for name, value in vars(spec).items() if not name.startswith("_")}
    return PackageableRecord(
        spec=type(spec).__name__,
        fields=comparable(fields),
        executor_spec=type(packageable.executor_spec).__name__,
        args=comparable(packageable.args.to_argv()),
        env=comparable({name: str(value) for name, value in packageable.env_vars.items()}),
    )


def _json(value: object) -> object:
    """As a recorder would write it to JSON: what JSON does not have as its text."""
    if isinstance(value, str | int | float | bool | None):
        return value
    if type(value) in (list, tuple):
        return [_json(item) for item in value]  # type: ignore[union-attr]
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    return repr(value)


def _job(
    unit: WorkUnit,
    job: Job,
    packageable: int | None,
    given: Given,
    xid: int,
    comparable: Comparable,
) -> JobRecord:
    executor = job.executor
    return JobRecord(
        unit=UNITS[unit.role],
        unit_name=comparable(names.unit_prefix(xid, unit.role, unit.id)),
        executor=EXECUTORS[executor.kind],
        full_name=comparable(names.full_job_name(xid, unit, job.name)),
        name=job.name,
        args=comparable(job.args),
        env=comparable(dict(job.env)),
        packageable=packageable,
        given=comparable(given.args),
        unset=given.unset,
        req=requirements(executor.requirements),
        tensorboard=comparable(_tensorboard(executor)),
        docker_options=_docker_options(executor.docker_options) if isinstance(executor, Local) else None,
    )


def requirements(asked: JobRequirements) -> dict[str, object]:
    """The arguments of `xm.JobRequirements(...)` as XManager prints them."""
    result: dict[str, object] = {}
    for name, value in (("cpu", asked.cpu), ("memory", asked.ram), ("ephemeral_storage", asked.disk)):
        if value is not None:
            result[name] = float(value)
    accelerator = asked.accelerator
    if accelerator:
        topology = accelerator.topology
        chips = math.prod(map(int, topology.split("x"))) if topology else accelerator.count or 0
        is_tpu = accelerator.type.startswith("tpu")
        result[accelerator.type] = ("Topology", {"0": topology or f"{chips:g}"}) if is_tpu else float(chips)
        if accelerator.slices != 1:
            result["num_slices"] = accelerator.slices
    for name in ("location", "architecture", "service_tier"):
        if value := getattr(asked, name):
            result[name] = value if name == "location" else value.lower()
    if asked.replicas not in (None, 1):
        result["replicas"] = asked.replicas
    return result


def _tensorboard(executor: object) -> dict[str, object] | None:
    if not isinstance(executor, Vertex) or executor.tensorboard is None:
        return None
    return dataclasses.asdict(executor.tensorboard)


def _docker_options(options: DockerOptions | None) -> dict[str, object] | None:
    if options is None:
        return None
    return {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
