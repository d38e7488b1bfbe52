"""What a GKE node leaves to jobs: its resources less what GKE, the system and GKE's own pods take. Pure.

The formulas are those of GKE's documentation ("About GKE node sizing"). What the documentation leaves out, the memory
and disk that the operating system takes before the kubelet sees them, follows measurements on GKE nodes that the GKE
autoscaler ships; the rules here are the simplest that stay above all of them. Where sources differ, the larger
reservation counts: a machine one size too large costs a little, a pod that never fits waits for ever.

Shared-core machines (e2-micro, e2-small, e2-medium) are not in the catalog: GKE reserves 1060 of their 2000 millicores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xmgen.catalog.model import MachineType, NodeKind, SystemPod

KIB, MIB, GIB = 2**10, 2**20, 2**30
DEFAULT_DISK_GB = 100
DISK_STEP_GB = 100
MAX_DISK_GB = 64_000
LOCAL_SSD_BYTES = 375 * GIB

_CPU_BRACKETS = ((1000, 0.06), (1000, 0.01), (2000, 0.005), (math.inf, 0.0025))
"""Millicores and the share of them that is reserved."""
_MEMORY_BRACKETS = ((4 * GIB, 0.25), (4 * GIB, 0.20), (8 * GIB, 0.10), (112 * GIB, 0.06), (math.inf, 0.02))
_SMALL_MEMORY, _SMALL_MEMORY_RESERVED = GIB, 255 * MIB
_MEMORY_EVICTION = 100 * MIB
_SSD_RESERVED_GIB = {0: 0, 1: 50, 2: 75}
_MANY_SSDS_RESERVED_GIB = 100
_DISK_EVICTION = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """CPU in millicores, memory and ephemeral storage in bytes."""

    cpu_millis: int
    memory_bytes: int
    disk_bytes: int

    def covers(self, other: Resources) -> bool:
        return (
            self.cpu_millis >= other.cpu_millis
            and self.memory_bytes >= other.memory_bytes
            and self.disk_bytes >= other.disk_bytes
        )

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            cpu_millis=self.cpu_millis + other.cpu_millis,
            memory_bytes=self.memory_bytes + other.memory_bytes,
            disk_bytes=self.disk_bytes + other.disk_bytes,
        )

    def __sub__(self, other: Resources) -> Resources:
        return Resources(
            cpu_millis=self.cpu_millis - other.cpu_millis,
            memory_bytes=self.memory_bytes - other.memory_bytes,
            disk_bytes=self.disk_bytes - other.disk_bytes,
        )

    def how_often(self, other: Resources) -> int:
        """How many times `other` fits in here."""
        pairs = (
            (self.cpu_millis, other.cpu_millis),
            (self.memory_bytes, other.memory_bytes),
            (self.disk_bytes, other.disk_bytes),
        )
        return min(have // need for have, need in pairs if need > 0)


NO_RESOURCES = Resources(cpu_millis=0, memory_bytes=0, disk_bytes=0)


def cpu_reserved_millis(vcpus: int) -> int:
    """6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest."""
    return math.ceil(_reserved(vcpus * 1000, _CPU_BRACKETS))


def memory_reserved_bytes(capacity: int) -> int:
    """255 MiB below 1 GiB; else 25 % of the first 4 GiB, 20 % of the next 4, 10 % of the next 8, 6 % of the next 112,
    2 % of the rest."""
    if capacity < _SMALL_MEMORY:
        return _SMALL_MEMORY_RESERVED
    return math.ceil(_reserved(capacity, _MEMORY_BRACKETS))


def os_memory_bytes(physical: int) -> int:
    """Firmware and kernel: 120 MiB and 2 % of the memory bounds every measured node from above."""
    return 120 * MIB + math.ceil(physical * 0.02)


def os_disk_bytes(disk_gb: int) -> int:
    """System partitions and file system: 4400 MiB and a 64th of the disk bounds every measured node from above."""
    return 4400 * MIB + disk_gb * GIB // 64


def disk_reserved_bytes(disk_gb: int) -> int:
    """Of a boot disk that holds the ephemeral storage: 50 %, or 35 % and 6 GiB, or 100 GiB, whichever is least."""
    return math.ceil(min(0.50 * disk_gb, 0.35 * disk_gb + 6, 100) * GIB)


def node_allocatable(machine: MachineType, disk_gb: int = DEFAULT_DISK_GB) -> Resources:
    """What the kubelet of such a node reports as allocatable, at least."""
    capacity = machine.memory_bytes - os_memory_bytes(machine.memory_bytes)
    return Resources(
        cpu_millis=machine.vcpus * 1000 - cpu_reserved_millis(machine.vcpus),
        memory_bytes=max(0, capacity - memory_reserved_bytes(machine.memory_bytes) - _MEMORY_EVICTION),
        disk_bytes=_ssd_allocatable(machine.local_ssds) if machine.local_ssds else _disk_allocatable(disk_gb),
    )


def available(
    machine: MachineType, kind: NodeKind, pods: tuple[SystemPod, ...], disk_gb: int = DEFAULT_DISK_GB
) -> Resources:
    """What is left for jobs once GKE's own pods run on the node. kind: what accelerator the node has (`all`: none)."""
    node = node_allocatable(machine, disk_gb)
    mine = [pod for pod in pods if pod.nodes in ("all", kind)]
    return Resources(
        cpu_millis=max(0, node.cpu_millis - sum(pod.cpu_millis for pod in mine)),
        memory_bytes=max(0, node.memory_bytes - sum(pod.memory_mib for pod in mine) * MIB),
        disk_bytes=node.disk_bytes,
    )


def boot_disk_gb(disk_bytes: int) -> int:
    """The smallest boot disk, in steps of 100 GB, that leaves so much ephemeral storage. It may exceed MAX_DISK_GB."""
    size = DEFAULT_DISK_GB
    while size <= MAX_DISK_GB and _disk_allocatable(size) < disk_bytes:
        size += DISK_STEP_GB
    return size


def _disk_allocatable(disk_gb: int) -> int:
    capacity = disk_gb * GIB - os_disk_bytes(disk_gb)
    return max(0, math.floor(capacity * (1 - _DISK_EVICTION)) - disk_reserved_bytes(disk_gb))


def _ssd_allocatable(count: int) -> int:
    """Local SSDs as ephemeral storage: less 50, 75 or (from three on) 100 GiB, and the eviction threshold of 10 %."""
    capacity = count * LOCAL_SSD_BYTES
    reserved = _SSD_RESERVED_GIB.get(count, _MANY_SSDS_RESERVED_GIB) * GIB
    return math.floor(capacity * (1 - _DISK_EVICTION)) - reserved


def _reserved(amount: float, brackets: tuple[tuple[float, float], ...]) -> float:
    total = 0.0
    for width, share in brackets:
        total += min(amount, width) * share
        amount -= width
        if amount <= 0:
            break
    return total
