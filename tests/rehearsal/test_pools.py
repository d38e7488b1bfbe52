"""Pools grow for the pods that wait, within quota and where their volumes are; and a restart forgets nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

import pytest

from xmgen.errors import InputError, Problem
from xmgen.rehearsal.api import Answer, Api
from xmgen.rehearsal.cloud import pools
from xmgen.rehearsal.cloud.pools import Pools
from xmgen.rehearsal.cloud.quota import Quota
from xmgen.rehearsal.cloud.store import Item, Store
from xmgen.resource_types import API, CLUSTER, NODE_POOL

Json = dict[str, Any]
CLUSTER_ID = "projects/acme/locations/europe-west4/clusters/sweep"
LIMITS = {"PREEMPTIBLE_NVIDIA_T4_GPUS": 3}


class Objects:
    """An API server, as far as pools ask it: objects by their paths, which outlive a restart of the rehearsal."""

    def __init__(self) -> None:
        self.there: dict[str, Json] = {}

    def request(self, method: str, path: str, body: Json | None = None, **query: str) -> Answer:
        match method:
            case "POST":
                assert body is not None
                namespace = path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in path else ""
                metadata = {"uid": f"{len(self.there)}", "namespace": namespace, **body["metadata"]}
                key = f"{path.replace(f'/namespaces/{namespace}', '')}/{namespace}/{metadata['name']}"
                if key in self.there:
                    return Answer(409, {})
                self.there[key] = {"status": {}, **body, "metadata": metadata}
            case "DELETE":
                start, _, name = path.rpartition("/")
                namespace = path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in path else ""
                self.there.pop(f"{start.replace(f'/namespaces/{namespace}', '')}/{namespace}/{name}", None)
            case "PATCH":
                assert body is not None
                start, _, name = path.rpartition("/")
                self.there[f"{start}//{name}"]["spec"].update(body["spec"])
            case _:
                pass
        return Answer(200, {})

    def items(self, path: str, **query: str) -> list[Json]:
        found = [each for key, each in self.there.items() if key.startswith(f"{path}/")]
        if path == "/api/v1/pods":
            found = [each for each in found if each["metadata"]["namespace"] != "kube-system"]
        if selector := query.get("labelSelector"):
            label, _, value = selector.partition("=")
            found = [each for each in found if each["metadata"]["labels"].get(label) == value]
        return [
            each for each in found if query.get("fieldSelector", "").startswith("metadata") or path != "/api/v1/pods"
        ]

    def nodes(self) -> list[tuple[str, str]]:
        """Names and zones."""
        return [
            (each["metadata"]["name"], each["metadata"]["labels"]["topology.kubernetes.io/zone"])
            for each in self.items("/api/v1/nodes")
        ]

    def waiting(self, name: str, **spec: Any) -> None:
        """A pod that wants a T4, and that the scheduler has found no node for."""
        pod = {
            "metadata": {"name": name},
            "spec": {
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "train", "resources": {"requests": {"nvidia.com/gpu": "1"}}}],
                **spec,
            },
            "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/0 nodes"}]},
        }
        self.request("POST", "/api/v1/namespaces/sweep/pods", pod)

    def claim(self, name: str, **spec: Any) -> None:
        body = {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], **spec}}
        self.request("POST", "/api/v1/namespaces/sweep/persistentvolumeclaims", body)

    def volume(self, name: str, zone: str) -> None:
        expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
        self.request(
            "POST", "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": {"nodeAffinity": affinity}}
        )


class Simulation:
    """Pools of spot T4s in a folder, which can be begun again."""

    def __init__(self, folder: Path, objects: Objects) -> None:
        self.folder, self.objects = folder, objects
        self.begin()

    def begin(self) -> None:
        self.store = Store(self.folder / "cloud.json")
        self.pools = Pools(self.store, cast(Api, self.objects), Quota(dict(LIMITS)))

    def put(self, type: str, id: str, **inputs: Any) -> None:
        self.store.put(Item(id=id, type=type, inputs={"project": "acme", **inputs}, outputs={}, owner="urn:a-stack"))

    def pool(self, name: str = "t4", *, most: int = 5, zones: list[str] | None = None) -> None:
        config = {
            "machineType": "n1-standard-4",
            "spot": True,
            "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}],
        }
        scaling = {"totalMinNodeCount": 0, "totalMaxNodeCount": most}
        inputs = {"name": name, "cluster": CLUSTER_ID, "nodeConfig": config, "autoscaling": scaling}
        self.put(NODE_POOL, f"{CLUSTER_ID}/nodePools/{name}", nodeLocations=zones or ["europe-west4-a"], **inputs)

    def step(self) -> dict[str, list[str]]:
        """The pods that no pool can help, and why."""
        self.pools.step(self.pools.view())
        return self.pools.helpless


@pytest.fixture
def simulation(tmp_path: Path) -> Simulation:
    made = Simulation(tmp_path, Objects())
    made.put(CLUSTER, CLUSTER_ID, location="europe-west4")
    return made


def test_quota_that_is_used_stays_used_after_a_restart(simulation: Simulation) -> None:
    simulation.pool()
    for number in range(2):
        simulation.objects.waiting(f"pod-{number}")
    assert simulation.step() == {}
    simulation.begin()
    for number in range(2, 4):
        simulation.objects.waiting(f"pod-{number}")
    exceeded = "t4: Quota 'PREEMPTIBLE_NVIDIA_T4_GPUS' exceeded. Limit: 3.0"
    assert simulation.step() == {"pod-3": [exceeded]}
    assert len(simulation.objects.nodes()) == 3


def test_quota_is_free_again_when_its_nodes_are_gone(simulation: Simulation) -> None:
    simulation.pool()
    for number in range(4):
        simulation.objects.waiting(f"pod-{number}")
    assert simulation.step().keys() == {"pod-3"}
    for name, _ in simulation.objects.nodes()[:1]:
        simulation.objects.request("DELETE", f"/api/v1/nodes/{name}")
    assert simulation.step() == {"pod-3": ["t4: Quota 'PREEMPTIBLE_NVIDIA_T4_GPUS' exceeded. Limit: 3.0"]}
    assert len(simulation.objects.nodes()) == 3


def test_a_pool_grows_up_to_its_maximum(simulation: Simulation) -> None:
    simulation.pool(most=1)
    for number in range(3):
        simulation.objects.waiting(f"pod-{number}")
    full = ["t4: it has all of its nodes: 1"]
    for _ in range(2):
        assert simulation.step() == {"pod-1": full, "pod-2": full}
        assert len(simulation.objects.nodes()) == 1


@pytest.mark.parametrize(
    ("running", "nodes", "refusal"),
    [
        (0, 3, ""),
        (
            0,
            4,
            'Insufficient regional quota to satisfy request: resource "PREEMPTIBLE_NVIDIA_T4_GPUS": request requires '
            "'4.0' and is short '1.0'. project has a quota of '3.0' with '3.0' available",
        ),
        (
            2,
            2,
            'Insufficient regional quota to satisfy request: resource "PREEMPTIBLE_NVIDIA_T4_GPUS": request requires '
            "'2.0' and is short '1.0'. project has a quota of '3.0' with '1.0' available",
        ),
    ],
)
def test_a_pool_needs_quota_for_the_nodes_it_has_from_the_start(
    running: int, nodes: int, refusal: str, simulation: Simulation
) -> None:
    simulation.pool()
    for number in range(running):
        simulation.objects.waiting(f"pod-{number}")
    simulation.step()
    made = simulation.store.of(NODE_POOL)[0]
    fixed = {key: value for key, value in made.inputs.items() if key != "autoscaling"}
    asked = dataclasses.replace(made, inputs={**fixed, "name": "fixed", "nodeCount": nodes})
    assert simulation.pools.refusal(asked) == refusal


def test_a_deletion_that_was_cut_off_is_made_up_for(simulation: Simulation) -> None:
    simulation.pool()
    simulation.objects.waiting("pod")
    simulation.step()
    simulation.store.remove(f"{CLUSTER_ID}/nodePools/t4")
    simulation.begin()
    simulation.step()
    assert simulation.objects.nodes() == []


def test_a_quota_that_nothing_uses_is_a_slip_of_the_pen(tmp_path: Path) -> None:
    file = tmp_path / "quota.json"
    file.write_text('{"NVIDIA_T4_GPU": 4, "CPUS": 72, "PREEMPTIBLE_NVIDIA_L4_GPUS": 1}', encoding="utf-8")
    with pytest.raises(InputError) as error:
        Quota.read(file)
    assert error.value.problems == (
        Problem(
            "nothing in a rehearsal uses the quota 'NVIDIA_T4_GPU'",
            where=str(file),
            hint="did you mean 'NVIDIA_T4_GPUS'?",
        ),
    )


@pytest.mark.parametrize("limit", ["true", "-1", "NaN", "Infinity", '"4"', "null"])
def test_a_limit_is_a_number(limit: str, tmp_path: Path) -> None:
    file = tmp_path / "quota.json"
    file.write_text(f'{{"CPUS": {limit}}}', encoding="utf-8")
    with pytest.raises(InputError, match="is no quota file"):
        Quota.read(file)


def closed(simulation: Simulation) -> list[bool]:
    """Of every node, whether it is closed to new pods."""
    return [node["spec"].get("unschedulable", False) for node in simulation.objects.items("/api/v1/nodes")]


@pytest.fixture
def idle(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """With a node whose pod is gone, and which is therefore closed."""
    monkeypatch.setattr(pools, "IDLE_SECONDS", -1.0)
    simulation.pool()
    simulation.objects.waiting("first")
    simulation.step()
    simulation.objects.there.pop("/api/v1/pods/sweep/first")
    simulation.step()
    assert closed(simulation) == [True]
    return simulation


def test_a_node_that_nothing_wants_goes(idle: Simulation) -> None:
    idle.step()
    assert closed(idle) == []


def test_a_node_on_its_way_out_is_opened_for_a_pod_that_waits(idle: Simulation) -> None:
    idle.objects.waiting("next")
    assert idle.step() == {}
    assert closed(idle) == [False]


def test_a_node_on_its_way_out_stays_for_a_pod_that_it_got_at_the_last_moment(idle: Simulation) -> None:
    idle.objects.waiting("next", nodeName="gke-t4-0")
    assert idle.step() == {}
    assert closed(idle) == [False]


def mounts(claim: str) -> Json:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def test_nodes_are_added_where_volumes_are(simulation: Simulation) -> None:
    simulation.pool(zones=["europe-west4-a", "europe-west4-b"])
    simulation.objects.volume("disk", "europe-west4-b")
    simulation.objects.claim("data", volumeName="disk")
    simulation.objects.waiting("pod", **mounts("data"))
    assert simulation.step() == {}
    assert simulation.objects.nodes() == [("gke-t4-0", "europe-west4-b")]


def test_a_volume_of_another_zone_keeps_a_pod_from_a_pool(simulation: Simulation) -> None:
    simulation.pool(zones=["europe-west4-a"])
    simulation.objects.volume("disk", "europe-west4-b")
    simulation.objects.claim("data", volumeName="disk")
    simulation.objects.waiting("pod", **mounts("data"))
    why = "t4: its volumes are in europe-west4-b, the pool's nodes in europe-west4-a"
    assert simulation.step() == {"pod": [why]}
    assert simulation.objects.nodes() == []


@pytest.mark.parametrize(
    ("spec", "cluster", "services", "why"),
    [
        ({"storageClassName": "standard-rwo"}, {}, [], ""),
        ({"storageClassName": "fast"}, {}, [], "the cluster has no storage class 'fast'"),
        (
            {"storageClassName": "premium-rwo", "accessModes": ["ReadWriteMany"]},
            {},
            [],
            "a disk (storage class 'premium-rwo') cannot be written from several nodes",
        ),
        ({"storageClassName": "standard-rwx"}, {}, [], "the cluster has no storage class 'standard-rwx'"),
        (
            {"storageClassName": "standard-rwx", "accessModes": ["ReadWriteMany"]},
            {"addonsConfig": {"gcpFilestoreCsiDriverConfig": {"enabled": True}}},
            [],
            "file.googleapis.com is disabled, which storage class 'standard-rwx' needs",
        ),
        (
            {"storageClassName": "standard-rwx", "accessModes": ["ReadWriteMany"]},
            {"addonsConfig": {"gcpFilestoreCsiDriverConfig": {"enabled": True}}},
            ["file.googleapis.com"],
            "",
        ),
        (
            {"storageClassName": "standard-rwx", "accessModes": ["ReadWriteMany"]},
            {"addonsConfig": {"gcpFilestoreCsiDriverConfig": {"enabled": True}}, "network": "projects/acme/x/sweep"},
            ["file.googleapis.com"],
            "storage class 'standard-rwx' is for the network 'default', the cluster is in 'sweep'",
        ),
        (
            {"storageClassName": "of-sweep", "accessModes": ["ReadWriteMany"]},
            {"addonsConfig": {"gcpFilestoreCsiDriverConfig": {"enabled": True}}, "network": "projects/acme/x/sweep"},
            ["file.googleapis.com"],
            "",
        ),
        (
            {"storageClassName": "of-sweep", "accessModes": ["ReadWriteMany"]},
            {"network": "projects/acme/x/sweep"},
            ["file.googleapis.com"],
            "the cluster has no driver of Filestore, which storage class 'of-sweep' needs",
        ),
        (None, {}, [], "nobody has made it"),
    ],
)
def test_claims_that_no_driver_binds(
    spec: Json | None, cluster: Json, services: list[str], why: str, simulation: Simulation
) -> None:
    simulation.put(CLUSTER, CLUSTER_ID, location="europe-west4", **cluster)
    for service in services:
        simulation.put(API, f"acme/{service}", service=service)
    simulation.objects.request(
        "POST",
        "/apis/storage.k8s.io/v1/storageclasses",
        {
            "metadata": {"name": "of-sweep"},
            "provisioner": "filestore.csi.storage.gke.io",
            "parameters": {"tier": "standard", "network": "sweep"},
        },
    )
    if spec is not None:
        simulation.objects.claim("data", **spec)
    simulation.pool()
    simulation.objects.waiting("pod", **mounts("data"))
    assert simulation.step() == ({"pod": [f"claim data: {why}"]} if why else {})


def test_storage_classes_come_and_go_with_the_cluster(simulation: Simulation) -> None:
    def classes() -> set[str]:
        return {each["metadata"]["name"] for each in simulation.objects.items("/apis/storage.k8s.io/v1/storageclasses")}

    simulation.step()
    assert classes() == {"standard-rwo", "premium-rwo", "standard"}
    simulation.store.remove(CLUSTER_ID)
    simulation.step()
    assert classes() == set()
