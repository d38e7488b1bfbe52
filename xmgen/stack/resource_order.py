"""In which order Pulumi can create what a stack lists: by what each resource refers to, also through variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from xmgen.resource_types import EXECUTABLE, IMAGE
from xmgen.stack.compiled import CompiledStack
from xmgen.stack.resources import DeclaredResources

_REFERENCE = re.compile(r"(?<!\$)\$\{([^}]+)\}")


@dataclass(frozen=True, slots=True)
class Ordered:
    """A resource in its place.

    step:  1 for what can be created at once, else 1 more than the last that it waits for.
    after: what it waits for: keys in `resources.yaml`, of a list the list's own; of a work unit, other units.
    """

    step: int
    type: str
    name: str
    after: tuple[str, ...]


def in_order(stack: CompiledStack) -> list[Ordered]:
    """The stack's resources; within a step as they are listed, work units last. Pulumi's own are left out."""
    references = _References(stack.declared)
    steps: dict[str, int] = {}
    for resource in stack.declared.resources:
        # What a resource refers to is listed before it.
        used = references.resources({**resource.properties, "options": resource.options})
        steps[resource.key] = 1 + max((steps.get(key, 0) for key in used), default=0)
    listed = [
        Ordered(steps[each.key], each.type, each.name, references.heads({**each.properties, "options": each.options}))
        for each in stack.declared.resources
        if not each.type.startswith("pulumi:")
    ]
    workloads = stack.declared.workloads
    needed = references.resources(workloads.options) if workloads else set[str]()
    # Manifests name them, and not the list.
    needed |= {each.key for each in stack.declared.resources if each.type in (IMAGE, EXECUTABLE)}
    first = 1 + max((steps[key] for key in needed), default=0)
    of_units: dict[str, int] = {}
    for unit in stack.units:
        of_units[unit.name] = max((1 + of_units[name] for name in unit.depends_on), default=first)
        listed += [Ordered(of_units[unit.name], unit.type, name, unit.depends_on) for name in unit.resources]
    return sorted(listed, key=lambda resource: resource.step)


class _References:
    """What values of a list refer to."""

    def __init__(self, declared: DeclaredResources) -> None:
        self._variables: Mapping[str, Any] = declared.variables
        self._by_head: dict[str, list[str]] = {}
        for resource in declared.resources:
            self._by_head.setdefault(resource.key.partition(".")[0], []).append(resource.key)

    def heads(self, value: object) -> tuple[str, ...]:
        """The first words of what a value refers to, each once: the keys of resources, or of lists of them."""
        return tuple(dict.fromkeys(head for head, _ in self._found(value)))

    def resources(self, value: object) -> set[str]:
        """The keys of all resources that a value refers to."""
        return {key for _, keys in self._found(value) for key in keys}

    def _found(self, value: object, within: frozenset[str] = frozenset()) -> Iterator[tuple[str, list[str]]]:
        """within: the variables that lead here."""
        match value:
            case dict():
                for item in cast("dict[str, object]", value).values():
                    yield from self._found(item, within)
            case list():
                for item in cast("list[object]", value):
                    yield from self._found(item, within)
            case str():
                for reference in _REFERENCE.findall(value):
                    head, _, rest = str(reference).partition(".")
                    if keys := self._by_head.get(head):
                        one = [key for key in keys if rest and f"{head}.{rest}.".startswith(f"{key}.")]
                        yield head, one or keys
                    elif head in self._variables and head not in within:
                        yield from self._found(self._variables[head], within | {head})
            case _:
                return
