"""The nodes of a node pool: exactly the labels, taints and resources that GKE would give them.

Sources: the cluster autoscaler's GKE provider (labels it expects of a node from a pool's template), GKE's documentation
on GPUs, TPUs, Spot VMs and Arm (taints), and the catalog's allocatable resources.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xmgen import catalog, locations
from xmgen.catalog.allocatable import DEFAULT_DISK_GB, MIB, node_allocatable
from xmgen.catalog.model import NodeKind
from xmgen.rehearsal.cloud import kinds, machines
from xmgen.rehearsal.cloud.refusals import slice_topology
from xmgen.rehearsal.cloud.store import Item, Properties, Store, part, parts, texts

POOL_LABEL = "cloud.google.com/gke-nodepool"
ZONE_LABEL = "topology.kubernetes.io/zone"
SYSTEM_NAMESPACE = "kube-system"
SYSTEM_POD = "gke-system"
PODS = 110
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What every node of a pool is. hosts: nodes that come and go together; 1 for all but slices of several hosts.
    vcpus: 0 when the machine is not in the catalog.
    """

    pool: str
    machine: str
    labels: dict[str, str]
    taints: list[dict[str, str]]
    allocatable: dict[str, str]
    zones: list[str]
    hosts: int
    kind: NodeKind
    vcpus: int

    def node(self, name: str, zone: str) -> dict[str, Any]:
        labels = {
            **self.labels,
            "kubernetes.io/hostname": name,
            ZONE_LABEL: zone,
            "topology.kubernetes.io/region": locations.region_of(zone),
        }
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": self.taints, "providerID": f"gce://rehearsal/{zone}/{name}"},
            "status": {"allocatable": self.allocatable, "capacity": self.allocatable},
        }

    def system_pod(self, node: str) -> dict[str, Any]:
        """All that GKE itself runs on the node, in one pod."""
        requests = self.system_requests()
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{SYSTEM_POD}-{node}", "namespace": SYSTEM_NAMESPACE, "labels": {"app": SYSTEM_POD}},
            "spec": {
                "nodeName": node,
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "system", "image": "system", "resources": {"requests": requests}}],
            },
        }

    def system_requests(self) -> dict[str, str]:
        pods = [pod for pod in catalog.catalog().system_pods if pod.nodes in ("all", self.kind)]
        return {
            "cpu": f"{sum(pod.cpu_millis for pod in pods)}m",
            "memory": str(sum(pod.memory_mib for pod in pods) * MIB),
        }


def template(pool: Item, store: Store) -> Template:
    inputs = pool.inputs
    config = part(inputs, "nodeConfig")
    name = str(config.get("machineType") or "e2-medium")
    chips, topology = machines.chips(name), slice_topology(inputs, store)
    accelerators, taints = parts(config, "guestAccelerators"), parts(config, "taints")
    extended: dict[str, str] = {}
    if accelerators:
        extended["nvidia.com/gpu"] = str(accelerators[0]["count"])
    if chips:
        extended["google.com/tpu"] = str(chips.count)
    return Template(
        pool=str(inputs["name"]),
        machine=name,
        labels={**_labels(name, str(inputs["name"]), config, topology), **part(config, "labels")},
        taints=[
            *(
                {"key": each["key"], "value": each.get("value", ""), "effect": _EFFECTS[each["effect"]]}
                for each in taints
            ),
            *_own_taints(name, bool(accelerators), chips is not None),
        ],
        allocatable={**_allocatable(name, config), **extended},
        zones=_zones(inputs, store),
        hosts=machines.size_of(topology) // chips.count if chips and topology else 1,
        vcpus=size.vcpus if (size := machines.machine(name)) else 0,
        kind="tpu" if chips else "gpu" if accelerators else "all",
    )


def _labels(machine: str, pool: str, config: Properties, topology: str | None) -> dict[str, str]:
    labels = {
        POOL_LABEL: pool,
        "kubernetes.io/arch": machines.architecture(machine),
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine,
        "cloud.google.com/machine-family": machines.family(machine),
        "iam.gke.io/gke-metadata-server-enabled": "true",
        "cloud.google.com/gke-boot-disk": str(config.get("diskType") or "pd-balanced"),
    }
    for each in parts(config, "guestAccelerators"):
        labels["cloud.google.com/gke-accelerator"] = str(each["type"])
        labels["cloud.google.com/gke-accelerator-count"] = str(each["count"])
    if chips := machines.chips(machine):
        labels["cloud.google.com/gke-tpu-accelerator"] = chips.label
        labels["cloud.google.com/gke-tpu-topology"] = topology or chips.topology
        labels["cloud.google.com/gke-accelerator-count"] = str(chips.count)
    provisioning = "standard"
    if config.get("spot"):
        provisioning = "spot"
        labels["cloud.google.com/gke-spot"] = "true"
    if config.get("flexStart"):
        labels["cloud.google.com/gke-flex-start"] = "true"
    labels["cloud.google.com/gke-provisioning"] = provisioning
    affinity = part(config, "reservationAffinity")
    if affinity.get("consumeReservationType") == "SPECIFIC_RESERVATION":
        labels["cloud.google.com/reservation-name"] = str(affinity["values"][0]).rpartition("/")[2]
    return labels


def _own_taints(machine: str, gpus: bool, tpus: bool) -> list[dict[str, str]]:
    taints: list[dict[str, str]] = []
    if gpus:
        taints.append({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"})
    if tpus:
        taints.append({"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"})
    if machines.architecture(machine) == "arm64":
        taints.append({"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"})
    return taints


def _allocatable(name: str, config: Properties) -> dict[str, str]:
    machine = machines.machine(name)
    if machine is None:
        # A machine that xmgen never chooses, in a pool of somebody's own: it takes no jobs.
        return {"cpu": "0", "memory": "0", "ephemeral-storage": "0", "pods": "0"}
    size = node_allocatable(machine, int(config.get("diskSizeGb") or DEFAULT_DISK_GB))
    return {
        "cpu": f"{size.cpu_millis}m",
        "memory": str(size.memory_bytes),
        "ephemeral-storage": str(size.disk_bytes),
        "pods": str(PODS),
    }


def _zones(inputs: Properties, store: Store) -> list[str]:
    cluster = store.get(kinds.cluster_of(inputs))
    place = str(cluster.inputs["location"]) if cluster else "us-central1-a"
    given = texts(inputs, "nodeLocations") or (texts(cluster.inputs, "nodeLocations") if cluster else [])
    return given or locations.usual_zones(place)
