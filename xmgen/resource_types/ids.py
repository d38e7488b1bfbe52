"""Under which id a resource is found: what its type and inputs tell of it before anybody has asked the cloud."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from xmgen.resource_types.table import lookup

_CLUSTER = re.compile(r"projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/clusters/(?P<cluster>[^/]+)")
"""What a node pool may have for the name of its cluster."""


def provider_id(type: str, inputs: Mapping[str, Any], provider: Mapping[str, Any]) -> str | None:
    """The id that the provider gives it; None when type and inputs do not tell it.

    inputs: as the provider checked them, so that they hold a generated name. provider: the provider's own inputs.
    """
    return _filled(lookup(type).id, inputs, provider)


def import_id(type: str, inputs: Mapping[str, Any], provider: Mapping[str, Any]) -> str | None:
    """The id by which the provider imports what a create with these inputs made; None as above."""
    row = lookup(type)
    # A grant under a condition has an id with the condition's title in it, and another one for each of its forms.
    return None if inputs.get("condition") else _filled(row.import_id or row.id, inputs, provider)


def _filled(template: str, inputs: Mapping[str, Any], provider: Mapping[str, Any]) -> str | None:
    """A template with the values that its `{…}` name by property path."""
    values = {"project": provider.get("project"), **{key: value for key, value in inputs.items() if value}}
    if cluster := _CLUSTER.fullmatch(str(values.get("cluster", ""))):
        values |= cluster.groupdict()
    # A project of a domain, `example.com:name`, has accounts with addresses of another form.
    if not template or (":" in str(values.get("project")) and "serviceAccounts" in template):
        return None
    parts = re.split(r"\{([\w.]+)\}", template)
    parts[1::2] = [_text(values, path) for path in parts[1::2]]
    return "".join(parts) if all(parts[1::2]) else None


def _text(values: Mapping[str, Any], path: str) -> str:
    """Empty where there is none, or where only the cloud knows it."""
    value: Any = values
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None  # pyright: ignore
    return value if isinstance(value, str) else ""
