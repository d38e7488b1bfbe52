"""Machines of Vertex AI custom jobs. Pure.

Vertex publishes no reservation of its own, so a job is measured against the whole machine. Service tiers mean what they
mean on GKE (see `tiers`), and a machine that Compute Engine does not sell on demand is not asked for on demand here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xmgen import catalog
from xmgen.catalog import tiers, tpu
from xmgen.catalog.model import Architecture, Gpu, MachineType, Provisioning, Tpu
from xmgen.catalog.options import ARCHITECTURES, Refused, gpu_count, location, ok, wrong_amounts
from xmgen.errors import Problem, did_you_mean
from xmgen.experiment import Accelerator, JobRequirements

DEFAULT_MACHINE = "n1-standard-4"
DISK_GB = 100
"""Vertex's default boot disk, which holds the system and the image; what a job asks for comes on top."""
MAX_DISK_GB = 64_000
_GB = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexMachine:
    """The machine part of one worker pool.

    accelerator_type, accelerator_count: of `MachineSpec`; None and 0 without one and for TPUs given by topology.
    tpu_topology:  of `MachineSpec`. A TPU job has exactly one worker pool of one replica.
    replicas:      `replicaCount`.
    architecture:  what its image is built for.
    strategy:      `Scheduling.strategy`; a reservation is named in `reservation` and needs no strategy of its own.
    region:        where the job must run; None when it does not matter.
    """

    machine_type: str
    accelerator_type: str | None = None
    accelerator_count: int = 0
    tpu_topology: str | None = None
    replicas: int = 1
    architecture: Architecture = "amd64"
    boot_disk_gb: int = DISK_GB
    strategy: str = "ON_DEMAND"
    reservation: str | None = None
    region: str | None = None


def vertex_machine(
    requirements: JobRequirements, *, reservation: str | None = None, where: str = ""
) -> VertexMachine | Problem:
    """The machine for one job, or why there is none. reservation: of Compute Engine, shared with Vertex."""
    try:
        return _choose(requirements, reservation)
    except Refused as refused:
        return replace(refused.problem, where=where)


def is_sold(machine: MachineType, way: Provisioning, topology: str | None = None) -> bool:
    """Whether Vertex AI has the machine in a way that Compute Engine has it. topology: of a slice of such machines.

    Spot is not for slices of several: https://cloud.google.com/vertex-ai/docs/training/use-spot-vms
    """
    match way:
        case "flex-start":
            gpu = catalog.catalog().gpus.get(machine.accelerator or "")
            return gpu is not None and gpu.vertex_flex_start
        case "spot":
            return topology is None or tpu.chips(topology) <= machine.accelerator_count
        case _:
            return True


def _choose(requirements: JobRequirements, reservation: str | None) -> VertexMachine:
    if wrong := wrong_amounts(requirements):
        raise Refused(wrong)
    asked = requirements.accelerator
    _, region = location(requirements.location)
    accelerator = ok(catalog.accelerator(asked.type)) if asked else None
    ways = ok(tiers.wanted(requirements.service_tier, reservation))
    if reservation and asked is None:
        raise Refused(tiers.without_accelerator(reservation))
    if asked is None or accelerator is None:
        spec = _cpu(requirements, ways)
    elif isinstance(accelerator, Gpu):
        spec = _gpu(accelerator, asked, requirements, ways)
    else:
        spec = _tpu(accelerator, asked, requirements, ways)
    return replace(
        spec,
        boot_disk_gb=_boot_disk(requirements.disk or 0),
        reservation=reservation if spec.strategy == "RESERVATION" else None,
        strategy="ON_DEMAND" if spec.strategy == "RESERVATION" else spec.strategy,
        region=region,
    )


def _cpu(requirements: JobRequirements, ways: Sequence[Provisioning]) -> VertexMachine:
    known = catalog.catalog()
    machines = [known.machines[name] for name in known.vertex.cpu_machines]
    machine, strategy = _smallest(machines, requirements, ways)
    return VertexMachine(machine_type=machine.name, replicas=requirements.replicas or 1, strategy=strategy)


def _gpu(gpu: Gpu, asked: Accelerator, requirements: JobRequirements, ways: Sequence[Provisioning]) -> VertexMachine:
    if gpu.vertex_type is None:
        raise Refused(Problem(f"Vertex AI has no {gpu.id}"))
    count, hosts = gpu_count(gpu, asked, requirements.replicas)
    machines = list(_attaching(gpu, count) if gpu.attach_limits else _accelerated(gpu, count))
    machine, strategy = _smallest(machines, requirements, ways)
    return VertexMachine(
        machine_type=machine.name,
        accelerator_type=gpu.vertex_type,
        accelerator_count=count,
        architecture=machine.architecture,
        replicas=hosts * asked.slices,
        strategy=strategy,
    )


def _tpu(found: Tpu, asked: Accelerator, requirements: JobRequirements, ways: Sequence[Provisioning]) -> VertexMachine:
    if not found.vertex.machine_types:
        raise Refused(Problem(f"Vertex AI has no custom jobs on {found.id}"))
    if (requirements.replicas or 1) > 1 or asked.slices > 1:
        raise Refused(Problem(f"a Vertex AI job on {found.id} has one replica and one slice"))
    if found.vertex.accelerator_type:
        return _tpu_by_cores(found, asked, ways)
    topology = ok(tpu.topology_of(found, asked.count, asked.topology))
    if topology not in found.vertex.topologies:
        hint = f"allowed: {', '.join(found.vertex.topologies)}"
        raise Refused(Problem(f"Vertex AI has no {found.id} {topology}", hint=hint))
    usable = [built.machine for built in tpu.slices(catalog.catalog(), found, topology) if built.machine.vertex]
    if not usable:
        hint = f"its machines there: {', '.join(found.vertex.machine_types)}"
        raise Refused(Problem(f"Vertex AI has no machine for {found.id} {topology}", hint=hint))
    machine, strategy = _smallest(usable[:1], requirements, ways, topology)
    return VertexMachine(machine_type=machine.name, tpu_topology=topology, strategy=strategy)


def _tpu_by_cores(found: Tpu, asked: Accelerator, ways: Sequence[Provisioning]) -> VertexMachine:
    """v2 and v3: `tpu_v3=8` is 8 cores; a topology counts chips of two cores each. Sold on demand only."""
    sides = tpu.sides(asked.topology) if asked.topology else None
    cores = math.prod(sides) * found.cores_per_chip if sides and len(sides) > 1 else asked.count or (sides or (0,))[0]
    single, unit = found.vertex.cores
    if cores != single and (cores < unit or cores % unit):
        raise Refused(
            Problem(f"{found.id}: no slice of {cores:g} cores", hint=f"allowed: {single}, multiples of {unit}")
        )
    if "reservation" in ways:
        # It would not be used, whatever else is allowed.
        raise Refused(Problem(f"{found.id} cannot be had by reservation", hint="allowed: PROD (on demand) without one"))
    if "on-demand" not in ways:
        raise Refused(Problem(f"{found.id} cannot be had {' or '.join(ways)}", hint="allowed: PROD (on demand)"))
    return VertexMachine(
        machine_type=found.vertex.machine_types[0],
        accelerator_type=found.vertex.accelerator_type,
        accelerator_count=int(cores),
    )


def _accelerated(gpu: Gpu, count: int) -> Iterator[MachineType]:
    for machine in catalog.catalog().machines.values():
        if machine.vertex and machine.accelerator == gpu.id and machine.accelerator_count == count:
            yield machine


def _attaching(gpu: Gpu, count: int) -> Iterator[MachineType]:
    known = catalog.catalog()
    for row in known.vertex.attach_counts:
        if not row.uncertain and count in row.counts.get(gpu.id, ()):
            yield known.machines[row.machine]


def _smallest(
    machines: Sequence[MachineType],
    requirements: JobRequirements,
    ways: Sequence[Provisioning],
    topology: str | None = None,
) -> tuple[MachineType, str]:
    """The smallest machine with room, and Vertex's name for the way to get it (or `RESERVATION`). A job that asks for
    neither CPU nor memory gets XManager's default where that is among the machines."""
    machines = [
        replace(machine, provisioning=tuple(way for way in machine.provisioning if is_sold(machine, way, topology)))
        for machine in _of_architecture(machines, requirements.architecture)
    ]
    if requirements.cpu is None and requirements.ram is None:
        machines = [machine for machine in machines if machine.name == DEFAULT_MACHINE] or machines
    sold = [machine for machine in machines if tiers.provisioning(machine, ways)]
    if machines and not sold:
        raise Refused(tiers.refusal(machines, ways))
    for machine in sorted(sold, key=lambda machine: machine.size):
        if machine.vcpus >= (requirements.cpu or 0) and machine.memory_bytes >= (requirements.ram or 0):
            way = tiers.provisioning(machine, ways) or ways[0]
            return machine, catalog.catalog().vertex.strategies.get(way, "RESERVATION")
    largest = max(sold, key=lambda machine: (machine.memory_gib, machine.vcpus), default=None)
    hint = f"at most: {largest.vcpus} vCPUs and {largest.memory_gib:g} GiB ({largest.name})" if largest else ""
    raise Refused(Problem("no Vertex AI machine has so many vCPUs and so much memory", hint=hint))


def _of_architecture(machines: Sequence[MachineType], asked: str | None) -> Sequence[MachineType]:
    """Those whose processors are as asked for, under GKE's name or XManager's."""
    if asked is None:
        return machines
    wanted = ARCHITECTURES.get(asked.lower())
    if wanted is None:
        raise Refused(Problem(f"unknown architecture {asked!r}", hint=did_you_mean(asked.lower(), ARCHITECTURES)))
    found = [machine for machine in machines if machine.architecture == wanted]
    if machines and not found:
        hint = f"there: {', '.join(sorted({machine.architecture for machine in machines}))}"
        raise Refused(Problem(f"Vertex AI has no such machine with {wanted} processors", hint=hint))
    return found


def _boot_disk(disk_bytes: int) -> int:
    size = DISK_GB + math.ceil(disk_bytes / _GB)
    if size > MAX_DISK_GB:
        raise Refused(Problem(f"a disk of {size} GB is too large", hint=f"at most {MAX_DISK_GB - DISK_GB} GB"))
    return size
