"""What a reviewer must not miss of the resources that change: data lost, rights, what is open to whom. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from xmgen import resource_types as types
from xmgen.resource_types.table import lookup
from xmgen.review.committed import Document
from xmgen.review.resolve import REFERENCE, View
from xmgen.review.resources import ResourceChange
from xmgen.review.values import at, mappings
from xmgen.stack.resources import DeclaredResource

EVERYBODY = ("0.0.0.0/0", "::/0")

_GRANT = re.compile(r"(?i)iam(member|binding|policy)$|^kubernetes:rbac")
_TARGETS = ("bucket", "project", "serviceAccountId", "repository", "folder", "orgId", "roleRef")
_OPENINGS = re.compile(r"(?i)^gcp:compute/.*(firewall|address|forwardingrule)|^gcp:.*endpoint")
_NETWORK: Mapping[str, tuple[str, ...]] = {
    types.CLUSTER: (
        "privateClusterConfig",
        "masterAuthorizedNetworksConfig",
        "controlPlaneEndpointsConfig",
        "network",
        "subnetwork",
    ),
    types.NODE_POOL: ("networkConfig",),
    types.BUCKET: ("publicAccessPrevention", "uniformBucketLevelAccess"),
    types.ROUTER_NAT: ("natIpAllocateOption", "natIps", "sourceSubnetworkIpRangesToNat", "subnetworks", "type"),
    types.SUBNETWORK: ("ipCidrRange", "privateIpGoogleAccess", "purpose", "secondaryIpRanges"),
    types.OBJECTS["Service"]: ("spec.type", "spec.externalIPs", "spec.loadBalancerSourceRanges"),
}
"""By type: what decides who reaches whom."""


@dataclass(frozen=True, slots=True)
class Grant:
    """on: what is granted on, in words, before and after. own: whether that is the stack's, now.
    role, member: before and after.
    """

    change: Literal["added", "removed", "changed"]
    name: str
    own: bool
    on: tuple[str | None, str | None]
    role: tuple[str | None, str | None]
    member: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Exposure:
    """What is open now and was not, or a change of what decides that. name: of the resource, empty for all jobs.
    path, old, new: of a change.
    """

    type: str
    name: str
    message: str
    path: str = ""
    old: Any = None
    new: Any = None


@dataclass(frozen=True, slots=True)
class Move:
    """Another place of the stack. replaced: how many resources of which kind that takes with it."""

    setting: str
    old: str
    new: str
    replaced: Mapping[str, int]


def lost(changes: Iterable[ResourceChange]) -> list[ResourceChange]:
    """Those whose deletion takes more than the resource with it."""
    gone = [change for change in changes if change.change in ("removed", "replaced") and lookup(change.type).loses]
    return sorted(gone, key=lambda change: change.kept is True)


def moves(old: View, new: View, changes: Iterable[ResourceChange]) -> list[Move]:
    replaced = dict(Counter(lookup(change.type).noun for change in changes if change.change == "replaced"))
    return [
        Move(name, str(was), str(now), replaced)
        for name in ("project", "location", "region", "networkId", "subnetworkId", "podsRange", "servicesRange")
        if name in old.variables and name in new.variables
        if (was := old.variables[name]) != (now := new.variables[name])
        # The region follows from the location.
        if name != "region" or old.variables.get("location") == new.variables.get("location")
    ]


def grants(old: View, new: View, changes: Iterable[ResourceChange]) -> list[Grant]:
    """Those on what is not the stack's own first, and those that are taken away last."""
    found = [
        Grant(
            "changed" if change.old and change.new else "added" if change.new else "removed",
            change.name,
            _is_own(change.new, new) if change.new else _is_own(change.old, old),
            (_target(change.old, old), _target(change.new, new)),
            (_role(change.old), _role(change.new)),
            (_member(change.old, old), _member(change.new, new)),
        )
        for change in changes
        if _GRANT.search(change.type)
    ]
    told = [grant for grant in found if any(was != now for was, now in (grant.on, grant.role, grant.member))]
    return sorted(told, key=lambda grant: (grant.change == "removed", grant.own))


def exposures(old: View, new: View, changes: Iterable[ResourceChange]) -> Iterator[Exposure]:
    for change in changes:
        before = dict(_open(change.old)) if change.old is not None else {}
        facts = {path: said for path, said in _open(change.new) if before.get(path) != said} if change.new else {}
        told: set[str] = set()
        for each in change.changes if change.change in ("changed", "replaced") else ():
            if not each.follows and any(_is_below(each.path, above) for above in _NETWORK.get(change.type, ())):
                above = next((path for path in facts if _is_below(each.path, path)), "")
                message = "" if above in told else facts.get(above, "")
                told.add(above)
                if each.effect == "none":
                    message = "what was set stays: nothing but another value changes it"
                yield Exposure(change.type, change.name, message, each.path, each.old, each.new)
        for path, said in facts.items():
            if path not in told:
                yield Exposure(change.type, change.name, said)
        if _OPENINGS.search(change.type) and change.change != "removed":
            yield Exposure(change.type, change.name, f"is {change.change}")


def rights_of_jobs(old: Iterable[Document], new: Iterable[Document]) -> list[Exposure]:
    """What containers may do to their nodes, where none could before."""
    before, after = _rights(old), _rights(new)
    return [
        Exposure(types.JOB, "", f"{after[right]:,} Jobs with {right}, {before[right]:,} before")
        for right in after
        if after[right] > before[right]
    ]


def _is_below(path: str, above: str) -> bool:
    return path.startswith(above) and path[len(above) : len(above) + 1] in ("", ".", "[")


def _target(resource: DeclaredResource | None, view: View) -> str | None:
    """What a grant is on, in words."""
    if resource is None:
        return None
    name, value = _granted_on(resource)
    if at(value, "kind"):
        return f"{at(value, 'kind')} {at(value, 'name')}"
    owned = _referred(value, view)
    noun = lookup(owned.type).noun if owned else {"serviceAccountId": "service account"}.get(name, name)
    return f"{noun} {owned.name if owned else value}"


def _is_own(resource: DeclaredResource | None, view: View) -> bool:
    """Whether a grant is on what is the stack's."""
    name, value = _granted_on(resource) if resource is not None else ("", None)
    is_project = name == "project" and value == view.variables.get("project")
    return name in ("namespace", "roleRef") or is_project or _referred(value, view) is not None


def _granted_on(resource: DeclaredResource) -> tuple[str, Any]:
    name = next((name for name in _TARGETS if name in resource.properties), "namespace")
    return name, resource.properties.get(name, at(resource.properties, "metadata", "namespace"))


def _referred(value: object, view: View) -> DeclaredResource | None:
    """The resource of which it is an output."""
    reference = REFERENCE.fullmatch(str(value))
    return view.resources.get(reference[1].rpartition(".")[0]) if reference else None


def _role(resource: DeclaredResource | None) -> str | None:
    if resource is None:
        return None
    role = resource.properties.get("role")
    rules = resource.properties.get("rules")
    return str(role) if role is not None else "rules of its own" if rules else resource.name


def _member(resource: DeclaredResource | None, view: View) -> str | None:
    if resource is None:
        return None
    member = resource.properties.get("member", resource.properties.get("members"))
    if account := _referred(member, view):
        return f"service account {account.properties.get('accountId', account.name)}"
    if member in ("allUsers", "allAuthenticatedUsers"):
        return f"everybody ({member})"
    return str(member) if member is not None else ""


def _open(resource: DeclaredResource) -> Iterator[tuple[str, str]]:
    """Paths, and what is open by what stands there, or does not."""
    properties = resource.properties
    match resource.type:
        case types.CLUSTER:
            if at(properties, "privateClusterConfig", "enablePrivateNodes") is not True:
                yield "privateClusterConfig.enablePrivateNodes", "nodes have public addresses"
            is_private = at(properties, "privateClusterConfig", "enablePrivateEndpoint") is True
            networks = properties.get("masterAuthorizedNetworksConfig")
            blocks = [block.get("cidrBlock") for block in mappings(networks, "cidrBlocks")]
            if not is_private and (networks is None or any(block in EVERYBODY for block in blocks)):
                yield "masterAuthorizedNetworksConfig", "the control plane answers every address"
        case types.NODE_POOL if at(properties, "networkConfig", "enablePrivateNodes") is False:
            yield "networkConfig.enablePrivateNodes", "its nodes have public addresses"
        case types.BUCKET if properties.get("publicAccessPrevention") != "enforced":
            yield "publicAccessPrevention", "it can be opened to everybody"
        case _ if at(properties, "spec", "type") in ("LoadBalancer", "NodePort"):
            yield "spec.type", "it is reached from outside the cluster"
        case _:
            pass


def _rights(documents: Iterable[Document]) -> Counter[str]:
    """How many of the documents have which right."""
    found: Counter[str] = Counter()
    for document in documents:
        pod = at(document, "spec", "template", "spec")
        containers = [*mappings(pod, "containers"), *mappings(pod, "initContainers")]
        rights = {name for name in ("hostNetwork", "hostPID", "hostIPC") if at(pod, name)}
        for name in ("privileged", "allowPrivilegeEscalation"):
            rights |= {name for each in containers if at(each, "securityContext", name)}
        rights |= {"hostPath" for volume in mappings(pod, "volumes") if "hostPath" in volume}
        found.update(rights)
    return found
