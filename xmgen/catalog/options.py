"""The machines that could run a job, before anything is said about their size: right accelerator, right number. Pure.

Functions raise `Refused` with the Problem when nothing can be right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xmgen import locations
from xmgen.catalog import tpu
from xmgen.catalog.model import Architecture, Catalog, Gpu, MachineType, NodeKind, Tpu, TpuSlice
from xmgen.errors import Problem, did_you_mean
from xmgen.executors.limits import BYTES, REPLICAS
from xmgen.experiment import Accelerator, JobRequirements

ARCHITECTURES: dict[str, Architecture] = {"amd64": "amd64", "haswell": "amd64", "arm64": "arm64", "arm": "arm64"}
"""GKE's names, and XManager's for the same."""

Value = TypeVar("Value")


class Refused(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


MAX_SLICES = 256
"""Of one job; far more than anybody has had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One machine type the job could run on. gpus: of one machine. pods, slices: of the whole job."""

    machine: MachineType
    gpu: Gpu | None = None
    gpus: int = 0
    tpu: TpuSlice | None = None
    pods: int = 1
    slices: int = 1


def ok(value: Value | Problem) -> Value:
    if isinstance(value, Problem):
        raise Refused(value)
    return value


def node_kind(machine: MachineType) -> NodeKind:
    """What accelerator nodes of this type have: N1 machines are there for GPUs only."""
    if machine.tpu:
        return "tpu"
    return "gpu" if machine.accelerator or machine.attaches_gpus else "all"


def wrong_amounts(requirements: JobRequirements) -> Problem | None:
    """Amounts that nothing has. Front ends refuse them in their own words; an experiment can be made without one."""
    asked = (("cpu", requirements.cpu), ("ram", requirements.ram), ("disk", requirements.disk))
    wrong = [f"{name} is {value:g}" for name, value in asked if value is not None and not 0 < value <= BYTES.most]
    if replicas := REPLICAS.problem("replicas", requirements.replicas):
        wrong.append(replicas.message)
    hint = f"cpu, ram and disk are more than 0 (or left out), replicas from {REPLICAS.least} to {REPLICAS.most}"
    return Problem(" and ".join(wrong), hint=hint) if wrong else None


def check_slices(asked: Accelerator) -> None:
    """Each slice is planned on its own, so that a slip of the finger must not ask for millions."""
    if not 1 <= asked.slices <= MAX_SLICES:
        raise Refused(
            Problem(f"{asked.type} in {asked.slices:,} slices", hint=f"from 1 to {MAX_SLICES} slices for a job")
        )


def cpu_options(catalog: Catalog, replicas: int | None) -> list[Option]:
    machines = (machine for machine in catalog.machines.values() if node_kind(machine) == "all")
    return [Option(machine=machine, pods=replicas or 1) for machine in machines]


def gpu_options(catalog: Catalog, gpu: Gpu, asked: Accelerator, replicas: int | None) -> list[Option]:
    check_slices(asked)
    count, hosts = gpu_count(gpu, asked, replicas)
    limit = gpu.attach_limits.get(count)
    return [
        Option(machine=machine, gpu=gpu, gpus=count, pods=hosts * asked.slices, slices=asked.slices)
        for machine in catalog.machines.values()
        if (machine.accelerator == gpu.id and machine.accelerator_count == count)
        or (limit and machine.attaches_gpus and machine.vcpus <= limit.vcpus and machine.memory_gib <= limit.memory_gib)
    ]


def gpu_count(gpu: Gpu, asked: Accelerator, replicas: int | None) -> tuple[int, int]:
    """GPUs of one machine, and machines of one slice. `4x2` is 4 GPUs on each of 2 machines, as in XManager."""
    name = f"{gpu.id}={asked.topology or f'{asked.count or 0:g}'}"
    sides = tpu.sides(asked.topology) if asked.topology else (asked.count or 0,)
    if sides is None:
        raise Refused(Problem(f"{name} is no number of GPUs", hint=_gpu_hint(gpu)))
    count, hosts = sides[0], math.prod(int(side) for side in sides[1:])
    if len(sides) == 1:
        hosts = replicas or 1
    elif replicas not in (None, 1, hosts):
        raise Refused(Problem(f"{name} is {hosts} machines, but replicas is {replicas}"))
    if asked.topology and asked.count not in (None, count, count * hosts):
        raise Refused(Problem(f"{name} is {count * hosts:g} GPUs, not {asked.count:g}"))
    if count not in gpu.counts:
        raise Refused(Problem(f"{name}: no machine has {count:g} of these GPUs", hint=_gpu_hint(gpu)))
    return int(count), hosts


def tpu_options(catalog: Catalog, found: Tpu, asked: Accelerator, replicas: int | None) -> list[Option]:
    """The slice with the fewest hosts, or the one with as many as the job has replicas."""
    check_slices(asked)
    topology = ok(tpu.topology_of(found, asked.count, asked.topology))
    built = tpu.slices(catalog, found, topology)
    if replicas and replicas > 1:
        matching = [option for option in built if option.hosts == replicas]
        if not matching:
            hosts = " or ".join(str(option.hosts) for option in built)
            message = f"{found.id} {topology} is {hosts} host{'' if hosts == '1' else 's'}, but replicas is {replicas}"
            raise Refused(Problem(message, hint="for several slices of it use num_slices"))
        built = tuple(matching)
    chosen = built[0]
    return [Option(machine=chosen.machine, tpu=chosen, pods=chosen.hosts * asked.slices, slices=asked.slices)]


def of_architecture(options: Sequence[Option], architecture: str | None) -> list[Option]:
    """CPU-only jobs run on amd64 unless they ask for Arm; accelerators decide by themselves."""
    if architecture is None:
        arm = all(option.machine.architecture == "arm64" for option in options)
        wanted: Architecture = "arm64" if arm else "amd64"
    else:
        key = architecture.lower()
        if key not in ARCHITECTURES:
            raise Refused(Problem(f"unknown architecture {architecture!r}", hint=did_you_mean(key, ARCHITECTURES)))
        wanted = ARCHITECTURES[key]
    matching = [option for option in options if option.machine.architecture == wanted]
    if not matching:
        names = ", ".join(sorted({option.machine.name for option in options}))
        raise Refused(Problem(f"{names}: not an {wanted} machine"))
    return matching


def location(text: str | None) -> tuple[str | None, str | None]:
    """`us-central1-a` -> (zone, region); `us-central1` -> (None, region)."""
    if text is None:
        return None, None
    if not locations.is_location(text):
        raise Refused(Problem(f"{text!r} is no location", hint="write a region (us-central1) or zone (us-central1-a)"))
    return (text if locations.is_zone(text) else None), locations.region_of(text)


def in_zone(catalog: Catalog, options: Sequence[Option], zone: str | None) -> list[Option]:
    """Only zones whose machine families are all known rule anything out."""
    families = catalog.zone_families.get(zone or "")
    if families is None:
        return list(options)
    matching = [option for option in options if option.machine.family in families]
    if not matching:
        names = ", ".join(option.machine.name for option in options)
        raise Refused(Problem(f"{zone} has no {names}", hint=f"machine families there: {', '.join(families)}"))
    return matching


def _gpu_hint(gpu: Gpu) -> str:
    counts = ", ".join(str(count) for count in gpu.counts)
    return f"allowed: {counts} on one machine; for more machines use replicas"
