"""`resources.yaml`: the list of a stack's resources, in the notation of Pulumi YAML. docs/resources.md describes it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never, cast

import yaml

from xmgen.plan.model import Manifest, Value
from xmgen.plan.resources import (
    Commented,
    ConfigurationKey,
    Declared,
    Input,
    Json,
    Not,
    Options,
    Output,
    Resource,
    SecretSetting,
    Setting,
    Text,
    Variable,
    Workloads,
)
from xmgen.stack.resources import FORMAT
from xmgen.templating import one_line


class _Dumper(yaml.CSafeDumper):
    """Writes a value again where it occurs again: anchors are hard to read."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def dump(declared: Declared, notes: Sequence[str] = ()) -> str:
    """The text below the header. notes: what a reader should know."""
    document: Manifest = {"format": FORMAT, "runs": declared.runs}
    if declared.cluster:
        document["cluster"] = declared.cluster
    if notes:
        document["notes"] = list(notes)
    text = _block(document)
    if declared.configuration:
        text += _section("configuration", {name: _key(key) for name, key in sorted(declared.configuration.items())})
    if declared.variables:
        text += _section("variables", {camel_case(name): notation(v) for name, v in declared.variables.items()})
    if declared.resources:
        text += "resources:\n" + textwrap.indent("".join(_resources(declared.resources)), "  ")
    if declared.workloads is not None:
        text += _section("workloads", _workloads(declared.workloads))
    return text


def _section(key: str, content: Manifest) -> str:
    return f"{_key_text(key)}:\n{textwrap.indent(_block(content), '  ')}"


def _block(content: Manifest) -> str:
    """A key a line; within, lists and mappings of nothing but scalars are on one line."""
    return "".join(
        yaml.dump(
            {key: value},
            Dumper=_Dumper,
            sort_keys=False,
            default_flow_style=None if isinstance(value, dict | list) else False,
            allow_unicode=True,
            width=2**31 - 1,
        )
        for key, value in content.items()
    )


def _key_text(key: str) -> str:
    return _block({key: None}).removesuffix(": null\n")


def notation(value: Input) -> Value:
    """An input in Pulumi YAML: `${cluster.endpoint}` is another resource's output."""
    match value:
        case Variable() | Setting(default="") | SecretSetting() | Output() | Text():
            return _interpolated(value)
        case Setting(name=name, default=default):
            return {"fn::default": [f"${{config.{name}}}", default]}
        case Json(value=inner):
            return {"fn::toJSON": notation(inner)}
        case Not(value=inner):
            return {"fn::not": notation(inner)}
        case Commented(value=inner):
            return notation(inner)
        case list():
            return [notation(item) for item in value]
        case dict():
            return {key: notation(item) for key, item in value.items()}
        case str():
            # Pulumi YAML reads `$${` as a text that begins with `${`.
            return value.replace("${", "$${")
        case None | bool() | int() | float():
            return value
        case _:
            assert_never(value)


def camel_case(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda letter: letter[1].upper(), name)


def _interpolated(value: Variable | Setting | SecretSetting | Output | Text | str) -> str:
    match value:
        case Variable(name=name):
            return f"${{{camel_case(name)}}}"
        case Setting(name=name) | SecretSetting(name=name):
            return f"${{config.{name}}}"
        case Output(resource=resource, property=path):
            return f"${{{_name(resource)}{path and f'.{path}'}}}"
        case Text(parts=parts):
            return "".join(_interpolated(part) for part in parts)
        case str():
            return value.replace("${", "$${")


def _key(key: ConfigurationKey) -> Value:
    said: Manifest = {"type": key.type}
    if key.secret:
        said["secret"] = True
    if key.required:
        said["required"] = True
    return said


def _resources(resources: Iterable[Resource]) -> Iterator[str]:
    """Each with the comment that the program has above it, which of several of one variable the first has."""
    commented = ""
    for declared in resources:
        for resource in declared.expanded():
            why = "" if resource.variable == commented else resource.why
            commented = resource.variable
            yield "".join(f"# {line}\n" for line in textwrap.wrap(one_line(why), 116))
            yield _resource(resource)


def _resource(resource: Resource) -> str:
    head: Manifest = {"type": resource.type, "name": cast("str", resource.name)}
    if resource.unless:
        head["unless"] = resource.unless
    if resource.only_if:
        head["onlyIf"] = resource.only_if
    text = _block(head)
    if resource.inputs:
        text += _section("properties", {key: notation(value) for key, value in resource.inputs.items()})
    if options := dict(_options(resource.options)):
        text += _section("options", options)
    key = camel_case(resource.variable) + (f".{resource.key}" if resource.key else "")
    return f"{_key_text(key)}:\n{textwrap.indent(text, '  ')}"


def _workloads(workloads: Workloads) -> Manifest:
    body: Manifest = {"type": workloads.type, "manifests": workloads.manifests}
    if options := dict(_options(workloads.options)):
        body["options"] = options
    return body


def _options(options: Options) -> Iterator[tuple[str, Value]]:
    if options.parent:
        yield "parent", f"${{{_name(options.parent)}}}"
    if options.provider:
        yield "provider", f"${{{_name(options.provider)}}}"
    if options.depends_on:
        yield "dependsOn", [f"${{{_name(name.removeprefix('*'))}}}" for name in options.depends_on]
    if options.delete_before_replace:
        yield "deleteBeforeReplace", True
    if options.retain_on_delete is not False:
        yield "retainOnDelete", notation(options.retain_on_delete)
    if options.ignore_changes:
        yield "ignoreChanges", list(options.ignore_changes)


def _name(name: str) -> str:
    """`code.examples-train`: the variable is in camelCase, the key as it is."""
    variable, dot, key = name.partition(".")
    return camel_case(variable) + dot + key
