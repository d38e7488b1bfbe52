"""A stack whose cluster is up stays where that is.

Pulumi would create the other cluster, then all jobs again, and delete the old cluster last. When that is cut off, the
next `up` takes what is still on the old cluster for being on the new one: all it compares is the Kubernetes provider in
the state, which is the new one by then (pulumi, pkg/resource/deploy/step_generator.go: providerChanged). And in another
region the network has no room for a second subnetwork of the same ranges (Compute Engine REST API, subnetworks:
ipCidrRange, which does not overlap with others of a network).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xmgen.locations import region_of
from xmgen.project import Project
from xmgen.pulumi_cli.state import resources
from xmgen.resource_types import CLUSTER, SUBNETWORK
from xmgen.stack import configuration
from xmgen.stack.compiled import CompiledStack

_KEY = "location"


def wanted(project: Project, compiled: CompiledStack, export: Callable[[], str], settings: Sequence[str] = ()) -> str:
    """Which move an `up` would make of the stack's own cluster, or of its network, in a sentence; empty for none.

    export: gives the stack's state. settings: of the command line, `key=value`.
    """
    stack, cluster = compiled.name, compiled.cluster
    if cluster is None or cluster.kind != "own":
        return ""
    there = cluster.location or _given(project, settings) or configuration.text(project, stack, _KEY)
    if there is None:
        return ""
    now = {each.type: each.inputs for each in resources(export()) if not (each.delete or each.pending_replacement)}
    places = [
        ("cluster", now.get(CLUSTER, {}).get("location"), there),
        ("network", now.get(SUBNETWORK, {}).get("region"), region_of(there)),
    ]
    moves = [
        f"the {what} of {stack} is in {old}, and cannot move to {new}" for what, old, new in places if _differ(old, new)
    ]
    return moves[0] if moves else ""


def _differ(old: object, new: str) -> bool:
    return isinstance(old, str) and old != new


def _given(project: Project, settings: Sequence[str]) -> str | None:
    """On the command line, where the last one counts."""
    pairs = (setting.partition("=") for setting in settings)
    values = [value for key, _, value in pairs if key.removeprefix(f"{project.name}:") == _KEY]
    return values[-1] if values else None
