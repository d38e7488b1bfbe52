"""What a choice of machines consists of: the records that `selection` and `pools` hand to the planner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xmgen import names
from xmgen.catalog.allocatable import NO_RESOURCES, Resources
from xmgen.catalog.model import Architecture, PlacementPolicy, Provisioning

POOL_LABEL = "cloud.google.com/gke-nodepool"
GPU_LABEL = "cloud.google.com/gke-accelerator"
TPU_LABEL = "cloud.google.com/gke-tpu-accelerator"
TPU_TOPOLOGY_LABEL = "cloud.google.com/gke-tpu-topology"
SPOT_LABEL = "cloud.google.com/gke-spot"
FLEX_START_LABEL = "cloud.google.com/gke-flex-start"
ARCHITECTURE_LABEL = "kubernetes.io/arch"
MACHINE_LABEL = "node.kubernetes.io/instance-type"
NODES_LABEL = "xmgen/nodes"
"""A label of ours on every pool: the `node_class` of the jobs that the pool is for."""
JOBS_TAINT = "xmgen/jobs"
"""Keeps the cluster's own pods off the machines of jobs, which could else never scale down to none."""
GPU_RESOURCE = "nvidia.com/gpu"
TPU_RESOURCE = "google.com/tpu"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Taint:
    """A taint of effect NoSchedule. by_gke: GKE adds it to the nodes by itself, so a pool must not declare it."""

    key: str
    value: str
    by_gke: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """Tolerates the taint of that key and value; any value when empty."""

    key: str
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuNode:
    """label: type of the guest accelerator. driver: value of `gpu_driver_version`, always explicit."""

    label: str
    count: int
    driver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TpuNode:
    """hosts: machines of one slice. With several, the slice is one pool, created and deleted as a whole, and the pool
    carries the topology; a single host's pool must not."""

    label: str
    topology: str
    chips_per_host: int
    hosts: int

    @property
    def multi_host(self) -> bool:
        return self.hosts > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where one job runs on GKE.

    accelerator:   the catalog's id, None for CPUs only.
    machine_type:  of every node. A pool may have a larger one, see `pools`.
    pods:          pods of the job in all: replicas or hosts, times slices.
    slices:        independent slices (of TPUs: each a set of nodes that nothing else shares while it is in use).
    requests:      of one pod. CPU and memory are always set (a pod without requests is evicted first), disk_bytes is 0
                   when the job did not ask for any. sidecar: what of them is for containers beside the job's own.
    boot_disk_gb:  of every node; ephemeral storage is on the Local SSDs where the machine has some.
    zone, region:  where the job must run; None when it does not matter. A zone implies its region.
    node_selector: what tells such nodes from others of a cluster whose pools are not ours.
    taints:        what the nodes carry; tolerations: what a pod needs to run there.
    notes:         what the user should know, in full sentences without a full stop.
    """

    accelerator: str | None
    machine_type: str
    architecture: Architecture
    provisioning: Provisioning
    reservation: str | None
    gpu: GpuNode | None
    tpu: TpuNode | None
    policy: PlacementPolicy | None
    pods: int
    slices: int
    requests: Resources
    boot_disk: str
    boot_disk_gb: int
    local_ssds: int
    zone: str | None
    region: str | None
    node_selector: Mapping[str, str]
    taints: tuple[Taint, ...]
    tolerations: tuple[Toleration, ...]
    notes: tuple[str, ...]
    sidecar: Resources = NO_RESOURCES

    @property
    def kind(self) -> str:
        """What two jobs must have in common to run on the same nodes, whatever the size of these. Names are made from
        it: values in a fixed order, so that a change to a record of ours renames nobody's pools."""
        gpu, tpu, policy = self.gpu, self.tpu, self.policy
        parts = (
            self.architecture,
            self.provisioning,
            self.reservation,
            self.zone,
            self.region,
            *((gpu.label, gpu.count, gpu.driver) if gpu else ()),
            *((tpu.label, tpu.topology, tpu.chips_per_host, tpu.hosts) if tpu else ()),
            *((policy.kind, policy.topology) if policy else ()),
        )
        return "|".join("" if part is None else str(part) for part in parts)

    @property
    def node_class(self) -> str:
        """Value of `xmgen/nodes` on the nodes for such jobs, and in their node selectors. It says nothing about the
        size of machines: that a pool's machine grows with another job changes no manifest."""
        if self.tpu:
            what = f"{self.accelerator}-{self.tpu.topology}"
        else:
            what = f"{self.accelerator}-{self.gpu.count}" if self.gpu else "cpu"
        way = "" if self.provisioning == "on-demand" else f"-{self.provisioning}"
        return f"{names.slug(what + way)}-{names.short_hash(self.kind)[:6]}"

    @property
    def accelerator_resource(self) -> tuple[str, int] | None:
        """Extended resource that each pod requests, and how much of it."""
        if self.gpu:
            return GPU_RESOURCE, self.gpu.count
        if self.tpu:
            return TPU_RESOURCE, self.tpu.chips_per_host
        return None
