"""The smallest set of node pools for the placements of an experiment. Pure.

Jobs share a pool when they need the same kind of nodes (architecture, accelerators, provisioning, place) and fit the
pool's machine; a job never gets more than four times the vCPUs or the disk of its own just to save a pool. A slice of
several TPU hosts is a pool of its own, created and deleted as a whole. Every pool scales from zero to what the
experiment can use at once. Names depend on what a pool is and on nothing else, so reordering, adding or removing jobs
renames no pool that stays.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from xmgen import catalog, names
from xmgen.catalog.model import Architecture, PlacementPolicy, Provisioning
from xmgen.catalog.placement import MACHINE_LABEL, NODES_LABEL, POOL_LABEL, GpuNode, Placement, Taint, TpuNode
from xmgen.catalog.selection import available_resources

SHARE_FACTOR = 4
SLICE_POOLS = 100
"""Of one kind, unless a single job needs more. A cluster of more than 200 node pools scales slowly (GKE documentation,
"Configure node auto-provisioning", limitations), and each takes its time to create."""
_HASH_LENGTH = 6
_BASE_LENGTH = 26
"""Leaves room for the hash and the number of a slice: 26 + 7 + 6 = 39. GKE refuses pool names of more than 40
characters; whether 40 is accepted is not documented."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """width: how many jobs of this placement can run at the same time."""

    placement: Placement
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool:
    """One GKE node pool.

    zones:           node locations; empty: those of the cluster. region: what the jobs asked for, None when nothing.
    min_nodes:       always 0. max_nodes: nodes in all; for a slice of TPU hosts the autoscaler adds all or none.
    location_policy: of the autoscaler: ANY where capacity is scarce, BALANCED otherwise.
    labels, taints:  of the nodes, as far as jobs select by them. `declared_labels` and `declared_taints` are the pool's
                     to set, GKE adds the others.
    policy:          how the nodes are kept together; None: however GKE likes.
    """

    name: str
    machine_type: str
    architecture: Architecture
    provisioning: Provisioning
    reservation: str | None
    gpu: GpuNode | None
    tpu: TpuNode | None
    policy: PlacementPolicy | None
    boot_disk: str
    boot_disk_gb: int
    local_ssds: int
    zones: tuple[str, ...]
    region: str | None
    min_nodes: int
    max_nodes: int
    location_policy: Literal["ANY", "BALANCED"]
    taints: tuple[Taint, ...]
    labels: Mapping[str, str]

    @property
    def declared_labels(self) -> dict[str, str]:
        return {NODES_LABEL: self.labels[NODES_LABEL]}

    @property
    def declared_taints(self) -> tuple[Taint, ...]:
        return tuple(taint for taint in self.taints if not taint.by_gke)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """pools: sorted by name, those of slices by number. notes: what the user should know, in sentences."""

    pools: tuple[NodePool, ...]
    notes: tuple[str, ...] = ()


def plan_pools(demands: Sequence[Demand]) -> PoolPlan:
    kinds: defaultdict[str, list[Demand]] = defaultdict(list)
    for demand in demands:
        if demand.width < 1:
            raise ValueError("a demand has a width of at least 1")
        kinds[demand.placement.kind].append(demand)
    groups: list[list[NodePool]] = []
    notes: list[str] = []
    for of_kind in kinds.values():
        for sharing in _shared(of_kind):
            groups.append(built := _build(sharing))
            notes += _fewer_slices(sharing, len(built))
    groups.sort(key=lambda built: built[0].name)
    return PoolPlan(pools=tuple(pool for built in groups for pool in built), notes=tuple(notes))


def _shared(demands: Sequence[Demand]) -> list[list[Demand]]:
    """Groups of demands that share a pool. The first member of a group has its machine: the largest comes first."""

    def order(demand: Demand) -> tuple[object, ...]:
        placement = demand.placement
        needs = placement.requests
        size = catalog.catalog().machines[placement.machine_type].size
        return size, placement.boot_disk_gb, needs.cpu_millis, needs.memory_bytes, needs.disk_bytes, placement.pods

    groups: list[list[Demand]] = []
    for demand in sorted(demands, key=order, reverse=True):
        fitting = [group for group in groups if _fits(demand.placement, group[0].placement)]
        if fitting:
            fitting[-1].append(demand)
        else:
            groups.append([demand])
    return groups


def _fits(placement: Placement, pool: Placement) -> bool:
    machines = catalog.catalog().machines
    own, other = machines[placement.machine_type], machines[pool.machine_type]
    small, disk_gb = sorted((placement.boot_disk_gb, pool.boot_disk_gb))
    if other.vcpus > SHARE_FACTOR * own.vcpus or disk_gb > SHARE_FACTOR * small:
        return False
    return available_resources(other, disk_gb).covers(placement.requests)


def _build(demands: Sequence[Demand]) -> list[NodePool]:
    """The pools of demands that share: one, or one for each slice of several hosts."""
    first = demands[0].placement
    disk_gb = max(demand.placement.boot_disk_gb for demand in demands)
    base = _name(first, disk_gb)
    scarce = first.provisioning != "on-demand" or first.tpu is not None or first.gpu is not None
    pool = NodePool(
        name=base,
        machine_type=first.machine_type,
        architecture=first.architecture,
        provisioning=first.provisioning,
        reservation=first.reservation,
        gpu=first.gpu,
        tpu=first.tpu,
        policy=first.policy,
        boot_disk=first.boot_disk,
        boot_disk_gb=disk_gb,
        local_ssds=first.local_ssds,
        zones=(first.zone,) if first.zone else (),
        region=first.region,
        min_nodes=0,
        max_nodes=sum(_nodes(demand, first, disk_gb) for demand in demands),
        location_policy="ANY" if scarce else "BALANCED",
        taints=first.taints,
        labels=_labels(first, base),
    )
    if not (first.tpu and first.tpu.multi_host):
        return [pool]
    most = max(SLICE_POOLS, *(demand.placement.slices for demand in demands))
    numbered = [f"{base}-{number}" for number in range(1, min(_slices(demands), most) + 1)]
    return [replace(pool, name=name, max_nodes=first.tpu.hosts, labels=_labels(first, name)) for name in numbered]


def _slices(demands: Sequence[Demand]) -> int:
    """How many could be in use at once."""
    return sum(demand.width * demand.placement.slices for demand in demands)


def _fewer_slices(demands: Sequence[Demand], pools: int) -> list[str]:
    placement, slices = demands[0].placement, _slices(demands)
    if not (placement.tpu and placement.tpu.multi_host) or slices <= pools:
        return []
    what = f"{placement.accelerator} {placement.tpu.topology}"
    return [
        f"{slices} slices of {what} could be in use at once. "
        f"Each is a node pool: there are {pools}, and jobs wait for one."
    ]


def _nodes(demand: Demand, pool: Placement, disk_gb: int) -> int:
    """Nodes that the jobs of a demand can fill at once. An accelerator's pod has a node to itself."""
    pods = demand.width * demand.placement.pods
    if demand.placement.accelerator:
        return pods
    room = available_resources(catalog.catalog().machines[pool.machine_type], disk_gb)
    return math.ceil(pods / room.how_often(demand.placement.requests))


def _labels(placement: Placement, pool: str) -> dict[str, str]:
    own = {MACHINE_LABEL: placement.machine_type, NODES_LABEL: placement.node_class, POOL_LABEL: pool}
    return dict(sorted({**placement.node_selector, **own}.items()))


def _name(placement: Placement, disk_gb: int) -> str:
    """Readable start, and a hash of all that cannot change without a new pool."""
    if placement.tpu:
        parts = [placement.accelerator or "", placement.tpu.topology]
    elif placement.gpu:
        parts = [f"{placement.accelerator}-{placement.gpu.count}", placement.machine_type]
    else:
        parts = ["cpu", placement.machine_type]
    if placement.provisioning != "on-demand":
        parts.insert(1, placement.provisioning)
    base = names.slug("-".join(parts))[:_BASE_LENGTH].rstrip("-")
    identity = f"{placement.kind}|{placement.machine_type}|{placement.boot_disk}|{disk_gb}"
    return f"{base}-{names.short_hash(identity)[:_HASH_LENGTH]}"
