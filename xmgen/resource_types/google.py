"""Google's: what pulumi-gcp makes of a change, and what Google takes for a name.

Sources. *Measured*: pulumi-gcp 9.35 asked for Diff on 888 changes of single properties of generated stacks, 2026-11-30.
*Upstream*: ForceNew, Computed and CustomizeDiff of terraform-provider-google-beta 7.45, which it wraps, in
the files of google-beta/services that each row names. *Names*: pulumi-gcp, provider/resources.go (what is autonamed),
and Google's reference. *Ids*: "Import" of each resource in the registry of pulumi-gcp
(https://www.pulumi.com/registry/packages/gcp/api-docs/).
"""

from __future__ import annotations

import re

from xmgen import resource_types as types
from xmgen.resource_types.model import Input, Name, ResourceType, default, in_any_order, same_link, widened

_COMPUTE_NAME = Name(
    input="name",
    # Upstream: verify.ValidateGCEName, by which also Compute Engine's API judges.
    pattern=re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"),
    rule="at most 63 lower-case letters, digits and hyphens, a letter first and no hyphen last",
)
_CLUSTER_NAME = Name(
    input="name",
    # GKE REST API, projects.locations.clusters: name.
    pattern=re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?"),
    rule="at most 40 lower-case letters, digits and hyphens, a letter first and no hyphen last",
)
_POOL_NAME = Name(
    input="name",
    # GKE REST API, projects.locations.clusters.nodePools: name; "must be less than 40 characters" (xpk#999).
    pattern=re.compile(r"[a-z]([-a-z0-9]{0,37}[a-z0-9])?"),
    rule="at most 39 lower-case letters, digits and hyphens, a letter first and no hyphen last",
)


def _not_yet(old: Input, new: Input) -> bool:
    """Whether something was not enabled before: it can be, and cannot be disabled again."""
    return old is not True


# Upstream: container/node_config.go: schemaNodeConfig. Measured, apart from what generated stacks do not have.
_NODE_REPLACES = tuple(
    f"nodeConfig.{path}"
    for path in (
        "advancedMachineFeatures",
        "bootDiskKmsKey",
        "confidentialNodes.confidentialInstanceType",
        "enableConfidentialStorage",
        "ephemeralStorageConfig",
        "ephemeralStorageLocalSsdConfig",
        "flexStart",
        "guestAccelerators",
        "hostMaintenancePolicy",
        "localNvmeSsdBlockConfig",
        "localSsdCount",
        "localSsdEncryptionMode",
        "maxRunDuration",
        "metadata",
        "minCpuPlatform",
        "nodeGroup",
        "oauthScopes",
        "preemptible",
        "reservationAffinity",
        "secondaryBootDisks",
        "serviceAccount",
        "shieldedInstanceConfig",
        "soleTenantConfig",
        "spot",
    )
)
_NODE_KEPT = (
    "nodeConfig",
    *(
        f"nodeConfig.{path}"
        for path in (
            "bootDisk",
            "confidentialNodes",
            "containerdConfig",
            "diskSizeGb",
            "diskType",
            "gcfsConfig",
            "guestAccelerators",
            "guestAccelerators.gpuDriverInstallationConfig",
            "imageType",
            "kubeletConfig",
            "labels",
            "linuxNodeConfig",
            "localSsdCount",
            "loggingVariant",
            "machineType",
            "metadata",
            "minCpuPlatform",
            "oauthScopes",
            "serviceAccount",
            "shieldedInstanceConfig",
            "windowsNodeConfig",
            "workloadMetadataConfig",
        )
    ),
)
_NODE_SAME = {
    "nodeConfig.oauthScopes": in_any_order,
    "nodeConfig.preemptible": default(False),
    "nodeConfig.reservationAffinity.values": in_any_order,
    "nodeConfig.shieldedInstanceConfig.enableIntegrityMonitoring": default(True),
    "nodeConfig.shieldedInstanceConfig.enableSecureBoot": default(False),
    "nodeConfig.spot": default(False),
}


def _cluster() -> ResourceType:
    """Upstream: container/resource_container_cluster.go. Measured: what generated stacks set."""
    return ResourceType(
        token=types.CLUSTER,
        noun="cluster",
        id="projects/{project}/locations/{location}/clusters/{name}",
        name=_CLUSTER_NAME,
        replaces=(
            "clusterAutoscaling.autoProvisioningDefaults.bootDiskKmsKey",
            "clusterIpv4Cidr",
            "confidentialNodes",
            "dataplaneOptimizationMode",
            "datapathProvider",
            "defaultMaxPodsPerNode",
            "description",
            "enableAutopilot",
            "enableFqdnNetworkPolicy",
            "enableKubernetesAlpha",
            "enableL4IlbSubsetting",
            "enableTpu",
            "initialNodeCount",
            "ipAllocationPolicy.clusterIpv4CidrBlock",
            "ipAllocationPolicy.clusterSecondaryRangeName",
            "ipAllocationPolicy.podCidrOverprovisionConfig",
            "ipAllocationPolicy.servicesIpv4CidrBlock",
            "ipAllocationPolicy.servicesSecondaryRangeName",
            "location",
            "masterAuth.clientCertificateConfig",
            "name",
            "network",
            "networkingMode",
            "nodePools",
            "privateClusterConfig.masterIpv4CidrBlock",
            "privateClusterConfig.privateEndpointSubnetwork",
            "project",
            "subnetwork",
            "tpuConfig.enabled",
            "tpuConfig.useServiceNetworking",
            "userManagedKeysConfig.aggregationCa",
            "userManagedKeysConfig.clusterCa",
            "userManagedKeysConfig.etcdApiCa",
            "userManagedKeysConfig.etcdPeerCa",
            *_NODE_REPLACES,
        ),
        blocks=("nodeConfig.sandboxConfig",),
        kept=(
            "addonsConfig",
            "authenticatorGroupsConfig",
            "clusterAutoscaling",
            "clusterIpv4Cidr",
            "clusterTelemetry",
            "confidentialNodes",
            "controlPlaneEndpointsConfig",
            "costManagementConfig",
            "databaseEncryption",
            "datapathProvider",
            "defaultMaxPodsPerNode",
            "defaultSnatStatus",
            "enableIntranodeVisibility",
            "enableL4IlbSubsetting",
            "enableTpu",
            "gatewayApiConfig",
            "identityServiceConfig",
            "ipAllocationPolicy",
            "ipAllocationPolicy.clusterIpv4CidrBlock",
            "ipAllocationPolicy.clusterSecondaryRangeName",
            "ipAllocationPolicy.servicesIpv4CidrBlock",
            "ipAllocationPolicy.servicesSecondaryRangeName",
            "loggingConfig",
            "loggingService",
            "masterAuth",
            "masterAuthorizedNetworksConfig",
            "meshCertificates",
            "monitoringConfig",
            "monitoringService",
            "networkingMode",
            "nodeLocations",
            "nodePoolAutoConfig",
            "nodePoolDefaults",
            "nodePools",
            "nodeVersion",
            "notificationConfig",
            "privateClusterConfig",
            "privateClusterConfig.masterGlobalAccessConfig",
            "privateClusterConfig.masterIpv4CidrBlock",
            "privateIpv6GoogleAccess",
            "releaseChannel",
            "securityPostureConfig",
            "serviceExternalIpsConfig",
            "subnetwork",
            "verticalPodAutoscaling",
            "workloadIdentityConfig",
            *(f"addonsConfig.{name}" for name in ("gcpFilestoreCsiDriverConfig", "gcsFuseCsiDriverConfig")),
            *_NODE_KEPT,
        ),
        same={
            "deletionProtection": default(True),
            "enableKubernetesAlpha": default(False),
            "ipAllocationPolicy.stackType": default("IPV4"),
            "masterAuthorizedNetworksConfig.cidrBlocks": in_any_order,
            "network": same_link,
            "nodeLocations": in_any_order,
            "subnetwork": same_link,
            **_NODE_SAME,
        },
        in_place={"enableFqdnNetworkPolicy": _not_yet, "enableL4IlbSubsetting": _not_yet},
        loses="everything that runs on it and is stored in it",
    )


def _node_pool() -> ResourceType:
    """Upstream: container/resource_container_node_pool.go. Measured: what generated stacks set."""
    return ResourceType(
        token=types.NODE_POOL,
        noun="node pool",
        id="projects/{project}/locations/{location}/clusters/{cluster}/nodePools/{name}",
        import_id="{project}/{location}/{cluster}/{name}",
        name=_POOL_NAME,
        replaces=(
            "cluster",
            "initialNodeCount",
            "location",
            "maxPodsPerNode",
            "name",
            "namePrefix",
            "networkConfig.acceleratorNetworkProfile",
            "networkConfig.additionalNodeNetworkConfigs",
            "networkConfig.additionalPodNetworkConfigs",
            "networkConfig.createPodRange",
            # Measured; upstream updates it once Google has filled the block in.
            "networkConfig.enablePrivateNodes",
            "networkConfig.podCidrOverprovisionConfig",
            "networkConfig.podIpv4CidrBlock",
            "networkConfig.podRange",
            "networkConfig.subnetwork",
            "placementPolicy.policyName",
            "project",
            "queuedProvisioning",
            *_NODE_REPLACES,
        ),
        blocks=("nodeConfig.sandboxConfig", "placementPolicy"),
        kept=(
            "initialNodeCount",
            "management",
            "maxPodsPerNode",
            "networkConfig",
            "nodeCount",
            "nodeDrainConfigs",
            "nodeLocations",
            "upgradeSettings",
            "version",
            *_NODE_KEPT,
        ),
        same={"nodeLocations": in_any_order, **_NODE_SAME},
    )


GOOGLE = (
    _cluster(),
    _node_pool(),
    ResourceType(
        # Upstream: compute/resource_compute_network.go.
        token=types.NETWORK,
        noun="network",
        id="projects/{project}/global/networks/{name}",
        name=_COMPUTE_NAME,
        replaces=(
            "autoCreateSubnetworks",
            "description",
            "internalIpv6Range",
            "name",
            "networkProfile",
            "params",
            "project",
        ),
        kept=("mtu", "routingMode"),
        same={"autoCreateSubnetworks": default(True)},
    ),
    ResourceType(
        # Upstream: compute/resource_compute_subnetwork.go (ip_cidr_range: ForceNewIfChange IsShrinkageIpCidr).
        token=types.SUBNETWORK,
        noun="subnetwork",
        id="projects/{project}/regions/{region}/subnetworks/{name}",
        name=_COMPUTE_NAME,
        replaces=(
            "description",
            "externalIpv6Prefix",
            "internalIpv6Prefix",
            "ipCidrRange",
            "name",
            "network",
            "params",
            "project",
            "region",
            "reservedInternalRange",
            "resolveSubnetMask",
        ),
        kept=("privateIpGoogleAccess", "privateIpv6GoogleAccess", "purpose", "stackType"),
        same={"network": same_link},
        in_place={"ipCidrRange": widened},
    ),
    ResourceType(
        # Upstream: compute/resource_compute_router.go.
        token=types.ROUTER,
        noun="router",
        id="projects/{project}/regions/{region}/routers/{name}",
        name=_COMPUTE_NAME,
        replaces=("encryptedInterconnectRouter", "name", "nccGateway", "network", "project", "region"),
        blocks=("params",),
        same={"network": same_link},
    ),
    ResourceType(
        # Upstream: compute/resource_compute_router_nat.go.
        token=types.ROUTER_NAT,
        noun="NAT gateway",
        id="{project}/{region}/{router}/{name}",
        import_id="projects/{project}/regions/{region}/routers/{router}/{name}",
        name=Name(
            input="name",
            pattern=re.compile(r"[a-z][-a-z0-9]{0,61}[a-z0-9]"),  # upstream: ValidateRFC1035Name(2, 63)
            rule="2 to 63 lower-case letters, digits and hyphens, a letter first and no hyphen last",
        ),
        replaces=("endpointTypes", "initialNatIps", "name", "project", "region", "router", "type"),
        kept=(
            "autoNetworkTier",
            "enableDynamicPortAllocation",
            "enableEndpointIndependentMapping",
            "endpointTypes",
            "minPortsPerVm",
            "natIps",
        ),
        same={"router": same_link, "subnetworks": in_any_order, "type": default("PUBLIC")},
    ),
    ResourceType(
        # Upstream: compute/resource_compute_resource_policy.go. Its name is updated: measured.
        token=types.RESOURCE_POLICY,
        noun="placement policy",
        id="projects/{project}/regions/{region}/resourcePolicies/{name}",
        name=_COMPUTE_NAME,
        replaces=(
            "diskConsistencyGroupPolicy",
            "groupPlacementPolicy.gpuTopology",
            "groupPlacementPolicy.tpuTopology",
            "project",
            "region",
            "workloadPolicy",
        ),
    ),
    ResourceType(
        # Upstream: resourcemanager/resource_google_service_account.go (account_id: ValidateRFC1035Name(6, 30)).
        token=types.ACCOUNT,
        noun="service account",
        id="projects/{project}/serviceAccounts/{accountId}@{project}.iam.gserviceaccount.com",
        name=Name(
            input="accountId",
            pattern=re.compile(r"[a-z][-a-z0-9]{4,28}[a-z0-9]"),
            rule="6 to 30 lower-case letters, digits and hyphens, a letter first and no hyphen last",
        ),
        replaces=("accountId", "project"),
    ),
    ResourceType(
        # Upstream: tpgiamresource: every field of a member is ForceNew.
        token=types.ACCOUNT_MEMBER,
        noun="grant on a service account",
        id="{serviceAccountId}/{role}/{member}",
        import_id="{serviceAccountId} {role} {member}",
        replaces=("condition", "member", "role", "serviceAccountId"),
    ),
    ResourceType(
        # pulumi-gcp, provider/resources.go: DeleteBeforeReplace.
        token=types.PROJECT_MEMBER,
        noun="grant in the project",
        id="{project}/{role}/{member}",
        import_id="{project} {role} {member}",
        replaces=("condition", "member", "project", "role"),
        old_first=True,
    ),
    ResourceType(
        token=types.BUCKET_MEMBER,
        noun="grant on a bucket",
        id="b/{bucket}/{role}/{member}",
        import_id="b/{bucket} {role} {member}",
        replaces=("bucket", "condition", "member", "role"),
    ),
    ResourceType(
        # Upstream: resourcemanager/resource_google_project_service.go.
        token=types.API,
        noun="API",
        id="{project}/{service}",
        replaces=("project", "service"),
    ),
    ResourceType(
        # Upstream: artifactregistry/resource_artifact_registry_repository.go.
        token=types.REPOSITORY,
        noun="image repository",
        id="projects/{project}/locations/{location}/repositories/{repositoryId}",
        name=Name(
            input="repositoryId",
            # Artifact Registry REST API, projects.locations.repositories: name. `gcr.io` and its like are names, too.
            pattern=re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?|([a-z]+\.)?gcr\.io"),
            rule="at most 63 lower-case letters, digits and hyphens, a letter first and no hyphen last",
            generated=False,
        ),
        replaces=(
            "format",
            "kmsKeyName",
            "location",
            "mavenConfig.allowSnapshotOverwrites",
            "mavenConfig.versionPolicy",
            "mode",
            "project",
            "remoteRepositoryConfig",
            "repositoryId",
        ),
        same={"mode": default("STANDARD_REPOSITORY")},
        loses="its images",
    ),
    ResourceType(
        # Upstream: storage/resource_storage_bucket.go. Names: https://cloud.google.com/storage/docs/buckets#naming.
        token=types.BUCKET,
        noun="bucket",
        id="{name}",
        import_id="{project}/{name}",
        name=Name(
            input="name",
            # A name of several parts may be longer than any of them.
            pattern=re.compile(
                r"(?!goog)(?!.*g[o0]{2}g[l1]e)(?=.{3,222}$)"
                r"[a-z0-9]([-_a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-_a-z0-9]{0,61}[a-z0-9])?)*"
            ),
            rule="3 to 63 lower-case letters, digits, hyphens and underscores, a letter or digit first and last, and "
            "nothing like `google` in it",
        ),
        replaces=(
            "customPlacementConfig",
            "enableObjectRetention",
            "hierarchicalNamespace",
            "location",
            "name",
            "project",
        ),
        kept=("publicAccessPrevention", "rpo", "softDeletePolicy", "uniformBucketLevelAccess", "versioning", "website"),
        same={"forceDestroy": default(False), "storageClass": default("STANDARD")},
        loses="what the jobs have written",
    ),
    ResourceType(
        # Upstream: vertexai/resource_vertex_ai_tensorboard.go. Its id is a number that Google draws.
        token=types.TENSORBOARD,
        noun="TensorBoard",
        name=Name(
            input="displayName",
            pattern=re.compile(
                r".{1,128}", re.DOTALL
            ),  # Vertex AI REST API, projects.locations.tensorboards: displayName
            rule="1 to 128 characters",
            generated=False,
        ),
        replaces=("encryptionSpec", "project", "region"),
        loses="what runs have reported to it",
    ),
)
