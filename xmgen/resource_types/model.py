"""A row of the table of resource types, and the few ways in which two different inputs mean the same."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

Input = None | bool | int | float | str | Sequence["Input"] | Mapping[str, "Input"]
"""An input, as YAML or JSON has it; None is one that is absent. What only the cloud knows is a text with `${…}`."""

Inputs = Mapping[str, Input]
Comparison = Callable[[Input, Input], bool]
"""Of the old and the new value of an input."""

SUFFIX = "-0123abc"
"""As long as what autonaming appends: a hyphen and seven hexadecimal digits."""

GENERATED = re.compile("-[0-9a-f]{7}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """The input that is a resource's name in the cloud, and the rule it obeys there.

    input: property path. generated: where a program gives none, Pulumi makes it of the logical name and `SUFFIX`.
    pattern: the rule, lengths included. rule: the same for people.
    """

    input: str
    pattern: re.Pattern[str]
    rule: str
    generated: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceType:
    """Facts about a type. Paths are property paths without indices: `nodeConfig.guestAccelerators.count`.

    noun:       what people call one.
    id:         the provider's id of one, by paths of inputs; empty where only its creation tells it.
    import_id:  the id by which it is imported, where that is another one.
    name:       of what has a name that Google or Kubernetes judges.
    replaces:   paths that cannot change in place, nor anything below them.
    blocks:     paths that cannot come or go, whatever may change below them.
    kept:       paths that the provider leaves as they are in the cloud when an input is taken away (upstream: optional
                and computed).
    same:       by path, whether two different values mean the same.
    in_place:   of paths in `replaces`: whether this very change can be made in place.
    old_first:  the old one is always deleted before its replacement is created.
    loses:      what is gone with one that is deleted; empty where nothing but the resource is.
    """

    token: str
    noun: str
    id: str = ""
    import_id: str = ""
    name: Name | None = None
    replaces: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    same: Mapping[str, Comparison] = field(default_factory=dict[str, Comparison])
    in_place: Mapping[str, Comparison] = field(default_factory=dict[str, Comparison])
    old_first: bool = False
    loses: str = ""


def value_at(value: object, path: str) -> object:
    """What is at a property path without indices; None where there is nothing."""
    for key in path.split(".") if path else ():
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    return value


def default(value: Input) -> Comparison:
    """Whether an input was or is left out where the other is what the provider then assumes."""
    return partial(_only_default, value)


def in_any_order(old: Input, new: Input) -> bool:
    """Whether two lists hold the same (upstream: a set)."""
    if not isinstance(old, list | tuple) or not isinstance(new, list | tuple):
        return False
    return sorted(map(repr, old)) == sorted(map(repr, new))


def same_link(old: Input, new: Input) -> bool:
    """Whether a name and a link mean one resource (upstream: CompareSelfLinkOrResourceName)."""
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    if "/" in old and "/" in new:
        return _relative(old) == _relative(new)
    return old.rpartition("/")[2] == new.rpartition("/")[2]


def widened(old: Input, new: Input) -> bool:
    """Whether a range of addresses holds the whole of the old one and more."""
    try:
        before, after = ipaddress.ip_network(str(old)), ipaddress.ip_network(str(new))
    except ValueError:
        return False
    return before.version == after.version and after.supernet_of(before)  # pyright: ignore[reportArgumentType]


def _only_default(value: Input, old: Input, new: Input) -> bool:
    return {repr(old), repr(new)} == {repr(None), repr(value)}


def _relative(link: str) -> str:
    return link[link.index("projects/") :] if "projects/" in link else link
