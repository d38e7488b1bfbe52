"""Buckets and claims that jobs mount, and the storage classes of the stack's own cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from tests.on_gke import T4, cluster_only, container, experiment, job, kubernetes, manifests, pod
from xmgen.errors import InputError
from xmgen.experiment import ClusterChoice, Experiment, Volume
from xmgen.plan import planner


def test_storage_priority_and_retries() -> None:
    executor = kubernetes(
        T4,
        on={
            "priority": 7,
            "retries": 2,
            "shared_memory": 2**30,
            "volumes": (
                Volume(path="/data", bucket="images/train", read_only=True),
                Volume(path="/cache", claim="cache", size=10, storage_class="fast", shared=True),
                Volume(path="/old", claim="old", read_only=True),
            ),
        },
    )
    made = experiment(job(executor=executor))
    [found] = cast("list[dict[str, Any]]", manifests(made))
    assert found["spec"]["backoffLimit"] == 2
    assert pod(found)["priorityClassName"] == "sweep-priority-7"
    assert pod(found)["volumes"] == [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        pod(found)["volumes"][1],
        {
            "name": "volume-0",
            "csi": {
                "driver": "gcsfuse.csi.storage.gke.io",
                "volumeAttributes": {
                    "bucketName": "images",
                    "mountOptions": "implicit-dirs,dir-mode=777,file-mode=777,only-dir=train",
                },
                "readOnly": True,
            },
        },
        {"name": "volume-1", "persistentVolumeClaim": {"claimName": "cache"}},
        {"name": "volume-2", "persistentVolumeClaim": {"claimName": "old", "readOnly": True}},
    ]
    assert container(found)["volumeMounts"][2:] == [
        {"name": "volume-0", "mountPath": "/data", "readOnly": True},
        {"name": "volume-1", "mountPath": "/cache"},
        {"name": "volume-2", "mountPath": "/old", "readOnly": True},
    ]
    assert planner.plan(made).objects == (
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "sweep-priority-7"},
            "value": 7,
            "description": "Jobs of the stack sweep",
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "cache", "namespace": "sweep", "annotations": {"pulumi.com/skipAwait": "true"}},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "10"}},
                "storageClassName": "fast",
            },
        },
    )


@pytest.mark.parametrize(
    ("storage_class", "tier"),
    [
        ("standard-rwx", "standard"),
        ("zonal-rwx", "zonal"),
        ("premium-rwx", "premium"),
        ("enterprise-rwx", "enterprise"),
    ],
)
def test_a_claim_of_filestore_has_a_class_of_the_stack_on_its_own_cluster(storage_class: str, tier: str) -> None:
    volume = Volume(path="/cache", claim="cache", size=10, storage_class=storage_class, shared=True)
    made = experiment(*(job(f"--n={number}", executor=kubernetes(on={"volumes": (volume,)})) for number in range(2)))
    existing = ClusterChoice(kind="existing", name="prod", location="us-central1-a")
    own_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": f"sweep-{storage_class}"},
        "provisioner": "filestore.csi.storage.gke.io",
        "parameters": {"tier": tier},
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }

    def claim(of_class: str) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "cache", "namespace": "sweep", "annotations": {"pulumi.com/skipAwait": "true"}},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "10"}},
                "storageClassName": of_class,
            },
        }

    assert planner.plan(made).objects == (own_class, claim(f"sweep-{storage_class}"))
    on_team = replace(made, cluster=ClusterChoice(kind="stack", name="team"))
    with_files = replace(cluster_only(), filestore=True)
    assert planner.plan(on_team, {"team": with_files}.__getitem__).objects == planner.plan(made).objects
    assert planner.plan(replace(made, cluster=existing)).objects == (claim(storage_class),)


@pytest.mark.parametrize(
    ("other", "hint"),
    [
        (cluster_only(), "`filestore: true` in clusters/team.cluster.yaml, or buckets instead of the claims"),
        (experiment(stack="team"), "a cluster of its own that has it, or buckets instead of the claims"),
    ],
    ids=["a cluster", "an experiment"],
)
def test_claims_that_nothing_would_serve_are_refused(other: Experiment, hint: str) -> None:
    files = Volume(path="/files", claim="files", size=10, storage_class="standard-rwx", shared=True)
    made = experiment(
        job(executor=kubernetes(on={"volumes": (files,)})), cluster=ClusterChoice(kind="stack", name="team")
    )
    with pytest.raises(InputError) as caught:
        planner.plan(made, {"team": other}.__getitem__)
    assert str(caught.value) == ("claims are on Filestore (files), whose driver the cluster of 'team' lacks\n  " + hint)
