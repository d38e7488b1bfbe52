"""Vertex AI's own rules for a CustomJob whose shape is right, so that a preview refuses what the API would. Pure.

Machines and accelerators that the catalog does not know are passed on: the API has the last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from xmgen import catalog, locations
from xmgen.catalog.model import MachineType, Provisioning
from xmgen.errors import Problem, did_you_mean
from xmgen.provider.wire import UNKNOWN, Properties, Value

MAX_POOLS = 4
MAX_ENV = 100
DISK_GB = range(100, 64_001)
FLEX_SECONDS = 7 * 24 * 3600
"""The longest `timeout` of a job that flex-start finds machines for, and the default."""

_WAYS: dict[str, Provisioning] = {"FLEX_START": "flex-start", "SPOT": "spot", "LOW_COST": "spot"}
_POOLS = "jobSpec.workerPoolSpecs"
_TENSORBOARD = re.compile(r"projects/[^/]+/locations/(?P<region>[^/]+)/tensorboards/[^/]+")
_ZONE = re.compile(rf"/zones/({locations.ZONE})/")

Found = Iterator[tuple[str, Problem]]


def broken(body: Properties, region: str) -> dict[str, Problem]:
    """What the API would refuse, by property path. The body is of the right shape; values may be unknown, and the
    region, too.
    """
    return {**dict(_broken(body)), **dict(_elsewhere(body, region))}


def _elsewhere(body: Properties, region: str) -> Found:
    """What a job in the region cannot have, since it is in another."""
    spec = body.get("jobSpec")
    if UNKNOWN in region or not isinstance(spec, dict):
        return
    board = _TENSORBOARD.fullmatch(str(spec.get("tensorboard")))
    if board is not None and UNKNOWN not in board["region"] and board["region"] != region:
        yield (
            "jobSpec.tensorboard",
            Problem(f"is in {board['region']}, but the job runs in {region}", hint="a TensorBoard of the same region"),
        )
    for path, affinity in _reservations(spec.get("workerPoolSpecs")):
        for name in map(str, cast("list[Value]", affinity.get("values") or [])):
            zone = _ZONE.search(name)
            if zone is not None and not locations.is_within(zone[1], region):
                message = f"the reservation is in {zone[1]}, but the job runs in {region}"
                yield f"{path}.values", Problem(message, hint="a reservation in a zone of the same region")


def _reservations(pools: Value) -> Iterator[tuple[str, Properties]]:
    for index, pool in enumerate(pools if isinstance(pools, list) else []):
        affinity = _machine_spec(pool).get("reservationAffinity") if isinstance(pool, dict) else None
        if isinstance(affinity, dict) and isinstance(affinity.get("values"), list):
            yield f"{_POOLS}[{index}].machineSpec.reservationAffinity", affinity


def _broken(body: Properties) -> Found:
    if not body.get("displayName"):
        yield "displayName", Problem("a CustomJob needs a name to show")
    spec = body.get("jobSpec")
    if spec == UNKNOWN:
        return
    if not isinstance(spec, dict):
        yield "jobSpec", Problem("is missing")
        return
    pools = spec.get("workerPoolSpecs")
    if spec.get("tensorboard") and not spec.get("serviceAccount") and not _on_tpus(pools):
        yield "jobSpec.serviceAccount", Problem("a job that writes to a TensorBoard needs a service account of its own")
    if pools == UNKNOWN:
        return
    if not isinstance(pools, list) or not pools:
        yield _POOLS, Problem("a CustomJob needs at least one worker pool")
        return
    yield from _pools(pools)
    scheduling = spec.get("scheduling")
    if isinstance(scheduling, dict):
        yield from _scheduling(scheduling, [_machine_spec(pool) for pool in pools if isinstance(pool, dict) and pool])


def _scheduling(scheduling: Properties, machines: list[Properties]) -> Found:
    """See `catalog.vertex` for what flex-start and spot take."""
    strategy, timeout = scheduling.get("strategy"), scheduling.get("timeout")
    known = [spec for spec in machines if UNKNOWN not in spec.values()]
    where = "jobSpec.scheduling.strategy"
    if strategy == "FLEX_START":
        if isinstance(timeout, str) and UNKNOWN not in timeout and float(timeout[:-1]) > FLEX_SECONDS:
            yield "jobSpec.scheduling.timeout", Problem(f"a job with FLEX_START runs for at most {FLEX_SECONDS}s")
        if any(spec != known[0] for spec in known):
            yield where, Problem("FLEX_START takes worker pools of the same machines only")
    way = _WAYS.get(str(strategy))
    if way is None:
        return
    # Imported here: it brings what a compile needs, for which every start of the provider would wait.
    from xmgen.catalog.vertex import is_sold

    for spec in known:
        machine, topology = catalog.catalog().machines.get(str(spec.get("machineType"))), spec.get("tpuTopology")
        if machine is not None and not is_sold(machine, way, str(topology) if topology else None):
            yield where, Problem(f"Vertex AI has no {machine.name} {topology or ''}".rstrip() + f" with {strategy}")


def _pools(pools: list[Value]) -> Found:
    path = _POOLS
    if len(pools) > MAX_POOLS:
        yield path, Problem(f"{len(pools)} worker pools are too many", hint=f"at most {MAX_POOLS}")
    known = [(index, pool) for index, pool in enumerate(pools) if isinstance(pool, dict)]
    for index, pool in known:
        where = f"{path}[{index}]"
        if not pool:
            if index == 0:
                yield where, Problem("the first worker pool must not be empty")
            continue
        yield from _pool(pool, where, index)
    if _on_tpus(pools) and len(known) > 1:
        yield path, Problem("a job on TPUs has one worker pool", hint="make the other jobs work units of their own")


def _pool(pool: Properties, where: str, index: int) -> Found:
    replicas = _number(pool.get("replicaCount"))
    if replicas is not None:
        if index == 0 and replicas != 1:
            yield (
                f"{where}.replicaCount",
                Problem(f"the first worker pool has one replica, not {replicas}", hint="put the others into a second"),
            )
        elif replicas < 1:
            yield f"{where}.replicaCount", Problem("a worker pool has at least one replica")
        elif _is_tpu(_machine_spec(pool)) and replicas != 1:
            yield f"{where}.replicaCount", Problem(f"a job on TPUs has one replica, not {replicas}")
    yield from _task(pool, where)
    disk = pool.get("diskSpec")
    size = _number(disk.get("bootDiskSizeGb")) if isinstance(disk, dict) else None
    if size is not None and size not in DISK_GB:
        yield (
            f"{where}.diskSpec.bootDiskSizeGb",
            Problem(f"a boot disk of {size} GB cannot be had", hint=f"{DISK_GB[0]} to {DISK_GB[-1]}"),
        )
    spec = pool.get("machineSpec")
    if isinstance(spec, dict):
        yield from _machine(spec, f"{where}.machineSpec")
    elif spec is None:
        yield f"{where}.machineSpec", Problem("is missing")


def _task(pool: Properties, where: str) -> Found:
    container, package = pool.get("containerSpec"), pool.get("pythonPackageSpec")
    if (container is None) == (package is None):
        yield where, Problem("a worker pool has either a containerSpec or a pythonPackageSpec")
    if isinstance(container, dict) and not container.get("imageUri"):
        yield f"{where}.containerSpec.imageUri", Problem("is missing")
    for kind, task in (("containerSpec", container), ("pythonPackageSpec", package)):
        environment = task.get("env") if isinstance(task, dict) else None
        if not isinstance(environment, list):
            continue
        if len(environment) > MAX_ENV:
            yield (
                f"{where}.{kind}.env",
                Problem(f"{len(environment)} variables are too many", hint=f"at most {MAX_ENV}"),
            )
        names = [str(entry.get("name")) for entry in environment if isinstance(entry, dict)]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{where}.{kind}.env", Problem(f"two variables are called {name}")


def _machine(spec: Properties, where: str) -> Found:
    name, accelerator = spec.get("machineType"), spec.get("acceleratorType")
    if UNKNOWN in (name, accelerator, spec.get("tpuTopology"), spec.get("acceleratorCount")):
        return
    if not isinstance(name, str) or not name:
        yield f"{where}.machineType", Problem("is missing")
        return
    count = _number(spec.get("acceleratorCount")) or 0
    if (accelerator is None) != (count == 0):
        yield f"{where}.acceleratorCount", Problem("acceleratorType and acceleratorCount go together")
        return
    affinity = spec.get("reservationAffinity")
    if isinstance(affinity, dict) and affinity.get("reservationAffinityType") == "SPECIFIC_RESERVATION":
        yield from _reservation(affinity, where)
    kind = str(accelerator) if accelerator is not None else None
    known = catalog.catalog()
    machine = known.machines.get(name)
    if any(name in tpu.vertex.machine_types for tpu in known.tpus.values()):
        yield from _tpu(spec, name, kind, count, where)
    elif machine is not None and machine.accelerator is not None:
        yield from _accelerated(machine, kind, count, where)
    elif kind is not None and name in known.vertex.cpu_machines:
        yield from _attached(name, kind, count, where)
    elif kind is not None:
        hint = did_you_mean(name, [*known.vertex.cpu_machines, *(m.name for m in known.machines.values() if m.vertex)])
        yield f"{where}.machineType", Problem(f"{name} takes no {kind}", hint=hint)


def _reservation(affinity: Properties, where: str) -> Found:
    if not affinity.get("key") or not affinity.get("values"):
        yield f"{where}.reservationAffinity", Problem("a specific reservation needs `key` and `values`")


def _accelerated(machine: MachineType, kind: str | None, count: int, where: str) -> Found:
    gpu = catalog.catalog().gpus.get(machine.accelerator or "")
    if gpu is None or gpu.vertex_type is None or not machine.vertex:
        yield f"{where}.machineType", Problem(f"Vertex AI has no custom jobs on {machine.name}")
    elif (kind, count) != (gpu.vertex_type, machine.accelerator_count):
        yield (
            f"{where}.acceleratorType",
            Problem(
                f"{machine.name} does not come with {count} x {kind}" if kind else f"{machine.name} comes with GPUs",
                hint=f"acceleratorType: {gpu.vertex_type}, acceleratorCount: {machine.accelerator_count}",
            ),
        )


def _attached(name: str, kind: str, count: int, where: str) -> Found:
    known = catalog.catalog()
    attachable = {gpu.vertex_type: gpu.id for gpu in known.gpus.values() if gpu.attach_limits}
    if kind not in attachable:
        gpu = next((gpu for gpu in known.gpus.values() if gpu.vertex_type == kind), None)
        machines = [m.name for m in known.machines.values() if gpu and m.vertex and m.accelerator == gpu.id]
        yield (
            f"{where}.machineType",
            Problem(f"{name} takes no {kind}", hint=f"allowed: {', '.join(machines)}" if machines else ""),
        )
        return
    rows = {row.machine: row for row in known.vertex.attach_counts}
    row = rows.get(name)
    allowed = row.counts.get(attachable[kind], ()) if row else ()
    if count not in allowed and not (row and row.uncertain):
        hint = f"allowed: {', '.join(map(str, allowed)) or 'none'}"
        yield f"{where}.acceleratorCount", Problem(f"{name} does not take {count} x {kind}", hint=hint)


def _tpu(spec: Properties, name: str, kind: str | None, count: int, where: str) -> Found:
    for tpu in catalog.catalog().tpus.values():
        if name not in tpu.vertex.machine_types:
            continue
        if tpu.vertex.accelerator_type is None:
            topology = spec.get("tpuTopology")
            if kind is not None:
                hint = "tpuTopology says how many chips"
                yield f"{where}.acceleratorType", Problem(f"{name} takes no acceleratorType", hint=hint)
            if topology not in tpu.vertex.topologies:
                hint = f"allowed: {', '.join(tpu.vertex.topologies)}"
                yield f"{where}.tpuTopology", Problem(f"{name} has no topology {topology}", hint=hint)
            return
        if tpu.vertex.accelerator_type == kind:
            single, unit = tpu.vertex.cores
            if count != single and count % unit:
                hint = f"allowed: {single}, multiples of {unit}"
                yield f"{where}.acceleratorCount", Problem(f"{kind} has no slice of {count} cores", hint=hint)
            return
    allowed = [
        tpu.vertex.accelerator_type
        for tpu in catalog.catalog().tpus.values()
        if name in tpu.vertex.machine_types and tpu.vertex.accelerator_type
    ]
    yield f"{where}.acceleratorType", Problem(f"{name} needs an accelerator", hint=f"one of {', '.join(allowed)}")


def _on_tpus(pools: Value) -> bool:
    """Such jobs cannot have a service account of their own."""
    known = [pool for pool in pools if isinstance(pool, dict)] if isinstance(pools, list) else []
    return any(_is_tpu(_machine_spec(pool)) for pool in known)


def _is_tpu(spec: Properties) -> bool:
    name = spec.get("machineType")
    return any(name in tpu.vertex.machine_types for tpu in catalog.catalog().tpus.values())


def _machine_spec(pool: Properties) -> Properties:
    spec = pool.get("machineSpec")
    return spec if isinstance(spec, dict) else {}


def _number(value: Value) -> int | None:
    """An integer of the body, which JSON may have as a text; None for one that is not there or not known."""
    return None if value is None or value == UNKNOWN else int(cast("int | str", value))
