"""Jobs on GKE: from what they require to the cluster's node pools, and these as pulumi_gcp's arguments. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from xmgen import names
from xmgen.catalog.placement import Placement
from xmgen.catalog.pools import Demand, NodePool, plan_pools
from xmgen.catalog.selection import select, system_machine
from xmgen.errors import Problem
from xmgen.experiment import Experiment, Job, Kubernetes
from xmgen.plan import Cluster, Manifest, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """places: by position of the unit and name of the job."""

    cluster: Cluster
    places: Mapping[tuple[int, str], Placement]
    notes: tuple[str, ...]


def plan(experiment: Experiment, where: Mapping[tuple[int, str], str]) -> ClusterPlan | list[Problem]:
    """The cluster for the experiment's Kubernetes jobs, or everything that no machine satisfies.

    where: how an error names a job, by position of the unit and name of the job.
    """
    jobs = {
        (position, job.name): job
        for position, unit in enumerate(experiment.units)
        for job in unit.jobs
        if isinstance(job.executor, Kubernetes)
    }
    chosen = _Selection()
    placements = {key: chosen.placement(job, where[key]) for key, job in jobs.items()}
    problems = [placement for placement in placements.values() if isinstance(placement, Problem)]
    if problems:
        return problems
    found = {key: placement for key, placement in placements.items() if isinstance(placement, Placement)}
    locations = sorted({placement.zone or placement.region or "" for placement in found.values()} - {""})
    if len(locations) > 1:
        return [
            Problem(
                f"jobs ask for {', '.join(locations)}, but a stack has one cluster",
                hint="compile the jobs of each location into a stack of their own",
            )
        ]
    location = locations[0] if locations else None
    system = system_machine(location)
    if isinstance(system, Problem):
        return [system]
    distinct = {id(placement): placement for placement in found.values()}
    widths = _widths(experiment, found)
    pools = plan_pools([Demand(placement=placement, width=widths[key]) for key, placement in distinct.items()]).pools
    return ClusterPlan(
        cluster=Cluster(location=location, system_machine_type=system.name, pools=pools),
        places=found,
        notes=tuple(dict.fromkeys(f"{note}." for placement in distinct.values() for note in placement.notes)),
    )


class _Selection:
    """One placement per distinct set of requirements, the same object for equal ones."""

    def __init__(self) -> None:
        self._by_executor: dict[int, tuple[object, Placement]] = {}
        self._by_content: dict[str, Placement] = {}

    def placement(self, job: Job, where: str) -> Placement | Problem:
        known = self._by_executor.get(id(job.executor))
        if known is not None:
            return known[1]
        content = repr(job.executor.requirements)
        placement = self._by_content.get(content) or select(job.executor.requirements, where=where)
        if isinstance(placement, Problem):
            return placement
        self._by_content[content] = placement
        # The executor is kept beside it: an id is only unique while its object lives.
        self._by_executor[id(job.executor)] = (job.executor, placement)
        return placement


def _widths(experiment: Experiment, placements: Mapping[tuple[int, str], Placement]) -> dict[int, int]:
    """How many jobs of each placement can run at the same time: those of one depth of the graph, at the most."""
    depths: list[int] = []
    for unit in experiment.units:
        depths.append(1 + max((depths[predecessor] for predecessor in unit.depends_on), default=0))
    counts = Counter((id(placement), depths[position]) for (position, _), placement in placements.items())
    result: dict[int, int] = {}
    for (placement, _), count in counts.items():
        result[placement] = max(count, result.get(placement, 0))
    return result


def pool_arguments(pool: NodePool) -> dict[str, object]:
    """What the program says of a pool."""
    return {
        "name": pool.name,
        "variable": names.identifier(pool.name),
        "zones": list(pool.zones),
        "autoscaling": autoscaling(pool),
        "placement_policy": placement_policy(pool),
        "workload_policy": workload_policy(pool),
        # Machines that come for a limited time are not repaired but given back.
        "management": {"auto_repair": False, "auto_upgrade": True} if pool.provisioning == "flex-start" else None,
        "settings": node_settings(pool),
        # The drivers of GPUs are not signed.
        "secure_boot": pool.gpu is None,
    }


def autoscaling(pool: NodePool) -> Manifest:
    """From zero to what the experiment can use at once. A slice of several TPU hosts comes whole: GKE reads the limit
    of one zone for it and takes the total for zero."""
    if pool.tpu is not None and pool.tpu.multi_host:
        return {"min_node_count": 0, "max_node_count": pool.max_nodes, "location_policy": pool.location_policy}
    return {
        "total_min_node_count": pool.min_nodes,
        "total_max_node_count": pool.max_nodes,
        "location_policy": pool.location_policy,
    }


def node_settings(pool: NodePool) -> Manifest:
    """What the nodes of this pool have and others have not; the program adds what all have."""
    settings: Manifest = {
        "machine_type": pool.machine_type,
        "disk_type": pool.boot_disk,
        "disk_size_gb": pool.boot_disk_gb,
        "labels": dict[str, Value](pool.declared_labels),
    }
    if pool.gpu is not None:
        settings["guest_accelerators"] = [
            {
                "type": pool.gpu.label,
                "count": pool.gpu.count,
                # Always explicit: left out it drifts, and every change of it replaces the pool.
                "gpu_driver_installation_config": {"gpu_driver_version": pool.gpu.driver},
            }
        ]
    if pool.local_ssds:
        settings["ephemeral_storage_local_ssd_config"] = {"local_ssd_count": pool.local_ssds}
    match pool.provisioning:
        case "spot":
            settings["spot"] = True
        case "flex-start":
            settings["flex_start"] = True
        case "reservation":
            settings["reservation_affinity"] = {
                "consume_reservation_type": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": [pool.reservation or ""],
            }
        case "on-demand":
            pass
    if pool.declared_taints:
        settings["taints"] = [
            {"key": taint.key, "value": taint.value, "effect": "NO_SCHEDULE"} for taint in pool.declared_taints
        ]
    return settings


def placement_policy(pool: NodePool) -> dict[str, Value] | None:
    """Of a slice of several TPU hosts; that of newer generations is a resource of its own, see `workload_policy`."""
    if pool.policy is None or pool.policy.kind != "compact":
        return None
    policy: dict[str, Value] = {"type": "COMPACT"}
    if pool.tpu is not None and pool.tpu.multi_host:
        policy["tpu_topology"] = pool.policy.topology
    return policy


def workload_policy(pool: NodePool) -> str | None:
    """The topology of the resource policy that the pool names; None when it needs none."""
    return pool.policy.topology if pool.policy is not None and pool.policy.kind == "workload" else None
