"""What a change of a resource's inputs does to it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from xmgen.resource_types.model import GENERATED, Input, Inputs, ResourceType, value_at
from xmgen.resource_types.table import lookup

Kind = Literal["none", "update", "replace"]

_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """An input that differs. path: Pulumi's property path, such as `nodeConfig.guestAccelerators[0].count`; of what
    comes or goes, the shallowest. old, new: None where it was or is absent.

    effect: `none` of what the provider leaves in the cloud as it was, though the program has it no more.
    """

    path: str
    old: Input
    new: Input
    effect: Kind


@dataclass(frozen=True, slots=True)
class Effect:
    """changes: every input that differs, in the order of the inputs."""

    changes: tuple[Change, ...] = ()

    @property
    def kind(self) -> Kind:
        kinds = {change.effect for change in self.changes}
        return "replace" if "replace" in kinds else "update" if "update" in kinds else "none"

    @property
    def forced_by(self) -> tuple[str, ...]:
        """Paths of the inputs for which the resource is replaced."""
        return tuple(change.path for change in self.changes if change.effect == "replace")


def effect(type: str, old: Inputs, new: Inputs, ignored: Collection[str] = ()) -> Effect:
    """What an `up` makes of a resource whose inputs were `old` and are `new`.

    ignored: the program's `ignoreChanges`.
    """
    row = lookup(type)
    skipped = [_split(path) for path in ignored]
    changes = (
        Change(_text(path), before, after, _effect(row, path, before, after))
        for path, before, after in _differences(row, old, new, ())
        if not any(_below(_plain(path), above) for above in skipped)
    )
    return Effect(tuple(changes))


def old_goes_first(type: str, name: str, new: Inputs) -> bool:
    """Whether one of Google's is deleted before its replacement is created, where the program does not say so itself:
    both would have the name that the program gives (pulumi-terraform-bridge, pkg/tfbridge/schema.go:
    nameRequiresDeleteBeforeReplace).

    name: the logical one.
    """
    row = lookup(type)
    if row.old_first or row.name is None or not row.name.generated:
        return row.old_first
    given = value_at(new, row.name.input)
    return isinstance(given, str) and not (given.startswith(name) and GENERATED.fullmatch(given[len(name) :]))


def _differences(row: ResourceType, old: Input, new: Input, path: _Path) -> Iterator[tuple[_Path, Input, Input]]:
    if old == new:
        return
    same = row.same.get(".".join(_plain(path)))
    # What is said of a list is not said of an item of it.
    if same is not None and isinstance(path[-1], str) and same(old, new):
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*new, *old]):
            yield from _differences(row, old.get(key), new.get(key), (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _differences(row, before, after, (*path, index))
    else:
        yield path, old, new


def _effect(row: ResourceType, path: _Path, old: Input, new: Input) -> Kind:
    plain = _plain(path)
    name = ".".join(plain)
    if new is None and name in row.kept:
        return "none"
    if name in row.in_place and row.in_place[name](old, new):
        return "update"
    if name in row.blocks and (old is None or new is None):
        return "replace"
    rules = [_split(rule) for rule in row.replaces]
    if any(_below(plain, rule) for rule in rules):
        return "replace"
    # What comes or goes as a whole, or is a list of another length: what is in it counts.
    inside = [rule[len(plain) :] for rule in rules if _below(rule, plain)]
    return "replace" if any(_holds(value, rule) for rule in inside for value in (old, new)) else "update"


def _holds(value: Input, path: tuple[str, ...]) -> bool:
    if isinstance(value, list):
        return any(_holds(item, path) for item in value)
    return value_at(value, ".".join(path)) is not None


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _plain(path: _Path) -> tuple[str, ...]:
    return tuple(key for key in path if isinstance(key, str))


def _below(path: tuple[str, ...], above: tuple[str, ...]) -> bool:
    return path[: len(above)] == above


def _text(path: _Path) -> str:
    """Pulumi's property paths quote keys that hold the paths' own punctuation."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif not key or any(char in key for char in '.[]"'):
            escaped = key.replace('"', '\\"')
            text += f'["{escaped}"]'
        else:
            text += f".{key}" if text else key
    return text
