"""What the engine's state of a stack says. state: its resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from xmgen.pulumi_cli.state import StateResource
from xmgen.resource_types import IMAGE


def by_type(state: Iterable[StateResource]) -> dict[str, int]:
    """How many resources there are of each type."""
    counts = Counter(resource.type for resource in state if not resource.is_pulumis_own)
    return dict(sorted(counts.items()))


def images(state: Iterable[StateResource]) -> dict[str, str]:
    """The references, by the images' names."""
    return {resource.name: str(resource.outputs["ref"]) for resource in state if resource.type == IMAGE}


def retained(state: Iterable[StateResource]) -> set[str]:
    """The ids of what outlives the stack."""
    return {resource.id for resource in state if resource.retain_on_delete}
