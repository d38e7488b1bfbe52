"""What Google refuses, and where it says so.

Each rule looks at the inputs of one type of resource, as they would be sent, and yields what Google would answer. Only
what is sure is refused: a rehearsal that stops a stack which would run is worse than one that lets a mistake pass.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xmgen import catalog, locations
from xmgen.rehearsal.cloud import kinds, machines
from xmgen.rehearsal.cloud.errors import Refusal
from xmgen.rehearsal.cloud.store import Properties, Store, part, parts, texts
from xmgen.resource_types import (
    ACCOUNT,
    ACCOUNT_MEMBER,
    BUCKET,
    BUCKET_MEMBER,
    CLUSTER,
    NODE_POOL,
    SUBNETWORK,
)
from xmgen.resource_types.table import lookup

Check = Callable[[Properties, Store], Iterator[Refusal]]


@dataclass(frozen=True, slots=True)
class Rule:
    type: str
    source: str
    check: Check


RULES: list[Rule] = []


def _rule(type: str, source: str) -> Callable[[Check], Check]:
    def add(check: Check) -> Check:
        RULES.append(Rule(type, source, check))
        return check

    return add


def refusal(type: str, inputs: Properties, store: Store) -> Refusal | None:
    """The first reason why these inputs are refused; None when they are accepted."""
    checks = (rule.check(inputs, store) for rule in RULES if rule.type == type)
    return next(itertools.chain(_name(type, inputs), *checks), None)


def _bad(message: str) -> Refusal:
    return Refusal(400, message)


# Names


def _name(type: str, inputs: Properties) -> Iterator[Refusal]:
    name = lookup(type).name
    given = str(inputs[name.input]) if name is not None and name.input in inputs else None
    if name is not None and given is not None and not name.pattern.fullmatch(given):
        yield _bad(f"Invalid value for field '{name.input}': {given!r}. It must be {name.rule}")


@_rule(ACCOUNT, "IAM REST API, projects.serviceAccounts: displayName")
def _account_title(inputs: Properties, store: Store) -> Iterator[Refusal]:
    if len(str(inputs.get("displayName") or "")) > 100:
        yield _bad("The display name of a service account is at most 100 characters")


def _labels(inputs: Properties, key: str) -> Iterator[Refusal]:
    labels: Properties = inputs.get(key) or {}
    for name, value in labels.items():
        # Letters of every language will do.
        valid = re.fullmatch(r"[^\W\d_][-\w]{0,62}", name) and re.fullmatch(r"[-\w]{0,63}", str(value))
        if not valid or f"{name}{value}" != f"{name}{value}".lower():
            yield _bad(f"Invalid resource label {name}={value}: lowercase letters, numbers, - and _, at most 63")


@_rule(CLUSTER, "Resource Manager documentation, Labels overview: requirements for labels")
def _cluster_labels(inputs: Properties, store: Store) -> Iterator[Refusal]:
    yield from _labels(inputs, "resourceLabels")


@_rule(BUCKET, "Resource Manager documentation, Labels overview: requirements for labels")
def _bucket_labels(inputs: Properties, store: Store) -> Iterator[Refusal]:
    yield from _labels(inputs, "labels")


# What has to be there


@_rule(NODE_POOL, "GKE REST API: a pool belongs to a cluster")
def _pool_cluster(inputs: Properties, store: Store) -> Iterator[Refusal]:
    if store.get(kinds.cluster_of(inputs)) is None:
        yield Refusal(404, f"Not found: {kinds.cluster_of(inputs)}")


@_rule(SUBNETWORK, "Compute Engine REST API: a subnetwork belongs to a network")
def _subnetwork_network(inputs: Properties, store: Store) -> Iterator[Refusal]:
    for parent in kinds.kind(SUBNETWORK).parents(inputs):
        if store.get(parent) is None:
            yield Refusal(404, f"The resource '{parent}' was not found")


@_rule(NODE_POOL, "GKE documentation, Use least privilege IAM service accounts: the account must exist")
def _pool_account(inputs: Properties, store: Store) -> Iterator[Refusal]:
    account = str(part(inputs, "nodeConfig").get("serviceAccount") or "")
    # Others than the stack's own may exist.
    mine = [item.outputs["email"] for item in store.of(ACCOUNT)]
    if account.endswith(f"@{inputs['project']}.iam.gserviceaccount.com") and mine and account not in mine:
        yield _bad(f"Service account {account!r} does not exist")


@_rule(BUCKET_MEMBER, "Cloud Storage REST API, buckets.setIamPolicy")
def _member_bucket(inputs: Properties, store: Store) -> Iterator[Refusal]:
    name = str(inputs["bucket"])
    # Others than the stack's own may exist; its own differ in what Pulumi appends to their names.
    if store.get(name) is None and any(item.id[:-8] == name[:-8] for item in store.of(BUCKET)):
        yield Refusal(404, "The specified bucket does not exist")


@_rule(ACCOUNT_MEMBER, "IAM REST API, projects.serviceAccounts.setIamPolicy: the account must exist")
def _member_account(inputs: Properties, store: Store) -> Iterator[Refusal]:
    if store.get(str(inputs["serviceAccountId"])) is None:
        yield Refusal(404, f"Unknown service account: {inputs['serviceAccountId']}")


@_rule(ACCOUNT_MEMBER, "GKE documentation, Workload Identity Federation: the pool comes with the first cluster")
def _identity_pool(inputs: Properties, store: Store) -> Iterator[Refusal]:
    found = re.fullmatch(r"serviceAccount:(.+\.svc\.id\.goog)\[.+\]", str(inputs["member"]))
    pools = {part(item.inputs, "workloadIdentityConfig").get("workloadPool") for item in store.of(CLUSTER)}
    # What somebody else's cluster has nobody knows; a program that looks it up is told that it has one.
    pools |= {f"{item.inputs['project']}.svc.id.goog" for item in store.of(CLUSTER) if item.assumed}
    if found and found[1] not in pools:
        yield _bad(f"Identity Pool does not exist ({found[1]}). Please check that you specified a valid resource name")


# Machines


def _pool_machine(inputs: Properties) -> str:
    return str(part(inputs, "nodeConfig").get("machineType") or "e2-medium")


def _zones(inputs: Properties, store: Store) -> list[str]:
    cluster = store.get(kinds.cluster_of(inputs))
    place = str(cluster.inputs["location"]) if cluster else ""
    return texts(inputs, "nodeLocations") or ([place] if locations.is_zone(place) else [])


@_rule(NODE_POOL, "Compute Engine documentation, Machine families; zones of which every family is known (catalog)")
def _machine_type(inputs: Properties, store: Store) -> Iterator[Refusal]:
    name, known = _pool_machine(inputs), catalog.catalog()
    for zone in _zones(inputs, store) or ["the cluster's zones"]:
        families = known.zone_families.get(zone)
        if not machines.exists(name) or (families is not None and machines.family(name) not in families):
            yield _bad(f'Machine type with name "{name}" does not exist in zone "{zone}"')


@_rule(NODE_POOL, "Compute Engine documentation, GPU machine types; GKE, Run GPUs in Standard node pools")
def _accelerators(inputs: Properties, store: Store) -> Iterator[Refusal]:
    name = _pool_machine(inputs)
    own = machines.gpus(name)
    for each in parts(part(inputs, "nodeConfig"), "guestAccelerators"):
        kind, count = str(each["type"]), int(each["count"])
        if own is not None:
            if (kind, count) != own:
                yield _bad(f"Machine type {name} comes with {own[1]} {own[0]}, not with {count} {kind}")
        elif machines.family(name) != "n1" or kind not in machines.N1_GPUS:
            yield _bad(f"Accelerator type {kind} cannot be attached to machine type {name}")
        elif count not in machines.N1_GPUS[kind]:
            counts = ", ".join(map(str, machines.N1_GPUS[kind]))
            yield _bad(f"Accelerator {kind} can be attached {counts} times to a machine, not {count} times")
        else:
            yield from _attached(name, kind, count)


def _attached(name: str, kind: str, count: int) -> Iterator[Refusal]:
    """The limits of vCPUs and memory that come with the number of GPUs."""
    machine = machines.machine(name)
    gpu = next(gpu for gpu in catalog.catalog().gpus.values() if gpu.label == kind)
    limit = gpu.attach_limits.get(count)
    if machine and limit and (machine.vcpus > limit.vcpus or machine.memory_gib > limit.memory_gib):
        yield _bad(
            f"{count} {kind} can be attached to machines of at most {limit.vcpus} vCPUs and {limit.memory_gib:g} GB of "
            f"memory; {name} has {machine.vcpus} and {machine.memory_gib:g}"
        )


@_rule(NODE_POOL, "Compute Engine documentation, consumption options of GPU machine types")
def _provisioning(inputs: Properties, store: Store) -> Iterator[Refusal]:
    config = part(inputs, "nodeConfig")
    machine = machines.machine(_pool_machine(inputs))
    affinity = part(config, "reservationAffinity").get("consumeReservationType")
    way = (
        "spot"
        if config.get("spot")
        else "flex-start"
        if config.get("flexStart")
        else "reservation"
        if affinity == "SPECIFIC_RESERVATION"
        else "on-demand"
    )
    if machine and way not in machine.provisioning:
        yield _bad(f"{machine.name} is not available as {way}, only as {', '.join(machine.provisioning)}")
    if config.get("spot") and config.get("flexStart"):
        yield _bad("Spot and flex-start exclude each other")


@_rule(NODE_POOL, "Compute Engine documentation, Persistent Disk and Hyperdisk: supported machine series")
def _boot_disk(inputs: Properties, store: Store) -> Iterator[Refusal]:
    config = part(inputs, "nodeConfig")
    machine = machines.machine(_pool_machine(inputs))
    disk = config.get("diskType")
    if machine and disk and disk not in machine.boot_disks:
        yield _bad(f"[pd-type] {disk} cannot be used by {machine.name}, which takes {', '.join(machine.boot_disks)}")
    size = config.get("diskSizeGb")
    if size is not None and not 10 <= size <= 65536:
        yield _bad(f"Boot disk size must be between 10 and 65536 GB, got {size}")


@_rule(NODE_POOL, "GKE documentation, Local SSDs: machine types that come with some have a fixed number")
def _local_ssds(inputs: Properties, store: Store) -> Iterator[Refusal]:
    config = part(inputs, "nodeConfig")
    machine = machines.machine(_pool_machine(inputs))
    asked = part(config, "ephemeralStorageLocalSsdConfig").get("localSsdCount", 0)
    if machine and asked and asked != machine.local_ssds:
        yield _bad(f"{machine.name} has {machine.local_ssds} local SSDs, {asked} were requested")


# Sizes and slices


@_rule(NODE_POOL, "GKE REST API, NodePoolAutoscaling: a range of nodes per zone or in all, never both")
def _autoscaling(inputs: Properties, store: Store) -> Iterator[Refusal]:
    scaling = part(inputs, "autoscaling")
    per_zone = scaling.get("maxNodeCount") is not None
    in_all = scaling.get("totalMaxNodeCount") is not None
    if scaling and per_zone == in_all:
        yield _bad("Exactly one of max_node_count and total_max_node_count must be set for autoscaling")
    low = scaling.get("minNodeCount") or scaling.get("totalMinNodeCount") or 0
    high = scaling.get("maxNodeCount") or scaling.get("totalMaxNodeCount") or 0
    if scaling and (high < 1 or low > high):
        yield _bad(f"Invalid autoscaling range {low} to {high}")


@_rule(NODE_POOL, "GKE documentation, Plan TPUs: node pools; autoscaling of slices as reported in ci-infra#545")
def _slices(inputs: Properties, store: Store) -> Iterator[Refusal]:
    chips = machines.chips(_pool_machine(inputs))
    topology = slice_topology(inputs, store)
    if chips is None:
        if part(inputs, "placementPolicy").get("tpuTopology"):
            yield _bad("A TPU topology is only valid for TPU machine types")
        return
    if topology is None:
        return
    size = machines.size_of(topology)
    if size == chips.count:
        yield _bad(f"TPU topology {topology} is one host: a pool of single hosts takes no placement policy")
        return
    name = _pool_machine(inputs)
    if name in machines.SINGLE_HOST_ONLY:
        yield _bad(f"TPU topology {topology} is of several hosts, but {name} only exists as a single host")
    if size % chips.count or not machines.has_slice(name, topology):
        yield _bad(f"Invalid TPU topology {topology} for {name}")
    hosts = size // chips.count
    scaling = part(inputs, "autoscaling")
    if scaling.get("totalMaxNodeCount") is not None:
        yield _bad(f"Multi-host TPU node pools need max_node_count = {hosts}: total_max_node_count is taken for 0")
    count = scaling.get("maxNodeCount", inputs.get("nodeCount", inputs.get("initialNodeCount")))
    if count != hosts:
        yield _bad(f"TPU topology {topology} on {_pool_machine(inputs)} needs {hosts} nodes, got {count}")
    zones = _zones(inputs, store)
    if len(zones) != 1:
        yield _bad("Multi-host TPU node pools must be in a single zone")


def slice_topology(inputs: Properties, store: Store) -> str | None:
    """The topology of a pool that is one slice of several hosts; None for every other."""
    policy = part(inputs, "placementPolicy")
    if policy.get("tpuTopology"):
        return str(policy["tpuTopology"])
    if machines.chips(_pool_machine(inputs)) is None:
        return None
    named = [store.get(each) for each in kinds.kind(NODE_POOL).parents(inputs)[1:]]
    workload = [part(item.inputs, "workloadPolicy").get("acceleratorTopology") for item in named if item]
    return str(workload[0]) if workload and workload[0] else None


@_rule(NODE_POOL, "Compute Engine documentation, Placement policies: supported machine series (dstack#2591 for N1)")
def _placement(inputs: Properties, store: Store) -> Iterator[Refusal]:
    policy = part(inputs, "placementPolicy")
    if policy.get("type") == "COMPACT" and machines.family(_pool_machine(inputs)) in ("n1", "e2"):
        yield _bad(f"Compact placement is not available for {_pool_machine(inputs)}")
    for needed in kinds.kind(NODE_POOL).parents(inputs)[1:]:
        if store.get(needed) is None:
            yield Refusal(404, f"The resource '{needed}' was not found")


@_rule(NODE_POOL, "Kubernetes documentation, Labels, and Taints and Tolerations: syntax")
def _node_labels(inputs: Properties, store: Store) -> Iterator[Refusal]:
    config = part(inputs, "nodeConfig")
    labels = part(config, "labels")
    taints = parts(config, "taints")
    pairs = [*labels.items(), *((taint["key"], taint.get("value", "")) for taint in taints)]
    for key, value in pairs:
        prefix, slash, name = str(key).rpartition("/")
        syntax = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
        valid = re.fullmatch(syntax, name)
        if not valid or (slash and not re.fullmatch(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", prefix)):
            yield _bad(f"Invalid label or taint key {key!r}")
        if value and not re.fullmatch(syntax, str(value)):
            yield _bad(f"Invalid label or taint value {value!r}")
    for taint in taints:
        if taint.get("effect") not in ("NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE"):
            yield _bad(f"Invalid taint effect {taint.get('effect')!r}")


# Deletion


def deletion(type: str, id: str, inputs: Properties, store: Store) -> Refusal | str | None:
    """Why a resource cannot be deleted: Google's answer, or a text where pulumi-gcp itself refuses."""
    if type == CLUSTER and inputs.get("deletionProtection", True):
        return (
            "Cannot destroy cluster because deletion_protection is set to true. Set it to false to proceed with "
            "instance deletion."
        )
    users = [item for item in store.children(id) if item.type != NODE_POOL or type != CLUSTER]
    if users:
        return Refusal(
            400, f"The resource '{id}' is already being used by '{users[0].id}'", "resourceInUseByAnotherResource"
        )
    return None
