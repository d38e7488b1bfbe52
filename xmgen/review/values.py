"""Nested inputs and what differs in them, as a person would write it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

LENGTH = 100
"""Characters of a value in a report; the JSON has all of it."""

_NAMES = ("name", "key", "rangeName", "cidrBlock", "type", "mountPath", "machineType")
"""Fields by which one of a list is known to people."""

_STEP = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|\.?([^.\[]+)')


@dataclass(frozen=True, slots=True)
class Difference:
    """path: `nodeConfig.taints[gpu].value`. old, new: None where it was or is absent."""

    path: str
    old: Any
    new: Any


def at(value: object, *path: str) -> Any:
    """What stands there; None where nothing does, or something else than mappings leads to it."""
    for key in path:
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    return value


def mappings(value: object, *path: str) -> list[Mapping[str, Any]]:
    """The mappings of the list that stands there."""
    found = at(value, *path)
    items = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]


def differences(path: str, old: object, new: object) -> Iterator[Difference]:
    """What differs, as deep as both have it. Items of lists are known by their names, not by their places."""
    if old == new and type(old) is type(new):
        return
    before, after = _items(old), _items(new)
    # What comes or goes is told by all that is in it, so that every value is beside its name.
    if before is not None and after is not None and type(old) is type(new):
        for name in dict.fromkeys([*after, *before]):
            yield from differences(_below(path, name, new), before.get(name), after.get(name))
    elif (was := _set(old)) is not None and (now := _set(new)) is not None and set(was) != set(now):
        yield from (Difference(path, item, None) for item in was if item not in now)
        yield from (Difference(path, None, item) for item in now if item not in was)
    elif (old is None and after) or (new is None and before):
        for name in after or before or {}:
            below = _below(path, name, new if before is None else old)
            yield from differences(below, (before or {}).get(name), (after or {}).get(name))
    else:
        yield Difference(path, old, new)


def text(value: object) -> str:
    """On one line, in YAML's way: `true`, `[a, b]`, `{count: 1}`; cut where it is long."""
    whole = _text(value)
    return whole if len(whole) <= LENGTH else f"{whole[: LENGTH - 21]}…{whole[-20:]}"


def named_path(path: str, properties: object) -> str:
    """Pulumi's property path with the names of items in place of their indices. properties: that it leads through."""
    result = ""
    for quoted, index, word in _STEP.findall(path):
        if index:
            items = cast("list[object]", properties) if isinstance(properties, list) else []
            names = list(_items(items) or {})
            properties = items[int(index)] if int(index) < len(items) else None
            result += f"[{names[int(index)] if int(index) < len(names) else index}]"
        else:
            key = word or quoted.replace('\\"', '"')
            result = _below(result, key, {})
            properties = cast("dict[str, object]", properties).get(key) if isinstance(properties, Mapping) else None
    return result


def _below(path: str, name: str, within: object) -> str:
    if isinstance(within, list):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _items(value: object) -> dict[str, object] | None:
    """What is in a mapping, or in a list of mappings that have names; None for all else."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in cast("Mapping[object, object]", value).items()}
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    for field in _NAMES:
        names = [str(cast("dict[str, object]", item).get(field, "")) for item in items if isinstance(item, Mapping)]
        if items and len(names) == len(items) and all(names) and len(set(names)) == len(names):
            return dict(zip(names, items, strict=True))
    return None


def _set(value: object) -> list[object] | None:
    """A list of different texts or numbers; None for all else."""
    items = cast("list[object]", value) if isinstance(value, list) else [value, value]
    is_set = all(isinstance(item, str | int | float) for item in items) and len(set(items)) == len(items)
    return items if is_set else None


def _text(value: object) -> str:
    match value:
        case None:
            return "none"
        case str():
            return value or '""'
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            return f"{{{', '.join(f'{key}: {_text(item)}' for key, item in pairs)}}}"
        case list():
            return f"[{', '.join(map(_text, cast('list[object]', value)))}]"
        case _:
            return json.dumps(value, default=str)
