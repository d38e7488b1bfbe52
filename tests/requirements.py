"""What jobs ask of a machine."""

from __future__ import annotations

from typing import Any

from xmgen import catalog
from xmgen.catalog.model import MachineType
from xmgen.catalog.selection import available_resources
from xmgen.experiment import Accelerator, JobRequirements

KNOWN = catalog.catalog()


def needs(name: str = "", count: float | None = None, topology: str | None = None, **rest: Any) -> JobRequirements:
    slices = rest.pop("slices", 1)
    asked = Accelerator(type=name, count=count, topology=topology, slices=slices) if name else None
    return JobRequirements(accelerator=asked, **rest)


def full(machine: MachineType) -> JobRequirements:
    """A job that fills the machine: no smaller one can have it."""
    room = available_resources(machine)
    asked: dict[str, Any] = {"cpu": room.cpu_millis / 1000, "ram": room.memory_bytes}
    if machine.attaches_gpus:
        limits = KNOWN.gpus["t4"].attach_limits
        count = next(count for count, limit in limits.items() if limit.vcpus >= machine.vcpus)
        return needs("t4", count, **asked)
    if machine.tpu:
        return needs(machine.accelerator or "", topology=machine.tpu.single_host or "4x4", **asked)
    if machine.accelerator:
        return needs(machine.accelerator, machine.accelerator_count, **asked)
    if machine.architecture == "arm64":
        return needs(architecture="arm64", **asked)
    return needs(location="us-central2-b" if machine.family == "n2" else None, **asked)
