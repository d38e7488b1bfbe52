"""Jobs on GKE: from what they require to the cluster's node pools, and these as a NodePool's properties. Pure."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xmgen import catalog, names, rules
from xmgen.catalog.placement import NODES_LABEL, Placement
from xmgen.catalog.pools import Demand, NodePool, plan_pools
from xmgen.catalog.selection import available_resources, select, system_machine
from xmgen.errors import Problem
from xmgen.executors import limits
from xmgen.executors.gke import locations
from xmgen.executors.gke.jobs import SIDECAR, sidecars
from xmgen.experiment import ClusterChoice, Experiment, Kubernetes
from xmgen.plan import places
from xmgen.plan.model import Cluster, Plan
from xmgen.plan.places import Key
from xmgen.plan.resources import Input


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """places: where each job runs. nodes: the label `xmgen/nodes` of its nodes."""

    cluster: Cluster
    places: Mapping[Key, Placement]
    nodes: Mapping[Key, str]
    notes: tuple[str, ...]


def plan(experiment: Experiment, shared: Plan | None = None) -> ClusterPlan | list[Problem]:
    """The cluster for the experiment's Kubernetes jobs, or everything that no machine satisfies.

    shared: the plan of the stack whose cluster the experiment uses.
    """
    where = places.of_jobs(experiment)
    jobs = {
        (position, job.name): job
        for position, unit in enumerate(experiment.units)
        for job in unit.jobs
        if isinstance(job.executor, Kubernetes)
    }
    demands, problems = _pool_requests(experiment)
    placements, misfits = _placements(experiment)
    problems += misfits
    if problems:
        return problems
    found = {key: placements[id(job.executor)] for key, job in jobs.items()}
    distinct = {number: placement for number, (_, placement) in _firsts(found).items()}
    asked = [(f"pool {number}", demand.placement) for number, demand in enumerate(demands, start=1)]
    asked += [(where[key], placement) for key, placement in _firsts(found).values()]
    widths = _widths(experiment, found)
    demands += [Demand(placement=placement, width=widths[key]) for key, placement in distinct.items()]
    cluster = _cluster(experiment.cluster, asked, shared)
    if isinstance(cluster, Problem):
        return [cluster]
    offered = shared.cluster.pools if shared and shared.cluster else ()
    lacking = [demand for demand in demands if not _offers(offered, demand.placement)]
    planned = plan_pools(lacking)
    own = planned.pools
    suffix = "" if cluster.kind == "own" else names.short_hash(experiment.stack)[:6]
    nodes = {key: placement.node_class for key, placement in distinct.items()}
    if suffix:
        # Pools that others may remove, or that have another's name, are none to rely on.
        nodes |= {id(demand.placement): f"{demand.placement.node_class}-{suffix}" for demand in lacking}
        own = tuple(_apart(pool, suffix) for pool in own)
    return ClusterPlan(
        cluster=dataclasses.replace(cluster, pools=own),
        places=found,
        nodes={key: nodes[id(placement)] for key, placement in found.items()},
        notes=(
            *dict.fromkeys(f"{note}." for demand in demands for note in demand.placement.notes),
            *planned.notes,
            *(locations.note(cluster.location, asked) if cluster.kind == "own" else ()),
        ),
    )


def _firsts(found: Mapping[Key, Placement]) -> dict[int, tuple[Key, Placement]]:
    """Each placement, by its id, with the first of its jobs."""
    result: dict[int, tuple[Key, Placement]] = {}
    for key, placement in found.items():
        result.setdefault(id(placement), (key, placement))
    return result


def _cluster(choice: ClusterChoice | None, asked: Sequence[locations.Asked], shared: Plan | None) -> Cluster | Problem:
    """Without its pools, and whether all jobs can run where it is."""
    if choice is None or choice.kind == "own":
        location = locations.of_own(choice.location if choice else None, asked)
        if isinstance(location, Problem):
            return location
        system = system_machine(location)
        if isinstance(system, Problem):
            return system
        return Cluster(location=location, system_machine_type=system.name, pools=())
    there = shared.cluster.location if shared and shared.cluster else choice.location
    there = locations.of_shared(choice.name, there, asked)
    if isinstance(there, Problem):
        return there
    return Cluster(kind=choice.kind, name=choice.name, location=there, system_machine_type=None, pools=())


def _pool_requests(experiment: Experiment) -> tuple[list[Demand], list[Problem]]:
    """The machines that a stack without jobs offers to others."""
    demands: list[Demand] = []
    problems: list[Problem] = []
    for number, request in enumerate(experiment.pools or (), start=1):
        where = f"pool {number}"
        found = select(request.requirements, reservation=request.reservation, sidecar=SIDECAR, where=where)
        if wrong := limits.POOL_JOBS.problem("jobs", request.jobs):
            problems.append(dataclasses.replace(wrong, where=where))
        if request.reservation is not None and (rule := rules.not_a_reservation(request.reservation)):
            problems.append(Problem(f"{request.reservation!r} is no reservation", where, rule))
        if isinstance(found, Problem):
            problems.append(found)
        else:
            demands.append(Demand(placement=found, width=request.jobs))
    return demands, problems


def _offers(pools: Iterable[NodePool], placement: Placement) -> bool:
    """Whether jobs of this placement find their machines in these pools."""
    machines = catalog.catalog().machines
    fitting = [
        pool
        for pool in pools
        if pool.labels[NODES_LABEL] == placement.node_class
        and available_resources(machines[pool.machine_type], pool.boot_disk_gb).covers(placement.requests)
    ]
    needed = placement.slices if placement.tpu and placement.tpu.multi_host else 1
    return len(fitting) >= needed


def _apart(pool: NodePool, suffix: str) -> NodePool:
    """The pool under a name and a label that no other stack's pool on the same cluster has."""
    name = f"{pool.name[:26].rstrip('-')}-{names.short_hash(f'{pool.name}|{suffix}')}"
    return dataclasses.replace(
        pool, name=name, labels={**pool.labels, NODES_LABEL: f"{pool.labels[NODES_LABEL]}-{suffix}"}
    )


def _placements(experiment: Experiment) -> tuple[dict[int, Placement], list[Problem]]:
    """One placement per distinct set of requirements, by the ids of the executors: the same object for equal ones."""
    by_content: dict[str, Placement] = {}
    result: dict[int, Placement] = {}
    problems: list[Problem] = []
    for where, executor in places.executors(experiment, Kubernetes):
        sidecar = sidecars(executor)
        content = repr((executor.requirements, executor.reservation, sidecar))
        placement = by_content.get(content) or select(
            executor.requirements, reservation=executor.reservation, sidecar=sidecar, where=where
        )
        if isinstance(placement, Problem):
            problems.append(placement)
        else:
            result[id(executor)] = by_content[content] = placement
    return result, problems


def _widths(experiment: Experiment, placements: Mapping[Key, Placement]) -> dict[int, int]:
    """How many jobs of each placement can run at the same time: those of one depth of the graph, at the most."""
    depths: list[int] = []
    for unit in experiment.units:
        depths.append(1 + max((depths[predecessor] for predecessor in unit.depends_on), default=0))
    counts = Counter((id(placement), depths[position]) for (position, _), placement in placements.items())
    result: dict[int, int] = {}
    for (placement, _), count in counts.items():
        result[placement] = max(count, result.get(placement, 0))
    return result


def autoscaling(pool: NodePool) -> dict[str, Input]:
    """From zero to what the experiment can use at once. A slice of several TPU hosts comes whole: GKE reads the limit
    of one zone for it and takes the total for zero."""
    if pool.tpu is not None and pool.tpu.multi_host:
        return {"minNodeCount": 0, "maxNodeCount": pool.max_nodes, "locationPolicy": pool.location_policy}
    return {
        "totalMinNodeCount": pool.min_nodes,
        "totalMaxNodeCount": pool.max_nodes,
        "locationPolicy": pool.location_policy,
    }


def node_settings(pool: NodePool) -> dict[str, Input]:
    """What the nodes of this pool have and others have not; the program adds what all have."""
    settings: dict[str, Input] = {
        "machineType": pool.machine_type,
        "diskType": pool.boot_disk,
        "diskSizeGb": pool.boot_disk_gb,
        "labels": dict[str, Input](pool.declared_labels),
    }
    if pool.gpu is not None:
        settings["guestAccelerators"] = [
            {
                "type": pool.gpu.label,
                "count": pool.gpu.count,
                # Always explicit: left out it drifts, and every change of it replaces the pool.
                "gpuDriverInstallationConfig": {"gpuDriverVersion": pool.gpu.driver},
            }
        ]
    if pool.local_ssds:
        settings["ephemeralStorageLocalSsdConfig"] = {"localSsdCount": pool.local_ssds}
    match pool.provisioning:
        case "spot":
            settings["spot"] = True
        case "flex-start":
            # Google's own sample has both (terraform-docs-samples, gke/standard/zonal/dws); Cluster Toolkit's
            # gke-node-pool refuses flex-start with anything else.
            settings["flexStart"] = True
            settings["reservationAffinity"] = {"consumeReservationType": "NO_RESERVATION"}
        case "reservation":
            settings["reservationAffinity"] = {
                "consumeReservationType": "SPECIFIC_RESERVATION",
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


def placement_policy(pool: NodePool) -> dict[str, Input] | None:
    """Of a slice of several TPU hosts; that of newer generations is a resource of its own, see `workload_policy`."""
    if pool.policy is None or pool.policy.kind != "compact":
        return None
    policy: dict[str, Input] = {"type": "COMPACT"}
    if pool.tpu is not None and pool.tpu.multi_host:
        policy["tpuTopology"] = pool.policy.topology
    return policy


def workload_policy(pool: NodePool) -> str | None:
    """The topology of the resource policy that the pool names; None when it needs none."""
    return pool.policy.topology if pool.policy is not None and pool.policy.kind == "workload" else None
