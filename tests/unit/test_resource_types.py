"""What a change of one input does to a resource: each row was measured with pulumi-gcp 9.35 on 2026-11-30."""

from __future__ import annotations

from typing import Any

import pytest

from xmgen import resource_types as types
from xmgen.resource_types.effect import Change, Effect, effect
from xmgen.resource_types.table import TABLE

GPUS: list[Any] = [
    {
        "type": "nvidia-l4",
        "count": 1,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
        "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 2},
    }
]
INPUTS: dict[str, dict[str, Any]] = {
    types.CLUSTER: {
        "name": "sweep-0123abc",
        "location": "us-central1-a",
        "network": "projects/acme/global/networks/sweep",
        "subnetwork": "projects/acme/regions/us-central1/subnetworks/sweep",
        "networkingMode": "VPC_NATIVE",
        "initialNodeCount": 1,
        "ipAllocationPolicy": {
            "clusterSecondaryRangeName": "pods",
            "servicesSecondaryRangeName": "services",
            "stackType": "IPV4",
        },
        "privateClusterConfig": {
            "enablePrivateNodes": True,
            "enablePrivateEndpoint": False,
            "masterIpv4CidrBlock": "172.16.0.0/28",
        },
        "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "10.0.0.0/8"}, {"cidrBlock": "192.0.2.1/32"}]},
        "releaseChannel": {"channel": "REGULAR"},
        "workloadIdentityConfig": {"workloadPool": "acme.svc.id.goog"},
        "addonsConfig": {"gcsFuseCsiDriverConfig": {"enabled": True}},
        "nodeConfig": {"serviceAccount": "nodes@acme.iam.gserviceaccount.com"},
        "deletionProtection": False,
        "resourceLabels": {"owner": "ada"},
    },
    types.NODE_POOL: {
        "name": "l4",
        "cluster": "projects/acme/locations/us-central1-a/clusters/sweep-0123abc",
        "location": "us-central1-a",
        "initialNodeCount": 0,
        "autoscaling": {"totalMaxNodeCount": 6},
        "management": {"autoRepair": True},
        "upgradeSettings": {"maxSurge": 1},
        "placementPolicy": {"type": "COMPACT", "policyName": "sweep", "tpuTopology": "2x4"},
        "nodeConfig": {
            "machineType": "g2-standard-4",
            "diskType": "pd-balanced",
            "diskSizeGb": 100,
            "guestAccelerators": GPUS,
            "labels": {"pool": "l4"},
            "taints": [{"key": "gpu", "value": "l4", "effect": "NO_SCHEDULE"}],
            "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/trace"],
            "serviceAccount": "nodes@acme.iam.gserviceaccount.com",
            "shieldedInstanceConfig": {"enableSecureBoot": True},
            "resourceLabels": {"owner": "ada"},
        },
    },
    types.NETWORK: {"name": "sweep-0123abc", "autoCreateSubnetworks": False},
    types.SUBNETWORK: {
        "name": "sweep-0123abc",
        "network": "projects/acme/global/networks/sweep",
        "region": "us-central1",
        "ipCidrRange": "10.0.0.0/20",
    },
    types.ROUTER: {"name": "sweep-0123abc", "network": "projects/acme/global/networks/sweep", "region": "us-central1"},
    types.ROUTER_NAT: {"name": "sweep-0123abc", "router": "sweep-0123abc", "region": "us-central1"},
    types.RESOURCE_POLICY: {"name": "tpu-0123abc", "workloadPolicy": {"type": "HIGH_THROUGHPUT"}},
    types.REPOSITORY: {"repositoryId": "sweep", "location": "us-central1", "format": "DOCKER"},
    types.BUCKET: {"name": "sweep-output-0123abc", "location": "us-central1", "forceDestroy": False},
    types.TENSORBOARD: {"displayName": "sweep", "region": "us-central1"},
    types.ACCOUNT: {"accountId": "sweep-jobs", "displayName": "Jobs of sweep"},
    types.API: {"service": "iam.googleapis.com", "disableOnDestroy": False},
    types.PROJECT_MEMBER: {"project": "acme", "role": "roles/x", "member": "serviceAccount:a"},
    types.BUCKET_MEMBER: {"bucket": "b", "role": "roles/x", "member": "serviceAccount:a"},
    types.ACCOUNT_MEMBER: {"serviceAccountId": "a", "role": "roles/x", "member": "serviceAccount:a"},
}
NODE = "nodeConfig."

REPLACES: list[tuple[str, str, Any]] = [
    *[
        (types.NODE_POOL, NODE + path, value)
        for path, value in [
            ("guestAccelerators[0].type", "nvidia-tesla-t4"),
            ("guestAccelerators[0].count", 2),
            ("guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion", "DEFAULT"),
            ("guestAccelerators[0].gpuSharingConfig.maxSharedClientsPerGpu", 4),
            ("guestAccelerators[0].gpuSharingConfig", None),
            ("oauthScopes", ["https://www.googleapis.com/auth/cloud-platform"]),
            ("serviceAccount", "others@acme.iam.gserviceaccount.com"),
            ("shieldedInstanceConfig.enableSecureBoot", False),
            ("spot", True),
            ("preemptible", True),
            ("reservationAffinity", {"consumeReservationType": "ANY_RESERVATION"}),
            ("flexStart", True),
            ("maxRunDuration", "3600s"),
            ("ephemeralStorageLocalSsdConfig", {"localSsdCount": 1}),
            ("localSsdCount", 1),
            ("minCpuPlatform", "Intel Ice Lake"),
            ("metadata", {"disable-legacy-endpoints": "true"}),
            ("advancedMachineFeatures", {"threadsPerCore": 1}),
            ("hostMaintenancePolicy", {"maintenanceInterval": "PERIODIC"}),
            ("soleTenantConfig", {"nodeAffinities": [{"key": "k", "operator": "IN", "values": ["v"]}]}),
            ("enableConfidentialStorage", True),
        ]
    ],
    (types.NODE_POOL, "queuedProvisioning", {"enabled": True}),
    (types.NODE_POOL, "networkConfig", {"enablePrivateNodes": True}),
    (types.NODE_POOL, "networkConfig", {"createPodRange": True}),
    (types.NODE_POOL, "maxPodsPerNode", 32),
    (types.NODE_POOL, "placementPolicy.policyName", "other"),
    (types.NODE_POOL, "placementPolicy", None),
    (types.NODE_POOL, "name", "t4"),
    (types.NODE_POOL, "cluster", "projects/acme/locations/us-central1-a/clusters/other"),
    (types.NODE_POOL, "location", "us-central1-b"),
    (types.NODE_POOL, "initialNodeCount", 1),
    (types.CLUSTER, "initialNodeCount", 2),
    (types.CLUSTER, "networkingMode", "ROUTES"),
    (types.CLUSTER, "privateClusterConfig.masterIpv4CidrBlock", "172.16.1.0/28"),
    (types.CLUSTER, "datapathProvider", "ADVANCED_DATAPATH"),
    (types.CLUSTER, "description", "of ours"),
    (types.CLUSTER, "defaultMaxPodsPerNode", 32),
    (types.CLUSTER, "enableKubernetesAlpha", True),
    (types.CLUSTER, "enableTpu", True),
    (types.CLUSTER, "confidentialNodes", {"enabled": True}),
    (types.CLUSTER, "location", "us-central1-b"),
    (types.CLUSTER, "name", "other"),
    (types.CLUSTER, "network", "projects/acme/global/networks/other"),
    (types.CLUSTER, "subnetwork", "projects/acme/regions/us-central1/subnetworks/other"),
    (types.CLUSTER, "ipAllocationPolicy.clusterSecondaryRangeName", "more-pods"),
    (types.CLUSTER, "ipAllocationPolicy.servicesSecondaryRangeName", "more-services"),
    (types.NETWORK, "description", "of ours"),
    (types.SUBNETWORK, "description", "of ours"),
    (types.SUBNETWORK, "ipCidrRange", "10.0.0.0/21"),
    (types.SUBNETWORK, "ipCidrRange", "10.8.0.0/20"),
    (types.SUBNETWORK, "region", "us-east1"),
    (types.ROUTER, "region", "us-east1"),
    (types.ROUTER_NAT, "region", "us-east1"),
    (types.ROUTER_NAT, "type", "PRIVATE"),
    (types.REPOSITORY, "mode", "REMOTE_REPOSITORY"),
    (types.REPOSITORY, "kmsKeyName", "projects/acme/locations/us-central1/keyRings/r/cryptoKeys/k"),
    (types.REPOSITORY, "location", "us-east1"),
    (types.BUCKET, "hierarchicalNamespace", {"enabled": True}),
    (types.BUCKET, "enableObjectRetention", True),
    (types.BUCKET, "customPlacementConfig", {"dataLocations": ["US-EAST1", "US-WEST1"]}),
    (types.BUCKET, "location", "us-east1"),
    (types.TENSORBOARD, "encryptionSpec", {"kmsKeyName": "k"}),
    (types.TENSORBOARD, "region", "us-east1"),
    (types.PROJECT_MEMBER, "role", "roles/y"),
    (types.PROJECT_MEMBER, "project", "other"),
    (types.BUCKET_MEMBER, "bucket", "other"),
    (types.ACCOUNT_MEMBER, "member", "serviceAccount:b"),
    (types.ACCOUNT, "accountId", "other-jobs"),
    (types.API, "service", "storage.googleapis.com"),
]

UPDATES: list[tuple[str, str, Any]] = [
    (types.SUBNETWORK, "ipCidrRange", "10.0.0.0/19"),
    (types.CLUSTER, "ipAllocationPolicy.stackType", "IPV4_IPV6"),
    (types.NODE_POOL, "placementPolicy.type", ""),
    (types.NODE_POOL, "placementPolicy.tpuTopology", "4x4"),
    (types.RESOURCE_POLICY, "name", "other"),
    (types.CLUSTER, "privateClusterConfig.enablePrivateNodes", False),
    (types.CLUSTER, "privateClusterConfig.enablePrivateEndpoint", True),
    (types.CLUSTER, "masterAuthorizedNetworksConfig.cidrBlocks", [{"cidrBlock": "0.0.0.0/0"}]),
    (types.CLUSTER, "releaseChannel.channel", "RAPID"),
    (types.CLUSTER, "resourceLabels.owner", "bob"),
    (types.CLUSTER, "addonsConfig.gcsFuseCsiDriverConfig.enabled", False),
    (types.CLUSTER, "deletionProtection", True),
    (types.NODE_POOL, NODE + "machineType", "g2-standard-8"),
    (types.NODE_POOL, NODE + "diskType", "pd-ssd"),
    (types.NODE_POOL, NODE + "diskSizeGb", 200),
    (types.NODE_POOL, NODE + "labels.pool", "other"),
    (types.NODE_POOL, NODE + "taints", None),
    (types.NODE_POOL, NODE + "resourceLabels.owner", "bob"),
    (types.NODE_POOL, "autoscaling.totalMaxNodeCount", 8),
    (types.NODE_POOL, "management.autoRepair", False),
    (types.NODE_POOL, "upgradeSettings.maxSurge", 2),
    (types.BUCKET, "forceDestroy", True),
    (types.BUCKET, "labels", {"owner": "bob"}),
    (types.REPOSITORY, "labels", {"owner": "bob"}),
    (types.TENSORBOARD, "displayName", "other"),
    (types.ACCOUNT, "displayName", "other"),
    (types.API, "disableOnDestroy", True),
]

LEFT: list[tuple[str, str]] = [
    (types.CLUSTER, "masterAuthorizedNetworksConfig"),
    (types.CLUSTER, "privateClusterConfig"),
    (types.CLUSTER, "releaseChannel"),
    (types.CLUSTER, "workloadIdentityConfig"),
    (types.CLUSTER, "nodeConfig"),
    (types.NODE_POOL, NODE + "shieldedInstanceConfig"),
    (types.NODE_POOL, NODE + "guestAccelerators[0].gpuDriverInstallationConfig"),
    (types.NODE_POOL, NODE + "guestAccelerators"),
]


def changed(inputs: Any, path: str, value: Any) -> tuple[Any, Any]:
    """The inputs with another value at the path, None for none, and the value that was there."""
    key, _, rest = path.replace("[0]", ".0").partition(".")
    if isinstance(inputs, list):
        item, old = changed(inputs[0], rest, value)
        return [item, *inputs[1:]], old
    if not rest:
        others = {name: other for name, other in inputs.items() if name != key}
        return others if value is None else {**others, key: value}, inputs.get(key)
    below, old = changed(inputs[key], rest, value)
    return {**inputs, key: below}, old


@pytest.mark.parametrize(
    ("kind", "type", "path", "value"),
    [
        *[("replace", *row) for row in REPLACES],
        *[("update", *row) for row in UPDATES],
        *[("none", *row, None) for row in LEFT],
    ],
)
def test_a_change_of_one_input_does_what_the_provider_was_seen_to_do(
    kind: Any, type: str, path: str, value: Any
) -> None:
    new, old = changed(INPUTS[type], path, value)
    assert effect(type, INPUTS[type], new) == Effect((Change(path, old, value, kind),))


@pytest.mark.parametrize("type", INPUTS)
def test_no_change_is_no_change(type: str) -> None:
    assert effect(type, INPUTS[type], dict(INPUTS[type])) == Effect()


@pytest.mark.parametrize(
    ("type", "old", "new"),
    [
        (types.NODE_POOL, {"nodeConfig": {"oauthScopes": ["a", "b"]}}, {"nodeConfig": {"oauthScopes": ["b", "a"]}}),
        (types.NODE_POOL, {"nodeConfig": {"spot": False}}, {"nodeConfig": {}}),
        (types.NODE_POOL, {"nodeConfig": {}}, {"nodeConfig": {"spot": False}}),
        (types.CLUSTER, {"network": "default"}, {"network": "projects/acme/global/networks/default"}),
        (
            types.SUBNETWORK,
            {"network": "https://www.googleapis.com/compute/v1/projects/a/global/networks/n"},
            {"network": "projects/a/global/networks/n"},
        ),
        (
            types.RUN,
            {"jobs": [{"args": ["1"], "executable": {"digest": "a", "runner": "x"}}]},
            {"jobs": [{"args": ["2"], "executable": {"digest": "a", "runner": "y"}}]},
        ),
    ],
)
def test_another_way_to_say_the_same_is_no_change(type: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    assert effect(type, old, new) == Effect()


@pytest.mark.parametrize(
    ("type", "old", "new", "kind", "forced_by"),
    [
        pytest.param(
            types.CLUSTER,
            {"location": "a", "resourceLabels": {"o": "1"}},
            {"location": "b", "resourceLabels": {"o": "2"}},
            "replace",
            ("location",),
            id="only what forces it is the cause",
        ),
        pytest.param(
            types.NODE_POOL, {"cluster": "${a.id}"}, {"cluster": "${b.id}"}, "replace", ("cluster",), id="unknown"
        ),
        pytest.param(
            types.CLUSTER,
            {},
            {"privateClusterConfig": {"enablePrivateNodes": True}},
            "update",
            (),
            id="block without it",
        ),
        pytest.param(
            types.CLUSTER,
            {},
            {"privateClusterConfig": {"masterIpv4CidrBlock": "172.16.0.0/28"}},
            "replace",
            ("privateClusterConfig",),
            id="block with it",
        ),
        pytest.param(
            types.RESOURCE_POLICY, {"workloadPolicy": {}}, {}, "replace", ("workloadPolicy",), id="block taken away"
        ),
        pytest.param(
            types.JOB,
            {"spec": {"template": {"a": 1}}},
            {"spec": {"template": {"a": 2}}},
            "replace",
            ("spec.template.a",),
            id="a Job's pods",
        ),
        pytest.param(
            types.JOB, {"spec": {"backoffLimit": 1}}, {"spec": {"backoffLimit": 2}}, "update", (), id="a Job's retries"
        ),
        pytest.param(
            types.SECRET,
            {"stringData": {"k": "${x}"}},
            {"stringData": {"k": "${y}"}},
            "replace",
            ("stringData.k",),
            id="a Secret",
        ),
        pytest.param(
            types.NAMESPACE,
            {"metadata": {"name": "a"}},
            {"metadata": {"name": "b"}},
            "replace",
            ("metadata.name",),
            id="a namespace",
        ),
        pytest.param(
            types.PROVIDER,
            {"kubeconfig": "a", "clusterIdentifier": "c"},
            {"kubeconfig": "b", "clusterIdentifier": "c"},
            "update",
            (),
            id="credentials",
        ),
        pytest.param(
            types.PROVIDER,
            {"clusterIdentifier": "c"},
            {"clusterIdentifier": "d"},
            "replace",
            ("clusterIdentifier",),
            id="another cluster",
        ),
        pytest.param(types.RUN, {"identity": "a"}, {"identity": "b"}, "replace", ("identity",), id="another trial"),
        pytest.param(
            types.RUN,
            {"jobs": [{"executable": {"digest": "a"}}]},
            {"jobs": [{"executable": {"digest": "b"}}]},
            "replace",
            ("jobs[0].executable.digest",),
            id="other code",
        ),
        pytest.param(
            types.CUSTOM_JOB,
            {"jobSpec": {"a": 1}},
            {"jobSpec": {"a": 2}, "wait": True},
            "replace",
            ("jobSpec.a",),
            id="a CustomJob",
        ),
        pytest.param(types.CUSTOM_JOB, {}, {"wait": True}, "update", (), id="waiting for a CustomJob"),
        pytest.param(types.IMAGE, {"tags": ["a"]}, {"tags": ["b"]}, "update", (), id="another image"),
        pytest.param(types.CODE, {"digest": "a"}, {"digest": "b"}, "update", (), id="code"),
        pytest.param(
            "gcp:sql/databaseInstance:DatabaseInstance",
            {"region": "a"},
            {"region": "b"},
            "replace",
            ("region",),
            id="a type of another version",
        ),
    ],
)
def test_what_is_replaced_and_why(
    type: str, old: dict[str, Any], new: dict[str, Any], kind: str, forced_by: tuple[str, ...]
) -> None:
    outcome = effect(type, old, new)
    assert (outcome.kind, outcome.forced_by) == (kind, forced_by)


def test_ignored_changes_are_none() -> None:
    old = {"nodeConfig": {"serviceAccount": "a"}, "description": "x"}
    new = {"nodeConfig": {"serviceAccount": "b"}, "description": "y"}
    assert effect(types.CLUSTER, old, new, ignored=["nodeConfig"]).forced_by == ("description",)


def test_keys_with_the_paths_own_punctuation_are_quoted() -> None:
    outcome = effect(types.JOB, {"metadata": {"annotations": {}}}, {"metadata": {"annotations": {"pulumi.com/x": "y"}}})
    assert outcome == Effect((Change('metadata.annotations["pulumi.com/x"]', None, "y", "update"),))


def test_every_type_of_a_program_has_a_row() -> None:
    tokens = {value for value in vars(types).values() if isinstance(value, str) and value.count(":") == 2}
    assert tokens | set(types.OBJECTS.values()) == TABLE.keys()


def test_no_path_stands_twice() -> None:
    twice = {
        (row.token, path)
        for row in TABLE.values()
        for paths in (row.replaces, row.blocks, row.kept)
        for path in paths
        if paths.count(path) > 1
    }
    assert twice == set()
