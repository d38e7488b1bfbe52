"""An experiment of ours, in the terms of a recorded vector."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.vectors import canonical
from xmgen import names
from xmgen.experiment import Arg, DockerOptions, Experiment, Job, JobRequirements, Local, Vertex, WorkUnit
from xmgen.recording import RecordedUnit, Recording
from xmgen.xm_local.executables import PackagedExecutable
from xmgen.xm_local.order import in_order

EXECUTORS = {"local": "Local", "kubernetes": "Kubernetes", "vertex": "Vertex"}
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
    """args, env: complete. packageable: the position of its executable's, if it was packaged. req, tensorboard, docker_options: fields by name."""

    unit: str
    unit_name: str
    executor: str
    full_name: str
    name: str
    args: tuple[Arg, ...]
    env: Mapping[str, str]
    packageable: int | None
    req: Mapping[str, object]
    tensorboard: Mapping[str, object] | None
    docker_options: Mapping[str, object] | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    packageables: tuple[PackageableRecord, ...]
    jobs: tuple[JobRecord, ...]


def record(recording: Recording, experiment: Experiment, root: Path) -> ExperimentRecord:
    """Paths below `root` become relative to it, and the experiment's id `<XID>`."""
    texts = {f"{root.resolve()}/": "", str(root.resolve()): ".", str(experiment.experiment_id): canonical.XID}
    packageables = tuple(_packageable(packageable, texts) for packageable in recording.packageables)
    jobs = tuple(
        _job(unit, job, position, experiment.experiment_id, texts)
        for unit, (recorded, _) in zip(experiment.units, in_order(recording.units), strict=True)
        for job, position in zip(unit.jobs, _positions(recorded, recording), strict=True)
    )
    return ExperimentRecord(packageables=packageables, jobs=jobs)


def _positions(unit: RecordedUnit, recording: Recording) -> list[int | None]:
    """For each of a unit's jobs the position of the packageable that its executable was made from, if it was."""
    specs = [id(packageable.executable_spec) for packageable in recording.packageables]
    used = [id(job.executable.spec) if isinstance(job.executable, PackagedExecutable) else None for job in unit.jobs]
    return [specs.index(spec) if spec in specs else None for spec in used]


def _packageable(packageable: Any, texts: Mapping[str, str]) -> PackageableRecord:
    spec = packageable.executable_spec
    fields = {name: _json(value) for name, value in vars(spec).items() if not name.startswith("_")}
    return PackageableRecord(
        spec=type(spec).__name__,
        fields=canonical.replaced(fields, texts),
        executor_spec=type(packageable.executor_spec).__name__,
        args=canonical.replaced(packageable.args.to_argv(), texts),
        env=canonical.replaced({name: str(value) for name, value in packageable.env_vars.items()}, texts),
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


def _job(unit: WorkUnit, job: Job, packageable: int | None, xid: int, texts: Mapping[str, str]) -> JobRecord:
    executor = job.executor
    return JobRecord(
        unit=UNITS[unit.role],
        unit_name=canonical.replaced(names.unit_prefix(xid, unit), texts),
        executor=EXECUTORS[executor.kind],
        full_name=canonical.replaced(names.full_job_name(xid, unit, job.name), texts),
        name=job.name,
        args=canonical.replaced(job.args, texts),
        env=canonical.replaced(dict(job.env), texts),
        packageable=packageable,
        req=requirements(executor.requirements),
        tensorboard=canonical.replaced(_tensorboard(executor), texts),
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
