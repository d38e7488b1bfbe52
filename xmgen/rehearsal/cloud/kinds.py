"""The kinds of resources that generated programs declare: how each is named, found, and what Google adds to it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xmgen.locations import region_of
from xmgen.rehearsal.cloud import machines
from xmgen.rehearsal.cloud.store import Properties, part
from xmgen.resource_types import CLUSTER, NODE_POOL, SUBNETWORK

NETWORK = "gcp:compute/network:Network"
ROUTER = "gcp:compute/router:Router"
ROUTER_NAT = "gcp:compute/routerNat:RouterNat"
RESOURCE_POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
ACCOUNT = "gcp:serviceaccount/account:Account"
ACCOUNT_MEMBER = "gcp:serviceaccount/iAMMember:IAMMember"
PROJECT_MEMBER = "gcp:projects/iAMMember:IAMMember"
SERVICE = "gcp:projects/service:Service"
REPOSITORY = "gcp:artifactregistry/repository:Repository"
BUCKET = "gcp:storage/bucket:Bucket"
BUCKET_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"
TENSORBOARD = "gcp:vertex/aiTensorboard:AiTensorboard"


WITHOUT_DEFAULT_POOL = "removeDefaultNodePool"
"""Property of a cluster, which only steers the provider."""


ELSEWHERE = "rehearse it in another folder, which has a control plane of its own"
"""What to do where one cluster would take the place of another."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a cluster's API server is: what every simulated cluster answers with."""

    address: str
    authority: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """named: the property that the provider fills with a generated name. id: Google's identity of it. api: the service
    that has to be enabled. parents: ids that it uses. replaces: properties that cannot be changed in place. unread:
    those that only steer the provider, which an import therefore does not find. gives_way: it is always deleted before
    another one takes its place (pulumi-gcp, provider/resources.go: DeleteBeforeReplace).
    """

    id: Callable[[Properties], str]
    api: str = ""
    named: str = ""
    outputs: Callable[[Properties], Properties] = lambda inputs: {}
    parents: Callable[[Properties], list[str]] = lambda inputs: []
    replaces: frozenset[str] = frozenset({"name", "project", "location", "region"})
    unread: frozenset[str] = frozenset()
    gives_way: bool = False
    filled: Callable[[Properties], list[str]] = lambda inputs: []
    """Paths of what Google fills in where the inputs leave it out, and what cannot be changed in place."""


def kind(type: str) -> Kind:
    return KINDS.get(type) or Kind(id=lambda inputs: f"{_project(inputs)}/{type}/{_hash(inputs)}", named="name")


def imported(type: str, id: str) -> str:
    """The id of what pulumi-gcp imports by this one, in the longest form that its documentation names."""
    words = id.split("/")
    match type:
        case t if t == NODE_POOL and len(words) == 4:
            project, location, cluster, pool = words
            return f"projects/{project}/locations/{location}/clusters/{cluster}/nodePools/{pool}"
        case t if t == ROUTER_NAT and len(words) == 7:
            return "/".join((words[1], words[3], words[5], words[6]))
        case t if t == BUCKET:
            return words[-1]
        case _:
            # Grants: what it is on, the role and the member.
            return id.replace(" ", "/")


def generated_name(name: str, seed: bytes) -> str:
    """As Pulumi's bridged providers name: the logical name and seven hex digits."""
    return f"{name}-{hashlib.sha256(seed).hexdigest()[:7]}"


def gives_way(type: str, name: str, inputs: Properties) -> bool:
    """Whether a resource is deleted before the one that takes its place is created: where a program names it itself, as
    both would have the same name (pulumi-terraform-bridge, pkg/tfbridge/schema.go: nameRequiresDeleteBeforeReplace).

    name: the logical one.
    """
    this = kind(type)
    generated = re.compile(f"{re.escape(name)}-[0-9a-f]{{7}}")
    given = bool(this.named) and this.named in inputs and not generated.fullmatch(str(inputs[this.named]))
    return this.gives_way or given


def full(text: str, project: str, collection: str) -> str:
    """An id from an id or a bare name."""
    return text if text.startswith("projects/") else f"projects/{project}/{collection}/{text}"


def _project(inputs: Properties) -> str:
    return f"projects/{inputs['project']}"


def _hash(inputs: Properties) -> str:
    return hashlib.sha256(repr(sorted(inputs.items())).encode()).hexdigest()[:12]


def _number(text: str) -> str:
    return str(int(hashlib.sha256(text.encode()).hexdigest()[:14], 16))


def email(inputs: Properties) -> str:
    return f"{inputs['accountId']}@{inputs['project']}.iam.gserviceaccount.com"


def _account(inputs: Properties) -> Properties:
    address = email(inputs)
    return {
        "email": address,
        "member": f"serviceAccount:{address}",
        "name": f"{_project(inputs)}/serviceAccounts/{address}",
        "uniqueId": _number(address),
        "disabled": False,
    }


def _cluster(inputs: Properties) -> Properties:
    return {
        "selfLink": f"https://container.googleapis.com/v1/{_located('clusters')(inputs)}",
        "masterVersion": "1.36.3-gke.1000",
        "operation": "",
    }


def _located(collection: str, place: str = "location") -> Callable[[Properties], str]:
    folder = "regions" if place == "region" else "locations"
    return lambda inputs: f"{_project(inputs)}/{folder}/{inputs[place]}/{collection}/{inputs['name']}"


def cluster_of(inputs: Properties) -> str:
    cluster = str(inputs["cluster"])
    return cluster if "/" in cluster else f"{_project(inputs)}/locations/{inputs['location']}/clusters/{cluster}"


def default_pool(cluster: str) -> str:
    """The id of the node pool with which GKE makes a cluster (GKE REST API, projects.locations.clusters:
    initialNodeCount).
    """
    return f"{cluster}/nodePools/default-pool"


def _self_link(id: str) -> Properties:
    return {"selfLink": f"https://www.googleapis.com/compute/v1/{id}"}


def _named_policies(inputs: Properties) -> list[str]:
    policy = part(inputs, "placementPolicy")
    if not policy.get("policyName"):
        return []
    region = region_of(cluster_of(inputs).split("/")[3])
    return [f"{_project(inputs)}/regions/{region}/resourcePolicies/{policy['policyName']}"]


def _filled_in_pools(inputs: Properties) -> list[str]:
    """GKE turns multithreading off on hosts of TPUs; pulumi-gcp replaces a pool for it (GKE REST API,
    AdvancedMachineFeatures: threadsPerCore).
    """
    config = part(inputs, "nodeConfig")
    is_tpu = machines.chips(str(config.get("machineType"))) is not None
    return ["nodeConfig.advancedMachineFeatures"] if is_tpu and "advancedMachineFeatures" not in config else []


def _network(inputs: Properties) -> list[str]:
    return [full(str(inputs["network"]), str(inputs["project"]), "global/networks")] if inputs.get("network") else []


def _cluster_parents(inputs: Properties) -> list[str]:
    parents = _network(inputs)
    if inputs.get("subnetwork"):
        region = region_of(str(inputs["location"]))
        parents.append(full(str(inputs["subnetwork"]), str(inputs["project"]), f"regions/{region}/subnetworks"))
    return parents


def _member(of: Callable[[Properties], str]) -> Callable[[Properties], str]:
    return lambda inputs: f"{of(inputs)}/{inputs['role']}/{inputs['member']}"


def _etag(inputs: Properties) -> Properties:
    return {"etag": _hash(inputs)}


def _global_network(inputs: Properties) -> str:
    return f"{_project(inputs)}/global/networks/{inputs['name']}"


def _tensorboard(inputs: Properties) -> str:
    number = _number(str(inputs["displayName"]))[:10]
    return f"{_project(inputs)}/locations/{inputs['region']}/tensorboards/{number}"


_MEMBER_REPLACES = frozenset({"role", "member", "bucket", "serviceAccountId", "project", "condition"})

KINDS: dict[str, Kind] = {
    SERVICE: Kind(
        id=lambda inputs: f"{inputs['project']}/{inputs['service']}", replaces=frozenset({"service", "project"})
    ),
    NETWORK: Kind(
        id=_global_network,
        api="compute",
        named="name",
        outputs=lambda inputs: _self_link(_global_network(inputs)),
        replaces=frozenset({"name", "project", "autoCreateSubnetworks"}),
    ),
    SUBNETWORK: Kind(
        id=_located("subnetworks", "region"),
        api="compute",
        named="name",
        outputs=lambda inputs: _self_link(_located("subnetworks", "region")(inputs)),
        parents=_network,
        replaces=frozenset({"name", "project", "region", "network", "ipCidrRange"}),
    ),
    ROUTER: Kind(
        id=_located("routers", "region"),
        api="compute",
        named="name",
        parents=_network,
        replaces=frozenset({"name", "project", "region", "network"}),
    ),
    ROUTER_NAT: Kind(
        id=lambda inputs: f"{inputs['project']}/{inputs['region']}/{inputs['router']}/{inputs['name']}",
        api="compute",
        named="name",
        parents=lambda inputs: [f"{_project(inputs)}/regions/{inputs['region']}/routers/{inputs['router']}"],
        replaces=frozenset({"name", "project", "region", "router"}),
    ),
    RESOURCE_POLICY: Kind(
        id=_located("resourcePolicies", "region"),
        api="compute",
        named="name",
        replaces=frozenset({"name", "project", "region", "workloadPolicy", "groupPlacementPolicy"}),
    ),
    ACCOUNT: Kind(
        id=lambda inputs: f"{_project(inputs)}/serviceAccounts/{email(inputs)}",
        api="iam",
        named="accountId",
        outputs=_account,
        replaces=frozenset({"accountId", "project"}),
    ),
    ACCOUNT_MEMBER: Kind(
        id=_member(lambda inputs: str(inputs["serviceAccountId"])),
        api="iam",
        outputs=_etag,
        parents=lambda inputs: [],
        replaces=_MEMBER_REPLACES,
    ),
    PROJECT_MEMBER: Kind(
        id=_member(lambda inputs: str(inputs["project"])),
        api="cloudresourcemanager",
        outputs=_etag,
        replaces=_MEMBER_REPLACES,
        gives_way=True,
    ),
    CLUSTER: Kind(
        id=_located("clusters"),
        api="container",
        named="name",
        outputs=_cluster,
        parents=_cluster_parents,
        replaces=frozenset({"name", "project", "location", "network", "subnetwork", "ipAllocationPolicy"}),
        unread=frozenset({WITHOUT_DEFAULT_POOL, "deletionProtection"}),
    ),
    NODE_POOL: Kind(
        id=lambda inputs: f"{cluster_of(inputs)}/nodePools/{inputs['name']}",
        api="container",
        named="name",
        parents=lambda inputs: [cluster_of(inputs), *_named_policies(inputs)],
        replaces=frozenset({"name", "project", "cluster", "location", "placementPolicy", "initialNodeCount"}),
        filled=_filled_in_pools,
    ),
    REPOSITORY: Kind(
        id=lambda inputs: f"{_project(inputs)}/locations/{inputs['location']}/repositories/{inputs['repositoryId']}",
        api="artifactregistry",
        outputs=lambda inputs: {"name": inputs["repositoryId"]},
        replaces=frozenset({"repositoryId", "location", "project", "format"}),
    ),
    BUCKET: Kind(
        id=lambda inputs: str(inputs["name"]),
        named="name",
        outputs=lambda inputs: {
            "url": f"gs://{inputs['name']}",
            "selfLink": f"https://www.googleapis.com/storage/v1/b/{inputs['name']}",
        },
    ),
    BUCKET_MEMBER: Kind(id=_member(lambda inputs: f"b/{inputs['bucket']}"), outputs=_etag, replaces=_MEMBER_REPLACES),
    TENSORBOARD: Kind(
        id=_tensorboard,
        api="aiplatform",
        outputs=lambda inputs: {"name": _tensorboard(inputs)},
    ),
}


def cluster_outputs(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "endpoint": endpoint.address,
        "masterAuth": {"clusterCaCertificate": endpoint.authority, "clientCertificate": "", "clientKey": ""},
    }
