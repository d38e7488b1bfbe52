"""Storage of a GKE cluster: its classes, and claims that are bound as the drivers of its volumes bind them.

Sources: GKE documentation, "Persistent volumes and dynamic provisioning" and "Access Filestore instances with the
Filestore CSI driver"; Kubernetes' external provisioner (annotations of claims and volumes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xmgen.rehearsal.api import Api
from xmgen.rehearsal.cloud.nodes import ZONE_LABEL
from xmgen.rehearsal.cloud.scheduling import Object
from xmgen.rehearsal.cloud.store import Item, Store, part, parts
from xmgen.resource_types import API, CLUSTER

Claim = tuple[str, str]
"""Its namespace and name."""

_DISKS = "pd.csi.storage.gke.io"
_FILES = "filestore.csi.storage.gke.io"
_FILES_API = "file.googleapis.com"
_LATE, _AT_ONCE = "WaitForFirstConsumer", "Immediate"
_SHARED = frozenset({"ReadWriteMany"})
_ASSUMED = "assumed-"
_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
_DEFAULT_NETWORK = "default"


@dataclass(frozen=True, slots=True)
class Class:
    """network: the name of that in which the driver of Filestore makes an instance."""

    name: str
    driver: str
    binding: str = _LATE
    default: bool = False
    network: str = _DEFAULT_NETWORK

    def manifest(self) -> Object:
        annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if self.default else {}
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": self.name, "annotations": annotations},
            "provisioner": self.driver,
            "volumeBindingMode": self.binding,
            "reclaimPolicy": "Delete",
            "allowVolumeExpansion": True,
        }


CLASSES = (
    Class("standard-rwo", _DISKS, default=True),
    Class("premium-rwo", _DISKS),
    Class("standard", _DISKS, _AT_ONCE),
    *(Class(f"{tier}-rwx", _FILES) for tier in ("standard", "zonal", "premium", "enterprise", "enterprise-multishare")),
)


def offered(clusters: Iterable[Item]) -> dict[str, Class]:
    """What is there by default. The classes of Filestore come with its driver; what somebody else's cluster has nobody
    knows, and so it is taken to have it."""
    there = list(clusters)
    files = any(each.assumed or _has_files(each) for each in there)
    return {each.name: each for each in CLASSES if there and (files or each.driver != _FILES)}


def _declared(manifest: Object) -> Class:
    """A class that somebody has made."""
    name, network = str(manifest["metadata"]["name"]), part(manifest, "parameters").get("network")
    return Class(name, str(manifest["provisioner"]), network=_network(network))


def _network(text: object) -> str:
    """The name, whether that is given or a path."""
    return str(text or _DEFAULT_NETWORK).rpartition("/")[2]


def _has_files(cluster: Item) -> bool:
    return bool(part(part(cluster.inputs, "addonsConfig"), "gcpFilestoreCsiDriverConfig").get("enabled"))


class Storage:
    """Binds claims, and removes the volumes of those that are gone."""

    def __init__(self, store: Store, api: Api) -> None:
        self._store = store
        self._api = api
        self._classes: dict[str, Class] | None = None
        self._declared: dict[str, Class] = {}
        self._claims: dict[Claim, Object] = {}
        self._zones: dict[str, str] = {}
        self._assumed: frozenset[Claim] = frozenset()

    def assume(self, claims: Iterable[Claim]) -> None:
        """Claims that somebody else has made: they are there as soon as their namespace is."""
        self._assumed = frozenset(claims)

    def step(self, nodes: Sequence[Object]) -> None:
        self._offer()
        self._declared = {each.name: each for each in map(_declared, self._api.items(_CLASSES))}
        self._claims = {_name(each): each for each in self._api.items("/api/v1/persistentvolumeclaims")}
        for namespace, name in self._assumed - self._claims.keys():
            self._api.request(
                "POST", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", _assumed(namespace, name)
            )
        zones = {str(node["metadata"]["name"]): str(node["metadata"]["labels"].get(ZONE_LABEL, "")) for node in nodes}
        for claim in self._claims.values():
            if _wants_volume(claim) and not self._refusal(claim):
                self._api.request("POST", "/api/v1/persistentvolumes", _volume(claim, zones))
        volumes = self._api.items("/api/v1/persistentvolumes")
        for volume in volumes:
            if volume["status"].get("phase") == "Released":
                self._api.request("DELETE", f"/api/v1/persistentvolumes/{volume['metadata']['name']}")
        self._zones = {str(each["metadata"]["name"]): zone for each in volumes if (zone := _zone(each))}

    def why_not(self, pod: Object) -> str:
        """Why the pod's claims will never be bound; empty when they will."""
        for key in claims(pod):
            claim = self._claims.get(key)
            why = "nobody has made it" if claim is None else self._refusal(claim)
            if why:
                return f"claim {key[1]}: {why}"
        return ""

    def zones(self, pod: Object) -> frozenset[str]:
        """Where the pod's volumes are, each of which is in one zone; empty when they bind it to none."""
        names = (str(self._claims[key]["spec"].get("volumeName", "")) for key in claims(pod) if key in self._claims)
        return frozenset(self._zones[name] for name in names if name in self._zones)

    def _offer(self) -> None:
        """The classes come and go with the cluster."""
        wanted = offered(self._store.of(CLUSTER))
        if wanted == self._classes:
            return
        there = {str(each["metadata"]["name"]) for each in self._api.items(_CLASSES)}
        for name in wanted.keys() - there:
            self._api.request("POST", _CLASSES, wanted[name].manifest())
        for name in (there & {each.name for each in CLASSES}) - wanted.keys():
            self._api.request("DELETE", f"{_CLASSES}/{name}")
        self._classes = wanted

    def _refusal(self, claim: Object) -> str:
        spec: Object = claim["spec"]
        name = spec.get("storageClassName")
        if spec.get("volumeName") or name is None:
            return ""
        clusters = list(self._store.of(CLUSTER))
        kind = {**self._declared, **offered(clusters)}.get(str(name))
        if kind is None:
            return f"the cluster has no storage class {name!r}"
        if kind.driver == _DISKS and _SHARED & set(spec["accessModes"]):
            return f"a disk (storage class {name!r}) cannot be written from several nodes"
        # Of somebody else's cluster nobody knows what it lacks.
        if kind.driver == _FILES and not any(each.assumed for each in clusters):
            return self._refused_files(kind, clusters)
        return ""

    def _refused_files(self, kind: Class, clusters: Sequence[Item]) -> str:
        if not any(_has_files(each) for each in clusters):
            return f"the cluster has no driver of Filestore, which storage class {kind.name!r} needs"
        if all(each.inputs["service"] != _FILES_API for each in self._store.of(API)):
            return f"{_FILES_API} is disabled, which storage class {kind.name!r} needs"
        there = {_network(each.inputs.get("network")) for each in clusters}
        if kind.network not in there:
            where = ", ".join(map(repr, sorted(there)))
            return f"storage class {kind.name!r} is for the network {kind.network!r}, the cluster is in {where}"
        return ""


def claims(pod: Object) -> list[Claim]:
    """Those that a pod, or the template of one in a namespace, uses."""
    namespace = str(pod["metadata"]["namespace"])
    volumes: list[Object] = pod["spec"].get("volumes") or []
    sources: list[Object] = [each["persistentVolumeClaim"] for each in volumes if "persistentVolumeClaim" in each]
    return [(namespace, str(source["claimName"])) for source in sources]


def used_not_made(jobs: Iterable[Mapping[str, Any]], others: Iterable[Mapping[str, Any]]) -> set[Claim]:
    """The claims of Jobs that no manifest among others makes."""
    made = {_name(each) for each in others if each["kind"] == "PersistentVolumeClaim"}
    pods = [
        {"metadata": {"namespace": job["metadata"]["namespace"]}, "spec": job["spec"]["template"]["spec"]}
        for job in jobs
        if job["kind"] == "Job"
    ]
    return {claim for pod in pods for claim in claims(pod)} - made


def _name(claim: Mapping[str, Any]) -> Claim:
    return str(claim["metadata"]["namespace"]), str(claim["metadata"]["name"])


def _assumed(namespace: str, name: str) -> Object:
    """Of a kind that any pod can use, wherever it runs."""
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "volumeName": f"{_ASSUMED}{namespace}-{name}",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def _wants_volume(claim: Object) -> bool:
    """Whether it is a driver's turn: for a class that waits, when a pod has been given a node."""
    if "deletionTimestamp" in claim["metadata"] or claim["status"].get("phase") == "Bound":
        return False
    annotations: Mapping[str, str] = claim["metadata"].get("annotations") or {}
    asked = annotations.get("volume.kubernetes.io/storage-provisioner") in (_DISKS, _FILES)
    return asked or str(claim["spec"].get("volumeName", "")).startswith(_ASSUMED)


def _volume(claim: Object, zones: Mapping[str, str]) -> Object:
    """zones: of the nodes, by name."""
    metadata, spec = claim["metadata"], claim["spec"]
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    driver = str(annotations.get("volume.kubernetes.io/storage-provisioner") or _FILES)
    name = str(spec.get("volumeName") or f"pvc-{metadata['uid']}")
    zone = zones.get(str(annotations.get("volume.kubernetes.io/selected-node")), "")
    term = {"matchExpressions": [{"key": ZONE_LABEL, "operator": "In", "values": [zone]}]}
    place = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if driver == _DISKS and zone else {}
    reference = {key: metadata[key] for key in ("namespace", "name", "uid")}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": driver}},
        "spec": {
            "capacity": spec["resources"]["requests"],
            "accessModes": spec["accessModes"],
            "storageClassName": spec.get("storageClassName", ""),
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **reference},
            "csi": {"driver": driver, "volumeHandle": name},
            **place,
        },
    }


def _zone(volume: Object) -> str:
    affinity = part(part(volume["spec"], "nodeAffinity"), "required")
    for term in parts(affinity, "nodeSelectorTerms"):
        for expression in parts(term, "matchExpressions"):
            if expression["key"] == ZONE_LABEL:
                return str(expression["values"][0])
    return ""
