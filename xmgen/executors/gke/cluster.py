"""The resources of a stack's cluster: its network, the account of its nodes, its node pools, how Jobs reach it."""

from __future__ import annotations

from collections.abc import Iterator

from xmgen import names, resource_types
from xmgen.catalog.pools import NodePool
from xmgen.executors.gke.plan import autoscaling, node_settings, placement_policy, workload_policy
from xmgen.executors.google import LABELS, NEEDED, OPTIONAL, PROJECT, REGION, account, labels, services
from xmgen.plan.model import Cluster, Plan
from xmgen.plan.resources import (
    Commented,
    ConfigurationKey,
    Input,
    Json,
    Options,
    Output,
    Resource,
    Setting,
    Text,
    Variable,
)

APIS = ("artifactregistry", "cloudresourcemanager", "compute", "container", "iam", "iamcredentials", "storage")

NODE_ROLES = ("container.defaultNodeServiceAccount", "artifactregistry.reader")

LOCATION = Variable("location")
_SCOPES: list[Input] = ["https://www.googleapis.com/auth/cloud-platform"]


def resources(plan: Plan, cluster: Cluster) -> Iterator[Resource]:
    stack = plan.experiment.stack
    own = cluster.kind == "own"
    yield services((*APIS, *(["file"] if own and cluster.filestore else [])))
    if own:
        yield from _network(stack)
    if own or (cluster.kind == "existing" and cluster.pools):
        yield account("nodes", "nodes", "Nodes", stack)
        yield _node_roles()
    if own:
        yield _cluster(stack, cluster)
        yield _system_pool(cluster)
    yield from _policies(cluster)
    for number, pool in enumerate(cluster.pools):
        yield node_pool(pool, cluster, first=number == 0)
    if plan.units or not own:
        yield _provider(stack, cluster)


def choice(cluster: Cluster) -> str:
    """Whose cluster it is, as `--cluster` takes it."""
    if cluster.kind == "own":
        return "own"
    at = f"@{cluster.location}" if cluster.kind == "existing" and cluster.location else ""
    return f"{cluster.kind}:{cluster.name}{at}"


def configuration(cluster: Cluster) -> dict[str, ConfigurationKey]:
    keys = {"gcp:project": NEEDED, "owner": NEEDED}
    if cluster.kind != "stack" and cluster.location is None:
        keys["location"] = NEEDED
    if cluster.kind == "own":
        keys |= {"authorizedNetworks": NEEDED, "subnetwork": OPTIONAL, "network": OPTIONAL}
        keys |= {"podsRange": OPTIONAL, "servicesRange": OPTIONAL}
        if cluster.location is None:
            keys["systemMachineType"] = OPTIONAL
    return keys


def variables(plan: Plan, cluster: Cluster) -> dict[str, Input]:
    """What the frame of `cluster.py` computes, in the notation of Pulumi YAML."""
    result: dict[str, Input] = {"project": Setting("gcp:project")}
    match cluster.kind:
        case "stack":
            result["shared"] = {"fn::stackReference": cluster.name}
            result["region"] = Output("shared", "region")
        case "own" | "existing":
            result["location"] = Setting("location") if cluster.location is None else cluster.location
            result["region"] = {"fn::region": LOCATION}
    result["labels"] = labels(plan.experiment)
    match cluster.kind:
        case "own":
            result |= {
                "network_id": _unless_given("network", Output("network", "id")),
                "subnetwork_id": _unless_given("subnetwork", Output("subnetwork", "id")),
                "pods_range": _unless_given("podsRange", "pods"),
                "services_range": _unless_given("servicesRange", "services"),
                "egress": {"fn::ifSet": ["subnetwork", [], [Output("nat", "")]]},
                "authorized": {"fn::cidrBlocks": Setting("authorizedNetworks")},
            }
        case "stack":
            result |= {"cluster_id": Output("shared", "id"), "nodes_email": Output("shared", "nodesEmail")}
            result |= {"endpoint": Output("shared", "endpoint"), "ca_certificate": Output("shared", "caCertificate")}
        case "existing":
            where: dict[str, Input] = {"name": cluster.name, "location": LOCATION, "project": PROJECT}
            result["found"] = {
                "fn::invoke": {"function": "gcp:container/getCluster:getCluster", "arguments": where},
            }
            result |= {"cluster_id": Output("found", "id"), "endpoint": Output("found", "endpoint")}
            result["ca_certificate"] = Output("found", "masterAuths[0].clusterCaCertificate")
    return result


def _unless_given(setting: str, own: Input) -> Input:
    """A setting that goes with an existing subnetwork; else the stack's own."""
    return {"fn::ifSet": ["subnetwork", Setting(setting), own]}


def _network(stack: str) -> Iterator[Resource]:
    def declared(variable: str, type_: str, inputs: dict[str, Input], why: str = "", *needs: str) -> Resource:
        options = Options(depends_on=needs)
        return Resource(
            variable=variable,
            name=names.on_google(stack),
            type=type_,
            inputs=inputs,
            options=options,
            unless="subnetwork",
            why=why,
        )

    network = Output("network", "id")
    yield declared("network", resource_types.NETWORK, {"autoCreateSubnetworks": False}, "", "*services")
    yield declared(
        "subnetwork",
        resource_types.SUBNETWORK,
        {
            "network": network,
            "region": REGION,
            "ipCidrRange": "10.0.0.0/20",
            "secondaryIpRanges": [
                {"rangeName": "pods", "ipCidrRange": "10.4.0.0/14"},
                {"rangeName": "services", "ipCidrRange": "10.0.16.0/20"},
            ],
            "privateIpGoogleAccess": Commented(
                True, "Nodes have no public addresses; this is how they reach Google's APIs and the registry."
            ),
        },
    )
    yield declared("router", resource_types.ROUTER, {"network": network, "region": REGION})
    yield declared(
        "nat",
        resource_types.ROUTER_NAT,
        {
            "router": Output("router", "name"),
            "region": REGION,
            "natIpAllocateOption": "AUTO_ONLY",
            "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
            "subnetworks": [{"name": Output("subnetwork", "id"), "sourceIpRangesToNats": ["ALL_IP_RANGES"]}],
        },
        "And this is how they reach everything else, such as package indexes and data sets.",
    )


def _node_roles() -> Resource:
    return Resource(
        variable="node_roles",
        name=Variable("role"),
        type=resource_types.PROJECT_MEMBER,
        inputs={
            "project": PROJECT,
            "role": Text(("roles/", Variable("role"))),
            "member": Output("nodes", "member"),
        },
        over=("role", NODE_ROLES),
        why="What nodes need and no more: to log and report, and to pull images.",
    )


def _cluster(stack: str, cluster: Cluster) -> Resource:
    drivers: dict[str, Input] = {"gcsFuseCsiDriverConfig": {"enabled": True}}
    if cluster.filestore:
        drivers["gcpFilestoreCsiDriverConfig"] = {"enabled": True}
    return Resource(
        variable="cluster",
        name=names.on_google(stack),
        type=resource_types.CLUSTER,
        inputs={
            "location": LOCATION,
            "network": Variable("network_id", plain=False),
            "subnetwork": Variable("subnetwork_id", plain=False),
            "networkingMode": "VPC_NATIVE",
            "ipAllocationPolicy": {
                "clusterSecondaryRangeName": Variable("pods_range"),
                "servicesSecondaryRangeName": Variable("services_range"),
            },
            "privateClusterConfig": {"enablePrivateNodes": True, "enablePrivateEndpoint": False},
            "masterAuthorizedNetworksConfig": Variable("authorized"),
            "releaseChannel": {"channel": "REGULAR"},
            "workloadIdentityConfig": {"workloadPool": Text((PROJECT, ".svc.id.goog"))},
            "addonsConfig": drivers,
            "initialNodeCount": Commented(
                1,
                "GKE creates no cluster without a pool: it makes the smallest one and drops it. The pools below stay "
                "apart from the cluster, so that a change of one does not replace the other.",
            ),
            "removeDefaultNodePool": True,
            "nodeConfig": Commented(
                {"serviceAccount": Output("nodes", "email")},
                "For that pool alone: it would act as the project's default account, which many organisations disable.",
            ),
            "deletionProtection": Commented(
                False, "Pulumi's own `protect` guards a cluster; the provider's would make `destroy` fail."
            ),
            "resourceLabels": LABELS,
        },
        options=Options(
            depends_on=("*egress", "*node_roles"),
            ignore_changes=("nodeConfig", "nodePools"),
            why_ignored="Read again, these are those of whatever pools there are by then: the difference would replace "
            "the cluster.",
        ),
    )


def _system_pool(cluster: Cluster) -> Resource:
    machine: Input = cluster.system_machine_type or ""
    if cluster.location is None:
        machine = Commented(
            Setting("systemMachineType", str(machine)),
            "Where this type does not exist, the stack's configuration names another.",
        )
    return Resource(
        variable="system",
        name="system",
        type=resource_types.NODE_POOL,
        inputs={
            "cluster": Output("cluster", "id"),
            "nodeCount": 1,
            "nodeConfig": {"machineType": machine, **_of_all_nodes(Output("nodes", "email"), secure_boot=True)},
        },
        options=Options(parent="cluster"),
        why="Where the cluster's own pods run. An idle stack pays for this node, the cluster and Cloud NAT.",
    )


def _policies(cluster: Cluster) -> Iterator[Resource]:
    for pool in cluster.pools:
        if topology := workload_policy(pool):
            yield Resource(
                variable=_policy_variable(pool),
                name=pool.name,
                type=resource_types.RESOURCE_POLICY,
                inputs={
                    "region": REGION,
                    "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": topology},
                },
                options=Options(parent="cluster" if cluster.kind == "own" else ""),
            )


def _policy_variable(pool: NodePool) -> str:
    return f"{names.identifier(pool.name)}_policy"


def node_pool(pool: NodePool, cluster: Cluster, *, first: bool = False) -> Resource:
    own = cluster.kind == "own"
    inputs: dict[str, Input] = {
        "name": pool.name,
        "cluster": Output("cluster", "id") if own else Variable("cluster_id", plain=False),
    }
    if pool.zones and pool.zones != (cluster.location,):
        inputs["nodeLocations"] = list(pool.zones)
    inputs["autoscaling"] = autoscaling(pool)
    inputs["ignoreNodeCountChanges"] = Commented(True, "the autoscaler owns the size", after=True)
    if policy := placement_policy(pool):
        inputs["placementPolicy"] = policy
    if topology := workload_policy(pool):
        of_workload: dict[str, Input] = {
            "type": Commented("", "that of the policy; Google stores none here", after=True),
            "policyName": Output(_policy_variable(pool), "name"),
        }
        inputs["placementPolicy"] = {**of_workload, **({"tpuTopology": topology} if pool.tpu else {})}
    if pool.provisioning == "flex-start":
        # Machines that come for a limited time are not repaired but given back.
        inputs["management"] = {"autoRepair": False, "autoUpgrade": True}
    nodes = Variable("nodes_email", plain=False) if cluster.kind == "stack" else Output("nodes", "email")
    # The drivers of GPUs are not signed.
    inputs["nodeConfig"] = {**node_settings(pool), **_of_all_nodes(nodes, secure_boot=pool.gpu is None)}
    return Resource(
        variable="pools",
        key=pool.name,
        name=pool.name,
        type=resource_types.NODE_POOL,
        inputs=inputs,
        options=Options(
            parent="cluster" if own else "",
            depends_on=("*node_roles",) if cluster.kind == "existing" else (),
            delete_before_replace=True,
            ignore_changes=("nodeConfig.advancedMachineFeatures",) if pool.tpu is not None else (),
            why_ignored="Google turns multithreading off on hosts of TPUs: read again, that would replace the pool.",
        ),
        why="One pool for each kind of machine that the jobs need. They start empty, and are empty again when the jobs "
        "are done."
        if first
        else "",
    )


def _of_all_nodes(email: Input, *, secure_boot: bool) -> dict[str, Input]:
    return {
        "serviceAccount": email,
        "oauthScopes": _SCOPES,
        "shieldedInstanceConfig": {"enableSecureBoot": secure_boot, "enableIntegrityMonitoring": True},
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "resourceLabels": LABELS,
    }


def _provider(stack: str, cluster: Cluster) -> Resource:
    own = cluster.kind == "own"
    endpoint: Variable | Output = Output("cluster", "endpoint") if own else Variable("endpoint", plain=False)
    certificate = (
        Output("cluster", "masterAuth.clusterCaCertificate") if own else Variable("ca_certificate", plain=False)
    )
    pools = ("*pools",) if cluster.pools else ()
    return Resource(
        variable="provider",
        name=stack,
        type=resource_types.PROVIDER,
        inputs={
            "kubeconfig": Json(_kubeconfig(endpoint, certificate)),
            "clusterIdentifier": Commented(
                Output("cluster", "id") if own else Variable("cluster_id", plain=False),
                "Only another cluster replaces the provider, and with it everything on the cluster.",
            ),
        },
        options=Options(
            parent="cluster" if own else "",
            depends_on=("system", *pools) if own else pools,
            why="Jobs are created after the nodes that they need and deleted before them." if own or pools else "",
        ),
    )


def _kubeconfig(endpoint: Variable | Output, certificate: Input) -> Input:
    plugin: dict[str, Input] = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "provideClusterInfo": True,
    }
    server: dict[str, Input] = {
        "server": Text(("https://", endpoint)),
        "certificate-authority-data": certificate,
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "gke",
        "contexts": [{"name": "gke", "context": {"cluster": "gke", "user": "gke"}}],
        "clusters": [{"name": "gke", "cluster": server}],
        "users": Commented(
            [{"name": "gke", "user": {"exec": plugin}}],
            "The credentials are those of whoever runs Pulumi; none are in this file or in the state.",
        ),
    }
