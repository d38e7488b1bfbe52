"""`resources.yaml` of a compiled stack, as it was committed. docs/resources.md describes the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from xmgen.errors import InputError, Problem
from xmgen.plan.resources import ConfigurationKey

FILE = "resources.yaml"
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredResource:
    """key: by which others refer to it, as in `${cluster.id}`. properties: with such references as they stand there.

    unless: the setting that takes its place. only_if: the setting by which it is wanted.
    """

    key: str
    type: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    unless: str = ""
    only_if: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workloads:
    """What runs: one resource for each document of the file `manifests` of the stack's folder."""

    type: str
    manifests: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredResources:
    """runs: what the work units run on, such as `gke`; `cluster` of a stack that is but a cluster.

    cluster: whose it is, as `--cluster` takes it; empty where there is none. notes: what a reader should know.
    """

    runs: str
    cluster: str = ""
    notes: tuple[str, ...] = ()
    configuration: Mapping[str, ConfigurationKey] = field(default_factory=dict[str, ConfigurationKey])
    variables: Mapping[str, Any] = field(default_factory=dict[str, Any])
    resources: tuple[DeclaredResource, ...] = ()
    workloads: Workloads | None = None

    def of_type(self, type_: str) -> list[DeclaredResource]:
        return [resource for resource in self.resources if resource.type == type_]


def read(folder: Path) -> DeclaredResources:
    """Of a stack's folder. Raises InputError for a file that this xmgen cannot read, or that is not there."""
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        hint = "compile it again: the xmgen that compiled it was an older one"
        raise InputError(Problem("a compiled stack has this file", where=str(file), hint=hint)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem(f"cannot be read: {error}", where=str(file))) from None
    return parse(text, str(file))


def parse(text: str, where: str) -> DeclaredResources:
    """where: how errors name the file. Raises InputError."""
    import yaml

    try:
        content: object = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(Problem(f"is no YAML: {' '.join(str(error).split())}", where=where)) from None
    if not isinstance(content, dict):
        raise _unexpected(where)
    document = cast("dict[str, Any]", content)
    if document.get("format") != FORMAT:
        raise InputError(
            Problem(
                f"has the format {document.get('format')!r}, this xmgen reads {FORMAT}",
                where=where,
                hint="compile the stack again, or use the xmgen that compiled it",
            )
        )
    try:
        return _document(document)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _unexpected(where) from None


def _document(document: dict[str, Any]) -> DeclaredResources:
    return DeclaredResources(
        runs=_text(document["runs"]),
        cluster=_text(document.get("cluster", "")),
        notes=tuple(_text(note) for note in document.get("notes", [])),
        configuration={
            _text(name): ConfigurationKey(
                type="boolean" if key["type"] == "boolean" else "string",
                secret=key.get("secret") is True,
                required=key.get("required") is True,
            )
            for name, key in document.get("configuration", {}).items()
        },
        variables=dict(document.get("variables", {})),
        resources=tuple(_resource(key, body) for key, body in document.get("resources", {}).items()),
        workloads=_workloads(document["workloads"]) if "workloads" in document else None,
    )


def _workloads(body: dict[str, Any]) -> Workloads:
    return Workloads(
        type=_text(body["type"]), manifests=_inside(body["manifests"]), options=dict(body.get("options", {}))
    )


def _resource(key: str, body: dict[str, Any]) -> DeclaredResource:
    return DeclaredResource(
        key=_text(key),
        type=_text(body["type"]),
        name=_text(body["name"]),
        properties=dict(body.get("properties", {})),
        options=dict(body.get("options", {})),
        unless=_text(body.get("unless", "")),
        only_if=_text(body.get("onlyIf", "")),
    )


def kubernetes_object(resource: DeclaredResource) -> dict[str, Any]:
    """What a resource of Kubernetes' is on the cluster, as `kubectl` takes it."""
    _, version, kind = resource.type.split(":")
    return {"apiVersion": version.removeprefix("core/"), "kind": kind, **resource.properties}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _inside(path: object) -> str:
    """A file below the stack's folder; none that leads out of it."""
    parts = _text(path).split("/")
    if ".." in parts or not all(parts):
        raise ValueError(path)
    return "/".join(parts)


def _unexpected(where: str) -> InputError:
    return InputError(Problem("is not as xmgen writes it", where=where, hint="compile the stack again"))
