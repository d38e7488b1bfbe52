"""Where a stack's settings say that it is, which its lock file may leave to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from xmgen.locations import region_of
from xmgen.plan.model import Plan, VertexPlace
from xmgen.project import PULUMI_FILE, STACKS

Read = Callable[[str], str]
"""The text of a file of the project, by its path in it. Where there is none, nothing, OSError or UnicodeDecodeError."""


def placed(old: Plan, new: Plan, reads: tuple[Read, Read], project: str) -> tuple[Plan, Plan]:
    """The plans with the locations that they leave to the settings; as they are unless both are known then, since one
    alone is no difference. project: the Pulumi project's name.
    """
    found = _placed(old, project, reads[0]), _placed(new, project, reads[1])
    return (old, new) if None in map(_where, found) else found


def _where(plan: Plan) -> str | None:
    if plan.cluster is not None:
        return plan.cluster.location
    return plan.vertex.region if plan.vertex is not None else ""


def _placed(plan: Plan, project: str, read: Read) -> Plan:
    cluster = plan.cluster
    if cluster is not None and cluster.location is None:
        # Where another stack's cluster is, the settings of that one say.
        stack = cluster.name if cluster.kind == "stack" else plan.experiment.stack
        location = _settings(stack, project, read).get("location")
        return replace(plan, cluster=replace(cluster, location=location))
    if plan.vertex is not None and plan.vertex.region is None:
        settings = _settings(plan.experiment.stack, project, read)
        region = settings.get("gcp:region") or region_of(settings.get("location", ""))
        return replace(plan, vertex=VertexPlace(region=region or None))
    return plan


def _settings(stack: str, project: str, read: Read) -> dict[str, str]:
    """As the program reads them, as far as they are known: not those in an environment of Pulumi's."""
    content = _yaml(f"{STACKS}/Pulumi.{stack}.yaml", read)
    own = _texts(content, project)
    if content.get("environment"):
        return own
    found = {**_texts(_yaml(PULUMI_FILE, read), project), **own}
    # Without a project nothing was ever up with these settings, which the user may not have committed yet.
    return found if "gcp:project" in found else {}


def _texts(content: dict[str, Any], project: str) -> dict[str, str]:
    """Of the settings of a stack, or of what Pulumi.yaml declares: what is in plain text, by name."""
    config: object = content.get("config")
    result: dict[str, str] = {}
    for key, value in cast("dict[object, object]", config if isinstance(config, dict) else {}).items():
        declared = cast("dict[str, object]", value) if isinstance(value, dict) else {"value": value}
        found = declared.get("value", declared.get("default"))
        if isinstance(found, str) and found:
            result[str(key).removeprefix(f"{project}:")] = found
    return result


def _yaml(path: str, read: Read) -> dict[str, Any]:
    """Empty where it is none: it is Pulumi that refuses it, and of the rest of a review it is no part."""
    import yaml

    try:
        content: object = yaml.safe_load(read(path))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}
