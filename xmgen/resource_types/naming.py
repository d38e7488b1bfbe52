"""Whether a resource's name is one to Google or Kubernetes: the name that a program gives, or that Pulumi makes."""

from __future__ import annotations

from collections.abc import Mapping

from xmgen.resource_types.model import SUFFIX, value_at
from xmgen.resource_types.table import lookup


def rule_broken(type: str, name: str) -> str:
    """What a name must be that `name` is not; empty when it is one."""
    rule = lookup(type).name
    return "" if rule is None or rule.pattern.fullmatch(name) else rule.rule


def problem(type: str, logical: str, inputs: Mapping[str, object]) -> str:
    """A sentence on the name that a resource would have and cannot; empty where it is fine, and where only the cloud
    knows it.

    logical: its logical name. inputs: plain values, and whatever else a program computes.
    """
    row = lookup(type)
    if row.name is None:
        return ""
    given = value_at(inputs, row.name.input)
    name = f"{logical}{SUFFIX}" if given is None and row.name.generated else given
    if not isinstance(name, str) or "${" in name or not (rule := rule_broken(type, name)):
        return ""
    return f"no {row.noun} can be called {name!r}: {rule}"
