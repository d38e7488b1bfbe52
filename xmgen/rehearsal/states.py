"""What the engine's state of a stack says. state: its resources."""

from __future__ import annotations

from typing import Any

from xmgen.resource_types import IMAGE
from xmgen.urns import Urn


def by_type(state: list[dict[str, Any]]) -> dict[str, int]:
    """How many resources there are of each type."""
    counts: dict[str, int] = {}
    for resource in state:
        if not str(resource["type"]).startswith("pulumi:"):
            counts[resource["type"]] = counts.get(resource["type"], 0) + 1
    return dict(sorted(counts.items()))


def images(state: list[dict[str, Any]]) -> dict[str, str]:
    """The references, by the images' names."""
    return {
        Urn(str(resource["urn"])).name: str(resource["outputs"]["ref"])
        for resource in state
        if resource["type"] == IMAGE
    }


def retained(state: list[dict[str, Any]]) -> set[str]:
    """The ids of what outlives the stack."""
    return {str(resource["id"]) for resource in state if resource.get("retainOnDelete")}
