"""What Google and pulumi-gcp add to the resources that programs declare; what a change does is in `resource_types`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xmgen.locations import region_of
from xmgen.rehearsal.cloud import machines
from xmgen.rehearsal.cloud.store import Properties, part
from xmgen.resource_types import (
    ACCOUNT,
    ACCOUNT_MEMBER,
    API,
    BUCKET,
    BUCKET_MEMBER,
    CLUSTER,
    NETWORK,
    NODE_POOL,
    PROJECT_MEMBER,
    REPOSITORY,
    RESOURCE_POLICY,
    ROUTER,
    ROUTER_NAT,
    SUBNETWORK,
    TENSORBOARD,
    ids,
)

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
    """api: the service that has to be enabled. outputs: what Google adds. parents: ids that it uses. unread: properties
    that only steer the provider, which an import therefore does not find. filled: paths of what Google fills in where
    the inputs leave it out, and what cannot be changed in place.
    """

    api: str = ""
    outputs: Callable[[Properties], Properties] = lambda inputs: {}
    parents: Callable[[Properties], list[str]] = lambda inputs: []
    unread: frozenset[str] = frozenset()
    filled: Callable[[Properties], list[str]] = lambda inputs: []


_OTHER = Kind()


def kind(type: str) -> Kind:
    return KINDS.get(type, _OTHER)


def id_of(type: str, inputs: Properties) -> str:
    """Google's identity of a resource. inputs: with the project."""
    if type == TENSORBOARD:
        number = _number(str(inputs["displayName"]))[:10]
        return f"{_project(inputs)}/locations/{inputs['region']}/tensorboards/{number}"
    return ids.provider_id(type, inputs, {}) or f"{_project(inputs)}/{type}/{_hash(inputs)}"


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
        "selfLink": f"https://container.googleapis.com/v1/{id_of(CLUSTER, inputs)}",
        "masterVersion": "1.36.3-gke.1000",
        "operation": "",
    }


def cluster_of(inputs: Properties) -> str:
    cluster = str(inputs["cluster"])
    return cluster if "/" in cluster else f"{_project(inputs)}/locations/{inputs['location']}/clusters/{cluster}"


def default_pool(cluster: str) -> str:
    """The id of the node pool with which GKE makes a cluster (GKE REST API, projects.locations.clusters:
    initialNodeCount).
    """
    return f"{cluster}/nodePools/default-pool"


def _self_link(type: str) -> Callable[[Properties], Properties]:
    return lambda inputs: {"selfLink": f"https://www.googleapis.com/compute/v1/{id_of(type, inputs)}"}


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


def _etag(inputs: Properties) -> Properties:
    return {"etag": _hash(inputs)}


KINDS: dict[str, Kind] = {
    API: _OTHER,
    NETWORK: Kind(api="compute", outputs=_self_link(NETWORK)),
    SUBNETWORK: Kind(api="compute", outputs=_self_link(SUBNETWORK), parents=_network),
    ROUTER: Kind(api="compute", parents=_network),
    ROUTER_NAT: Kind(
        api="compute",
        parents=lambda inputs: [f"{_project(inputs)}/regions/{inputs['region']}/routers/{inputs['router']}"],
    ),
    RESOURCE_POLICY: Kind(api="compute"),
    ACCOUNT: Kind(api="iam", outputs=_account),
    ACCOUNT_MEMBER: Kind(api="iam", outputs=_etag),
    PROJECT_MEMBER: Kind(api="cloudresourcemanager", outputs=_etag),
    BUCKET_MEMBER: Kind(outputs=_etag),
    CLUSTER: Kind(
        api="container",
        outputs=_cluster,
        parents=_cluster_parents,
        unread=frozenset({WITHOUT_DEFAULT_POOL, "deletionProtection"}),
    ),
    NODE_POOL: Kind(
        api="container",
        parents=lambda inputs: [cluster_of(inputs), *_named_policies(inputs)],
        filled=_filled_in_pools,
    ),
    REPOSITORY: Kind(api="artifactregistry", outputs=lambda inputs: {"name": inputs["repositoryId"]}),
    BUCKET: Kind(
        outputs=lambda inputs: {
            "url": f"gs://{inputs['name']}",
            "selfLink": f"https://www.googleapis.com/storage/v1/b/{inputs['name']}",
        },
    ),
    TENSORBOARD: Kind(api="aiplatform", outputs=lambda inputs: {"name": id_of(TENSORBOARD, inputs)}),
}


def cluster_outputs(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "endpoint": endpoint.address,
        "masterAuth": {"clusterCaCertificate": endpoint.authority, "clientCertificate": "", "clientKey": ""},
    }
