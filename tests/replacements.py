"""What pulumi-gcp 9.35 was seen to do with changes of single inputs of generated stacks, 2026-11-30."""

from __future__ import annotations

from typing import Any

from xmgen import resource_types as types

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


SEEN: list[tuple[str, str, str, Any]] = [
    *[("replace", *row) for row in REPLACES],
    *[("update", *row) for row in UPDATES],
    *[("none", *row, None) for row in LEFT],
]
"""Each: what happened, the type, the path of the input, and its new value, None for none."""
