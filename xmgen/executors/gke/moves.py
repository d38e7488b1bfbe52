"""A stack whose cluster is up stays where that is.

Pulumi would create the other cluster, then all jobs again, and delete the old cluster last. When that is cut off, the
next `up` takes what is still on the old cluster for being on the new one: all it compares is the Kubernetes provider in
the state, which is the new one by then (pulumi, pkg/resource/deploy/step_generator.go: providerChanged). In another
region the network has no room for a second subnetwork of the same ranges (Compute Engine REST API, subnetworks:
ipCidrRange, which does not overlap with others of a network). And with another project nothing moves at all: the rights
of nodes and jobs would go there, and the cluster would stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xmgen.locations import region_of
from xmgen.project import Project
from xmgen.pulumi_cli.state import StateResource, resources
from xmgen.resource_types import CLUSTER, NETWORK, SUBNETWORK
from xmgen.resource_types.effect import effect
from xmgen.stack import configuration
from xmgen.stack.compiled import CompiledStack


@dataclass(frozen=True, slots=True)
class Move:
    """text: a sentence for people. setting: the key of the configuration that asks for it."""

    text: str
    setting: str


_OWN_NETWORK = "a network of its own"


def wanted(
    project: Project, compiled: CompiledStack, export: Callable[[], str], settings: Sequence[str] = ()
) -> Move | None:
    """Which move an `up` would make of the stack's own cluster, or of its network.

    export: gives the stack's state. settings: of the command line, `key=value`.
    """
    stack = compiled.name
    if compiled.cluster is None or compiled.cluster.kind != "own":
        return None
    configured = _Configuration(project, stack, settings)
    location = compiled.cluster.location or configured.text("location")
    if location is None and not any(map(configured.text, ("subnetwork", "gcp:project"))):
        # Nothing says where it is to be.
        return None
    now = {each.type: each for each in resources(export()) if not (each.delete or each.pending_replacement)}
    moves = [*_of_cluster(stack, now, location, configured), *_of_network(stack, now, location)]
    return moves[0] if moves else None


def _of_cluster(
    stack: str, now: Mapping[str, StateResource], location: str | None, configured: _Configuration
) -> list[Move]:
    cluster = now.get(CLUSTER)
    if cluster is None:
        return []
    old = cluster.inputs
    asked = {**old, "location": location or old.get("location"), **_network(old, now, configured)}
    changes = {change.path: change for change in effect(CLUSTER, old, asked).changes if change.effect == "replace"}
    moves = [
        Move(f"the cluster of {stack} {said.format(change.old, change.new)}", setting)
        for path, (setting, said) in _DECIDED.items()
        if (change := changes.get(path)) is not None and change.old is not None
    ]
    return [*moves, *_of_project(stack, cluster, configured.text("gcp:project"))]


_DECIDED = {
    "location": ("location", "is in {}, and cannot move to {}"),
    "subnetwork": ("subnetwork", "is on the subnetwork {}, and cannot move to {}"),
    "network": ("network", "is on the network {}, and cannot move to {}"),
    "ipAllocationPolicy.clusterSecondaryRangeName": (
        "podsRange",
        "has its pods in the range {}, and cannot move them to {}",
    ),
    "ipAllocationPolicy.servicesSecondaryRangeName": (
        "servicesRange",
        "has its services in the range {}, and cannot move them to {}",
    ),
}
"""Inputs of the cluster, the setting that decides about each, and what a change of it would do."""


def _network(old: Mapping[str, Any], now: Mapping[str, StateResource], configured: _Configuration) -> Mapping[str, Any]:
    """The inputs of the cluster that say on which network it is to be."""
    if configured.text("subnetwork"):
        ranges = {"clusterSecondaryRangeName": "podsRange", "servicesSecondaryRangeName": "servicesRange"}
        policy: Mapping[str, Any] = old.get("ipAllocationPolicy") or {}
        return {
            "subnetwork": configured.text("subnetwork"),
            "network": configured.text("network") or old.get("network"),
            "ipAllocationPolicy": {
                **policy,
                **{key: configured.text(setting) or policy.get(key) for key, setting in ranges.items()},
            },
        }
    if NETWORK in now or configured.is_open:
        return {}
    return {"subnetwork": _OWN_NETWORK}


def _of_project(stack: str, cluster: StateResource, project: str | None) -> list[Move]:
    """The project is the provider's, and no input of the cluster."""
    words = cluster.id.split("/")
    if project is None or len(words) < 2 or words[1] == project:
        return []
    text = f"the cluster of {stack} is in the project {words[1]}, and cannot move to {project}"
    return [Move(text, "gcp:project")]


def _of_network(stack: str, now: Mapping[str, StateResource], location: str | None) -> list[Move]:
    subnetwork = now.get(SUBNETWORK)
    if subnetwork is None or location is None:
        return []
    forced = effect(SUBNETWORK, subnetwork.inputs, {**subnetwork.inputs, "region": region_of(location)})
    return [
        Move(f"the network of {stack} is in {change.old}, and cannot move to {change.new}", "location")
        for change in forced.changes
        if isinstance(change.old, str)
    ]


class _Configuration:
    """What a stack's program will read: of the command line, where the last one counts, and of the settings that are
    kept.
    """

    def __init__(self, project: Project, stack: str, settings: Sequence[str]) -> None:
        pairs = (setting.partition("=") for setting in settings)
        self._given = {key.removeprefix(f"{project.name}:"): value for key, _, value in pairs}
        self._project = project
        self._stack = stack

    @property
    def is_open(self) -> bool:
        """Whether an environment of Pulumi's may say what the settings do not."""
        return bool(configuration.read_settings(self._project.settings(self._stack)).get("environment"))

    def text(self, key: str) -> str | None:
        given = self._given.get(key)
        return configuration.text(self._project, self._stack, key) if given is None else given
