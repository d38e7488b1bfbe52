"""What the resource classes of generated programs have in common. Nothing of the provider: programs load none of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi


def given(inputs: Mapping[str, Any], outputs: Sequence[str] = ()) -> dict[str, Any]:
    """The inputs that were given, by their names on the wire, and the outputs to expect."""
    return {name: value for name, value in inputs.items() if value is not None} | dict.fromkeys(outputs)


def output(name: str) -> Any:
    """The property that tells an output. name: on the wire."""

    def get(resource: pulumi.Resource) -> Any:
        return resource.__dict__[name]

    return property(pulumi.getter(name=name)(get))
