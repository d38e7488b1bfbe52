"""The records of the catalog: accelerators, machine types, TPU slices. Frozen, filled from the JSON files beside it.

Units: memory in GiB (what Compute Engine calls GB), CPU in vCPUs, prices in US dollars an hour and machine (heuristics
of the GKE autoscaler, good enough to rank machines by). `source` names entries of `Catalog.sources`; `uncertain` says
what those sources disagree on or leave open.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Architecture = Literal["amd64", "arm64"]
Provisioning = Literal["on-demand", "spot", "flex-start", "reservation"]
PolicyKind = Literal["compact", "workload"]
"""How the nodes of one slice are kept together: GKE's `COMPACT` placement, or a Compute Engine resource policy with a
workload policy (`HIGH_THROUGHPUT` and the topology) that the pool names."""
NodeKind = Literal["all", "gpu", "tpu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPolicy:
    kind: PolicyKind
    topology: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TpuMachine:
    """label: value of the node label `gke-tpu-accelerator`. single_host: the topology that one such machine is, None
    when it only exists in larger slices. multi_host: whether slices of several such machines exist."""

    label: str
    single_host: str | None
    multi_host: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineType:
    """accelerator: id of the GPUs or TPU chips every such machine has; accelerator_count: how many. attaches_gpus: GPUs
    can be attached instead (N1). boot_disk: the disk type xmgen chooses from boot_disks. local_ssds: bundled disks of
    375 GiB, which hold the ephemeral storage. policy: what nodes need besides a slice's own placement policy."""

    name: str
    vcpus: int
    memory_gib: float
    architecture: Architecture
    accelerator: str | None
    accelerator_count: int
    local_ssds: int
    boot_disks: tuple[str, ...]
    boot_disk: str
    provisioning: tuple[Provisioning, ...]
    usd_per_hour: float | None
    vertex: bool
    source: tuple[str, ...]
    uncertain: tuple[str, ...]
    attaches_gpus: bool = False
    tpu: TpuMachine | None = None
    policy: PlacementPolicy | None = None

    @property
    def family(self) -> str:
        return self.name.partition("-")[0]

    @property
    def memory_bytes(self) -> int:
        return math.floor(self.memory_gib * 2**30)

    @property
    def size(self) -> tuple[int, float, float, str]:
        """Order of machines from small to large: vCPUs, then memory, then price, then name."""
        return self.vcpus, self.memory_gib, self.usd_per_hour or 0.0, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachLimit:
    """The largest N1 machine that takes a given number of GPUs."""

    vcpus: int
    memory_gib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """id: XManager's name. label: node label `gke-accelerator` and type of the pool's guest accelerator. memory_gb: of
    one GPU. counts: GPUs a machine can have. driver: value of `gpu_driver_version`. attach_limits: per count, for GPUs
    that are attached to N1 machines; empty for GPUs that machines come with. vertex_flex_start: whether Vertex AI finds
    it with flex-start, see https://cloud.google.com/vertex-ai/docs/training/schedule-jobs-dws; no TPU is."""

    id: str
    aliases: tuple[str, ...]
    label: str
    vertex_type: str | None
    memory_gb: int
    driver: Literal["DEFAULT", "LATEST"]
    counts: tuple[int, ...]
    attach_limits: Mapping[int, AttachLimit]
    note: str
    source: tuple[str, ...]
    uncertain: tuple[str, ...]
    vertex_flex_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexTpu:
    """Machine types of custom jobs (none: Vertex has no custom jobs on it). accelerator_type is set for generations
    counted in cores only; the later ones take a machine type and a topology. cores: of a single host, and the unit that
    larger slices are a multiple of."""

    machine_types: tuple[str, ...]
    accelerator_type: str | None
    cores: tuple[int, ...]
    topologies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tpu:
    """id: XManager's name. counted_in: what a bare count means. `tpu_v3=8` is a v3-8, which has 8 cores on 4 chips;
    from v4 on a count is chips. documented: the topologies of GKE's table, from small to large; enumerated: further
    ones by its rule, which GKE may refuse. policy: how the nodes of a multi-host slice are kept together."""

    id: str
    aliases: tuple[str, ...]
    cores_per_chip: int
    counted_in: Literal["chips", "cores"]
    documented: tuple[str, ...]
    enumerated: tuple[str, ...]
    max_chips: int | None
    policy: PolicyKind | None
    vertex: VertexTpu
    note: str
    source: tuple[str, ...]
    uncertain: tuple[str, ...]

    @property
    def topologies(self) -> tuple[str, ...]:
        return self.documented + self.enumerated


@dataclass(frozen=True, slots=True, kw_only=True)
class TpuSlice:
    """A topology on machines: `hosts` machines of `chips_per_host` chips."""

    topology: str
    machine: MachineType
    hosts: int
    chips_per_host: int

    @property
    def chips(self) -> int:
        return self.hosts * self.chips_per_host

    @property
    def multi_host(self) -> bool:
        return self.hosts > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPod:
    """A DaemonSet of GKE's own and what it requests on every node of a kind."""

    name: str
    nodes: NodeKind
    cpu_millis: int
    memory_mib: int
    source: tuple[str, ...]
    uncertain: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachCounts:
    """Vertex: how many GPUs of each model an N1 machine takes. A row with `uncertain` is never chosen."""

    machine: str
    counts: Mapping[str, tuple[int, ...]]
    uncertain: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexTable:
    """accelerator_types: every `AcceleratorType` of the API, those of no row of ours included."""

    cpu_machines: tuple[str, ...]
    attach_counts: tuple[AttachCounts, ...]
    strategies: Mapping[Provisioning, str]
    accelerator_types: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """zone_families: zones of which every machine family is known. zone_accelerators: zones in which a TPU generation
    is known to exist; there may be more. refused: accelerators that have a name but cannot be had, with
    the reason; not_offered: machine types that are never chosen, with the reason."""

    sources: Mapping[str, str]
    machines: Mapping[str, MachineType]
    gpus: Mapping[str, Gpu]
    tpus: Mapping[str, Tpu]
    names: Mapping[str, str] = field(repr=False)
    refused: Mapping[str, str]
    not_offered: Mapping[str, str]
    system_pods: tuple[SystemPod, ...]
    zone_families: Mapping[str, tuple[str, ...]]
    zone_accelerators: Mapping[str, tuple[str, ...]]
    vertex: VertexTable
