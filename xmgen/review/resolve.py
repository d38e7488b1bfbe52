"""`resources.yaml` with everything put in that committed files say: variables, settings, outputs that are inputs. Pure.

What only the cloud knows stays as it stands there: `${cluster.endpoint}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from xmgen.locations import region_of
from xmgen.review.settings import UNKNOWN, Known
from xmgen.stack.resources import DeclaredResource, DeclaredResources

REFERENCE = re.compile(r"(?<!\$)\$\{([^{}]*)\}")
"""`$${` begins a text."""

Foreign = Callable[[str, str], Any]
"""An output of another stack, by the stack's name and its own."""

Identity = tuple[str, str, str]
"""Type of the parent, type, logical name: what Pulumi knows a resource by."""


@dataclass(frozen=True, slots=True)
class View:
    """What a stack declares with the settings that are known. resources: those that these leave in, by their keys."""

    variables: Mapping[str, Any] = field(default_factory=dict[str, Any])
    resources: Mapping[str, DeclaredResource] = field(default_factory=dict[str, DeclaredResource])
    value: Callable[[Any], Any] = lambda value: value
    """What an input stands for."""

    def by_identity(self) -> dict[Identity, tuple[str, DeclaredResource]]:
        return {self._identity(resource): (key, resource) for key, resource in self.resources.items()}

    def of_type(self, type_: str) -> list[DeclaredResource]:
        return [resource for resource in self.resources.values() if resource.type == type_]

    def _identity(self, resource: DeclaredResource) -> Identity:
        parent = self.resources.get(str(resource.options.get("parent", ""))[2:-1])
        return (parent.type if parent else "", resource.type, resource.name)


def view(declared: DeclaredResources, known: Known, foreign: Foreign) -> View:
    resolver = _Resolver(declared, known, foreign)
    return View(
        variables={name: resolver.reference(name) for name in declared.variables},
        resources={
            resource.key: DeclaredResource(
                key=resource.key,
                type=resource.type,
                name=resource.name,
                properties={name: resolver.value(value) for name, value in resource.properties.items()},
                # Whose they are is said by their keys.
                options={
                    name: value if name in ("parent", "provider", "dependsOn") else resolver.value(value)
                    for name, value in resource.options.items()
                },
            )
            for resource in declared.resources
            if resolver.is_there(resource)
        },
        value=resolver.value,
    )


class _Resolver:
    def __init__(self, declared: DeclaredResources, known: Known, foreign: Foreign) -> None:
        self._variables = declared.variables
        self._resources = {resource.key: resource for resource in declared.resources}
        self._required = {name for name, key in declared.configuration.items() if key.required}
        self._known = known
        self._foreign = foreign
        self._done: dict[str, Any] = {}
        self._open: set[str] = set()

    def is_there(self, resource: DeclaredResource) -> bool:
        unless = self._known.get(resource.unless) if resource.unless else None
        wanted = self._known.get(resource.only_if) if resource.only_if else UNKNOWN
        return unless in (None, UNKNOWN) and (wanted is UNKNOWN or _is_true(wanted))

    def value(self, value: Any) -> Any:
        match value:
            case str():
                return self._text(value)
            case list():
                items = (self.value(item) for item in cast("list[Any]", value))
                return [item for item in items if item is not None]
            case dict():
                mapping = cast("dict[str, Any]", value)
                if len(mapping) == 1 and next(iter(mapping)).startswith("fn::"):
                    [(name, argument)] = mapping.items()
                    return self._function(name, argument)
                pairs = ((key, self.value(item)) for key, item in mapping.items())
                return {key: item for key, item in pairs if item is not None}
            case _:
                return value

    def reference(self, name: str) -> Any:
        """What `${name}` stands for; itself where nobody knows."""
        if name in self._open or len(self._open) > 100:
            return f"${{{name}}}"
        if name not in self._done:
            self._open.add(name)
            self._done[name] = self._reference(name)
            self._open.discard(name)
        return self._done[name]

    def _reference(self, name: str) -> Any:
        if name.startswith("config."):
            name_of_setting = name.removeprefix("config.")
            value = self._known.get(name_of_setting, required=name_of_setting in self._required)
            return f"${{{name}}}" if value is UNKNOWN else value
        if name in self._variables:
            return self.value(self._variables[name])
        head, _, path = name.partition(".")
        if head in self._variables:
            return self._output_of(self.reference(head), name, path)
        key = next((key for key in self._resources if name.startswith(f"{key}.")), "")
        given = self._resources[key].properties.get(name[len(key) + 1 :]) if key else None
        # An output that is an input of the resource's own, such as the name that the program gives.
        return self.value(given) if isinstance(given, str | bool | int) else f"${{{name}}}"

    def _output_of(self, variable: object, name: str, path: str) -> Any:
        """Of another stack, or of what exists in the cloud."""
        if isinstance(variable, dict):
            [(function, argument), *_] = [*cast("dict[str, Any]", variable).items(), ("", None)]
            if function == "fn::stackReference":
                return self._foreign(str(argument), path)
            if function == "fn::invoke":
                where = cast("dict[str, Any]", argument).get("arguments", {})
                return f"${{{' '.join(str(value) for value in where.values())}.{path}}}"
        return f"${{{name}}}"

    def _text(self, text: str) -> Any:
        if whole := REFERENCE.fullmatch(text):
            return self.reference(whole[1])

        def put_in(reference: re.Match[str]) -> str:
            value = self.reference(reference[1])
            return reference[0] if isinstance(value, dict | list) else _plain(value)

        return REFERENCE.sub(put_in, text)

    def _function(self, name: str, argument: Any) -> Any:
        if name == "fn::ifSet":
            setting, then, otherwise = argument
            said = self._known.get(setting)
            if said is UNKNOWN:
                return {name: [setting, self.value(then), self.value(otherwise)]}
            return self.value(otherwise if said is None else then)
        value = self.value(argument)
        match name:
            case "fn::region" if _is_known(value):
                return region_of(str(value))
            case "fn::default" if _is_known(value):
                # What is not set has fallen out of the list.
                return cast("list[Any]", value)[0]
            case "fn::cidrBlocks" if value is None or _is_known(value):
                networks = filter(None, map(str.strip, str(value or "").split(",")))
                blocks = [{"cidrBlock": network} for network in networks]
                return {"cidrBlocks": blocks} if blocks else None
            case "fn::not" if _is_known(value):
                return not _is_true(value)
            case _:
                return {name: value}


def _is_known(value: object) -> bool:
    """Whether nothing in it is a reference, and no function's result."""
    match value:
        case str():
            return REFERENCE.search(value) is None
        case list():
            return all(map(_is_known, cast("list[object]", value)))
        case dict():
            return False
        case _:
            return True


def _is_true(value: object) -> bool:
    return value is True or value == "true"


def _plain(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
