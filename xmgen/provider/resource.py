"""What the provider knows about a kind of resource: the seam at which another executor is added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from xmgen.errors import Problem
from xmgen.provider.attempt import Log
from xmgen.provider.wire import Properties, Value
from xmgen.urns import Urn

Change = Literal["add", "delete", "update"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one call is about. timeout: seconds, as `custom_timeouts` asks; None for as long as it takes."""

    urn: Urn
    log: Log
    preview: bool = False
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """changes: property path -> kind of change. replaces: those of the paths that make a new resource necessary.
    of_outputs: the paths are those of outputs, as when inputs are the same and mean something else.
    """

    changes: Mapping[str, Change] = field(default_factory=dict[str, Change])
    replaces: frozenset[str] = frozenset()
    of_outputs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """reasons: why the resource is there but failed; empty for a success. inputs: only where a read finds them."""

    id: str
    outputs: Properties
    inputs: Properties | None = None
    reasons: tuple[str, ...] = ()


class ResourceKind(Protocol):
    """One type of resource. Properties are as on the wire: secrets wrapped, unknowns as `wire.UNKNOWN`.

    Every method may raise XmgenError for what the user can mend.
    """

    async def check(self, request: Request, news: Properties, olds: Properties | None) -> dict[str, Problem]:
        """What is wrong with new inputs, by property path. olds: the old inputs, if there are any."""
        ...

    async def diff(self, request: Request, news: Properties, olds: Properties, state: Properties) -> Difference: ...

    async def create(self, request: Request, news: Properties) -> State: ...

    async def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> State | None:
        """The current state; None when the resource is gone. Without inputs and state it is an import."""
        ...

    async def update(
        self, request: Request, id: str, news: Properties, olds: Properties, state: Properties
    ) -> State: ...

    async def delete(self, request: Request, id: str, inputs: Properties, state: Properties) -> None: ...


def _below(path: str, key: str) -> str:
    """Pulumi's property paths quote keys that hold the paths' own punctuation."""
    if not key or any(char in key for char in '.[]"'):
        escaped = key.replace('"', '\\"')
        return f'{path}["{escaped}"]'
    return f"{path}.{key}" if path else key


def differences(old: Value, new: Value, path: str = "") -> dict[str, Change]:
    """The property paths at which two values differ, as deep as both have the same shape."""
    if old == new:
        return {}
    if isinstance(old, dict) and isinstance(new, dict):
        found: dict[str, Change] = {}
        for key in dict.fromkeys([*old, *new]):
            below = _below(path, key)
            if key not in old or key not in new:
                found[below] = "delete" if key in old else "add"
            else:
                found |= differences(old[key], new[key], below)
        return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        found = {}
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            found |= differences(before, after, f"{path}[{index}]")
        return found
    return {path: "update"}
