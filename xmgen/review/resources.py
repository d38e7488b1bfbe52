"""Which resources a change adds, removes, changes and replaces, and for which of their properties. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from xmgen.resource_types.effect import Change, Kind, effect
from xmgen.resource_types.table import lookup
from xmgen.review.resolve import REFERENCE, View
from xmgen.review.values import differences, named_path
from xmgen.stack.resources import DeclaredResource, Workloads

_ANOTHER = "another"
"""Stands beside a reference to what is replaced: the text is as it was, and the value is not."""


_REFERENCES = ("dependsOn", "parent", "provider")
"""Options that name other resources. The first two change nothing of what is there."""


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """path: `nodeConfig.diskSizeGb`, items of lists by their names. old, new: None where it was or is absent.

    effect: `none` of what stays in the cloud as it was.
    """

    path: str
    old: Any
    new: Any
    effect: Kind

    @property
    def follows(self) -> bool:
        """Whether it is only that what it refers to is another."""
        return isinstance(self.old, str) and str(self.new).replace(f" ({_ANOTHER})", "") == self.old


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """kept: what becomes of one that is removed or replaced: whether it stays in the cloud; None where that follows
    from settings that nobody has committed.
    old, new: the resource on either side, with what is known put in.
    """

    change: Literal["added", "removed", "changed", "replaced"]
    type: str
    name: str
    changes: tuple[PropertyChange, ...] = ()
    kept: bool | None = False
    old: DeclaredResource | None = None
    new: DeclaredResource | None = None

    @property
    def forced_by(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.changes if change.effect == "replace")


@dataclass(frozen=True, slots=True)
class Comparison:
    """mark: makes an input of the new side one that differs from the old side's where what it refers to is another."""

    changes: tuple[ResourceChange, ...] = ()
    others: frozenset[str] = frozenset()
    renamed: Mapping[str, str] | None = None

    def mark(self, value: Any) -> Any:
        return _marked(value, self.others, self.renamed or {})


def compare(old: View, new: View) -> Comparison:
    """What is replaced has other outputs, for which what uses them may be replaced in turn."""
    before, after = old.by_identity(), new.by_identity()
    renamed = {key: before[identity][0] for identity, (key, _) in after.items() if identity in before}
    renamed = {new_key: old_key for new_key, old_key in renamed.items() if new_key != old_key}
    others = frozenset(key for identity, (key, _) in after.items() if identity not in before)
    while True:
        changes: list[ResourceChange] = []
        replaced = set(others)
        for identity, (key, resource) in after.items():
            was = before[identity][1] if identity in before else None
            change = _change(was, resource, others, renamed)
            if change is not None:
                changes.append(change)
                replaced |= {key} if change.change == "replaced" else set()
        if len(others) == len(replaced):
            gone = (was for identity, (_, was) in before.items() if identity not in after)
            removed = [ResourceChange("removed", was.type, was.name, kept=_is_kept(was), old=was) for was in gone]
            return Comparison((*changes, *removed), others, renamed)
        others = frozenset(replaced)


def of_workloads(old: Workloads | None, new: Workloads | None) -> tuple[ResourceChange, ...]:
    """What changed of how Pulumi treats all work units, such as what goes first. Where they run, a provider says."""
    if old is None or new is None or old.type != new.type:
        return ()
    was, now = ({key: value for key, value in each.options.items() if key not in _REFERENCES} for each in (old, new))
    changes = tuple(
        PropertyChange(each.path, each.old, each.new, "update") for each in differences("options", was, now)
    )
    return (ResourceChange("changed", new.type, "of all work units", changes),) if changes else ()


def _change(
    old: DeclaredResource | None, new: DeclaredResource, others: Collection[str], renamed: Mapping[str, str]
) -> ResourceChange | None:
    if old is None:
        return ResourceChange("added", new.type, new.name, new=new)
    inputs = cast("dict[str, Any]", _marked(new.properties, others, renamed))
    ignored = cast("list[str]", new.options.get("ignoreChanges", []))
    changes = [
        change
        for found in effect(new.type, old.properties, inputs, ignored).changes
        for change in _told(found, new.properties)
    ]
    changes += _of_options(old, cast("dict[str, Any]", _marked(new.options, others, renamed)))
    if not changes:
        return None
    replaced = any(change.effect == "replace" for change in changes)
    return ResourceChange(
        "replaced" if replaced else "changed",
        new.type,
        new.name,
        tuple(changes),
        _is_kept(old) if replaced else False,
        old,
        new,
    )


def _told(change: Change, properties: Mapping[str, Any]) -> Iterator[PropertyChange]:
    path = named_path(change.path, properties)
    if change.new is None and change.effect == "none":
        yield PropertyChange(path, change.old, None, "none")
        return
    for each in differences(path, change.old, change.new):
        yield PropertyChange(each.path, each.old, each.new, change.effect)


def _of_options(old: DeclaredResource, options: Mapping[str, Any]) -> Iterator[PropertyChange]:
    """Another provider is another place: everything goes there. Order alone changes nothing."""
    for name in dict.fromkeys([*options, *old.options]):
        before, after = old.options.get(name), options.get(name)
        if name in _REFERENCES[:2] or before == after:
            continue
        kind: Kind = "replace" if name == "provider" else "update"
        yield from (
            PropertyChange(f"options.{each.path}", each.old, each.new, kind)
            for each in differences(name, before, after)
        )


def _is_kept(resource: DeclaredResource) -> bool | None:
    if not lookup(resource.type).loses:
        return False
    kept = resource.options.get("retainOnDelete", False)
    return kept if isinstance(kept, bool) else None


def _marked(value: Any, others: Collection[str], renamed: Mapping[str, str]) -> Any:
    """References to what is another now look like it, and those to what merely has another key look as before."""

    def marked(reference: re.Match[str]) -> str:
        name = reference[1]
        key = next((key for key in (*others, *renamed) if name == key or name.startswith(f"{key}.")), "")
        if not key:
            return reference[0]
        text = f"${{{renamed.get(key, key)}{name[len(key) :]}}}"
        return f"{text} ({_ANOTHER})" if key in others else text

    match value:
        case str():
            return REFERENCE.sub(marked, value)
        case list():
            return [_marked(item, others, renamed) for item in cast("list[Any]", value)]
        case Mapping():
            pairs = cast("Mapping[str, Any]", value).items()
            return {name: _marked(item, others, renamed) for name, item in pairs}
        case _:
            return value
