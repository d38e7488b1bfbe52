"""From a job's requirements to its machines on GKE, or to a refusal that says what would be right. Pure.

The smallest machine wins whose *available* resources (what a node can allocate, less GKE's own pods) cover the request;
small means fewer vCPUs, then less memory, then the lower price. No pod runs without requests: a job that names no CPU
gets one vCPU, or one for each of its GPUs; one that names no memory 2 GiB for each vCPU (2 GiB in all where there is
not so much).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence

from xmgen import catalog
from xmgen.catalog import options as candidates
from xmgen.catalog import tiers
from xmgen.catalog.allocatable import (
    DEFAULT_DISK_GB,
    GIB,
    MAX_DISK_GB,
    NO_RESOURCES,
    Resources,
    available,
    boot_disk_gb,
)
from xmgen.catalog.model import Gpu, MachineType, PlacementPolicy, Provisioning, Tpu
from xmgen.catalog.options import Option, Refused, ok
from xmgen.catalog.placement import (
    ARCHITECTURE_LABEL,
    FLEX_START_LABEL,
    GPU_LABEL,
    GPU_RESOURCE,
    JOBS_TAINT,
    SPOT_LABEL,
    TPU_LABEL,
    TPU_RESOURCE,
    TPU_TOPOLOGY_LABEL,
    GpuNode,
    Placement,
    Taint,
    Toleration,
    TpuNode,
)
from xmgen.errors import Problem
from xmgen.experiment import Accelerator, JobRequirements

DEFAULT_CPU_MILLIS = 1000
MEMORY_PER_CPU = 2 * GIB


def select(
    requirements: JobRequirements,
    *,
    reservation: str | None = None,
    sidecar: Resources = NO_RESOURCES,
    where: str = "",
) -> Placement | Problem:
    """The placement of one job.

    reservation: name of a Compute Engine reservation for the accelerators.
    sidecar:     what containers beside the job's own request in each pod.
    where:       place of the requirements, for the Problem.
    """
    found = _selected(requirements, reservation, sidecar)
    return dataclasses.replace(found, where=where) if isinstance(found, Problem) else found


def available_resources(machine: MachineType, disk_gb: int = DEFAULT_DISK_GB) -> Resources:
    """What such a node has for jobs, GKE's own pods subtracted."""
    return available(machine, candidates.node_kind(machine), catalog.catalog().system_pods, disk_gb)


def system_machine(zone: str | None = None) -> MachineType | Problem:
    """The machine of a cluster's system pool: the smallest there is in the zone with 4 GiB to spare."""
    placement = select(JobRequirements(cpu=1, ram=4 * GIB, location=zone))
    return placement if isinstance(placement, Problem) else catalog.catalog().machines[placement.machine_type]


def _requests(requirements: JobRequirements, gpus: int) -> Iterator[Resources]:
    """What a pod of so many GPUs requests: what the job asked for, defaults for CPU and memory; first choice first."""
    default = DEFAULT_CPU_MILLIS * max(1, gpus)
    cpu_millis = default if requirements.cpu is None else max(1, math.ceil(requirements.cpu * 1000))
    disk_bytes = requirements.disk or 0
    if requirements.ram:
        yield Resources(cpu_millis=cpu_millis, memory_bytes=requirements.ram, disk_bytes=disk_bytes)
        return
    for memory in (max(1, math.ceil(cpu_millis / 1000)) * MEMORY_PER_CPU, MEMORY_PER_CPU):
        yield Resources(cpu_millis=cpu_millis, memory_bytes=memory, disk_bytes=disk_bytes)


@functools.lru_cache(maxsize=1024)
def _selected(requirements: JobRequirements, reservation: str | None, sidecar: Resources) -> Placement | Problem:
    """Cached: the trials of a sweep ask for the same thing."""
    try:
        return _select(requirements, reservation, sidecar)
    except Refused as refused:
        return refused.problem


def _select(requirements: JobRequirements, reservation: str | None, sidecar: Resources) -> Placement:
    if wrong := candidates.wrong_amounts(requirements):
        raise Refused(wrong)
    known = catalog.catalog()
    zone, region = candidates.location(requirements.location)
    asked, replicas = requirements.accelerator, requirements.replicas
    accelerator = ok(catalog.accelerator(asked.type)) if asked else None
    if asked is None or accelerator is None:
        if reservation:
            raise Refused(tiers.without_accelerator(reservation))
        options = candidates.cpu_options(known, replicas)
    elif isinstance(accelerator, Gpu):
        options = candidates.gpu_options(known, accelerator, asked, replicas)
    else:
        options = candidates.tpu_options(known, accelerator, asked, replicas)
    options = candidates.of_architecture(options, requirements.architecture)
    options = candidates.in_zone(known, options, zone)
    ways = ok(tiers.wanted(requirements.service_tier, reservation))
    sold = [option for option in options if tiers.provisioning(option.machine, ways)]
    if not sold:
        raise Refused(tiers.refusal([option.machine for option in options], ways))
    option, disk_gb, requests = _smallest(sold, list(_requests(requirements, sold[0].gpus)), sidecar)
    way = tiers.provisioning(option.machine, ways) or ways[0]
    taints = tuple(_taints(option, way))
    policy = option.machine.policy
    if isinstance(accelerator, Tpu) and accelerator.policy and option.tpu and option.tpu.multi_host:
        policy = PlacementPolicy(kind=accelerator.policy, topology=option.tpu.topology)
    return Placement(
        accelerator=accelerator.id if accelerator else None,
        machine_type=option.machine.name,
        architecture=option.machine.architecture,
        provisioning=way,
        reservation=reservation if way == "reservation" else None,
        gpu=_gpu_node(option),
        tpu=_tpu_node(option),
        policy=policy,
        pods=option.pods,
        slices=option.slices,
        requests=requests,
        boot_disk=option.machine.boot_disk,
        boot_disk_gb=disk_gb,
        local_ssds=option.machine.local_ssds,
        zone=zone,
        region=region,
        node_selector=_node_selector(option, way),
        taints=taints,
        tolerations=tuple(_toleration(taint) for taint in taints),
        notes=tuple(_notes(accelerator, asked, option, zone)),
        sidecar=sidecar,
    )


def _smallest(
    options: Sequence[Option], choices: Sequence[Resources], sidecar: Resources
) -> tuple[Option, int, Resources]:
    """The smallest machine that has room for one pod, its boot disk's size, and the requests it covers."""
    ordered = sorted(options, key=lambda option: option.machine.size)
    for choice in choices:
        requests = choice + sidecar
        for option in ordered:
            disk_gb = DEFAULT_DISK_GB if option.machine.local_ssds else boot_disk_gb(requests.disk_bytes)
            if disk_gb <= MAX_DISK_GB and available_resources(option.machine, disk_gb).covers(requests):
                return option, disk_gb, requests
    raise Refused(_too_large(ordered, choices[-1], sidecar))


def _too_large(options: Sequence[Option], requests: Resources, sidecar: Resources) -> Problem:
    """Names the machines with most CPUs and with most memory, and what each leaves to a job."""
    best = {
        max(options, key=lambda option: (option.machine.vcpus, option.machine.memory_gib)).machine.name,
        max(options, key=lambda option: (option.machine.memory_gib, option.machine.vcpus)).machine.name,
    }
    machines = catalog.catalog().machines
    allowed: list[str] = []
    for name in sorted(best):
        disk = DEFAULT_DISK_GB if machines[name].local_ssds else MAX_DISK_GB
        room = available_resources(machines[name], disk) - sidecar
        room = room if requests.disk_bytes else dataclasses.replace(room, disk_bytes=0)
        allowed.append(f"{_amounts(room)} on {name}")
    message = f"no machine has room for {_amounts(requests)}"
    if options[0].gpu:
        message += f" with {options[0].gpu.id}={options[0].gpus}"
    elif options[0].tpu:
        message += f" on each host of {options[0].machine.accelerator} {options[0].tpu.topology}"
    return Problem(message, hint=f"at most: {'; '.join(allowed)} (GKE and its own pods take the rest)")


def _amounts(resources: Resources) -> str:
    cpus = f"{math.floor(resources.cpu_millis / 10) / 100:g}"
    text = f"{cpus} vCPU{'' if cpus == '1' else 's'}"
    for amount, of in ((resources.memory_bytes, "memory"), (resources.disk_bytes, "disk")):
        if amount:
            text += f", {math.floor(amount / GIB * 10) / 10:g} GiB of {of}"
    return text


def _gpu_node(option: Option) -> GpuNode | None:
    return GpuNode(label=option.gpu.label, count=option.gpus, driver=option.gpu.driver) if option.gpu else None


def _tpu_node(option: Option) -> TpuNode | None:
    if option.tpu is None or option.machine.tpu is None:
        return None
    return TpuNode(
        label=option.machine.tpu.label,
        topology=option.tpu.topology,
        chips_per_host=option.tpu.chips_per_host,
        hosts=option.tpu.hosts,
    )


def _node_selector(option: Option, way: Provisioning) -> dict[str, str]:
    selector = {ARCHITECTURE_LABEL: option.machine.architecture}
    if option.gpu:
        selector[GPU_LABEL] = option.gpu.label
    if option.tpu and option.machine.tpu:
        selector |= {TPU_LABEL: option.machine.tpu.label, TPU_TOPOLOGY_LABEL: option.tpu.topology}
    if way == "spot":
        selector[SPOT_LABEL] = "true"
    if way == "flex-start":
        selector[FLEX_START_LABEL] = "true"
    return dict(sorted(selector.items()))


def _taints(option: Option, way: Provisioning) -> Iterator[Taint]:
    if option.gpu:
        yield Taint(key=GPU_RESOURCE, value="present", by_gke=True)
    elif option.tpu:
        yield Taint(key=TPU_RESOURCE, value="present", by_gke=True)
    else:
        yield Taint(key=JOBS_TAINT, value="true")
    if way == "spot":
        yield Taint(key=SPOT_LABEL, value="true")
    if option.machine.architecture == "arm64":
        yield Taint(key=ARCHITECTURE_LABEL, value="arm64", by_gke=True)


def _toleration(taint: Taint) -> Toleration:
    """GKE's accelerator taints are tolerated whatever their value, as GKE's own admission does it."""
    return Toleration(key=taint.key, value="" if taint.key in (GPU_RESOURCE, TPU_RESOURCE) else taint.value)


def _notes(accelerator: Gpu | Tpu | None, asked: Accelerator | None, option: Option, zone: str | None) -> Iterator[str]:
    if accelerator is None or asked is None:
        return
    if accelerator.note:
        yield f"{accelerator.id}: {accelerator.note}"
    if isinstance(accelerator, Tpu) and option.tpu:
        topology = option.tpu.topology
        if accelerator.cores_per_chip > 1 and asked.count is not None and topology != asked.topology:
            unit = accelerator.counted_in
            yield f"{accelerator.id}={asked.count:g} is read as {asked.count:g} {unit}: topology {topology}"
        if topology in accelerator.enumerated:
            yield f"{accelerator.id} {topology} is not in GKE's table of topologies and may be refused"
    zones = catalog.catalog().zone_accelerators.get(accelerator.id)
    if zones and zone and zone not in zones:
        yield f"{accelerator.id} is known in {', '.join(zones)}; {zone} may not have it"
