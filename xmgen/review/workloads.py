"""Why work units run again that are declared as before: where they run, or what they refer to, is another. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from xmgen.resource_types import BUCKET, CLUSTER, CUSTOM_JOB, TENSORBOARD
from xmgen.review.committed import Committed, Document
from xmgen.review.resolve import View
from xmgen.review.resources import Comparison, ResourceChange
from xmgen.review.units import Reason
from xmgen.review.values import text
from xmgen.stack.resources import DeclaredResources

_TOKEN = re.compile(r"<xmgen:([a-z-]+):([^<>]*)>")
"""What the program puts in: a setting, an output of another resource."""


def beside(
    old: View, new: View, comparison: Comparison, before: Committed, after: Committed
) -> Callable[[Iterable[Document]], list[Reason]]:
    """Reasons of a unit, by its documents."""
    everywhere = list(_everywhere(old, new, comparison, before, after))

    @cache
    def of_token(kind: str, name: str) -> Reason | None:
        was, now = _stands_for(old, kind, name), comparison.mark(_stands_for(new, kind, name))
        if was == now:
            return None
        if kind == "config":
            return Reason("setting", name, _said(was), _said(now))
        return Reason("resource", f"{kind} {name.partition(':')[0]}")

    def reasons(documents: Iterable[Document]) -> list[Reason]:
        tokens = dict.fromkeys(_TOKEN.findall(json.dumps(list(documents), ensure_ascii=False)))
        return [*everywhere, *(reason for token in tokens if (reason := of_token(*token)) is not None)]

    return reasons


def place(declared: DeclaredResources, view: View) -> str:
    """The cluster as `--cluster` takes it, with its location as far as it is known: `own@us-east1-b`."""
    choice, _, _ = declared.cluster.partition("@")
    location = view.value("${shared.location}" if choice.startswith("stack:") else "${location}")
    is_known = isinstance(location, str) and "${" not in location
    return f"{choice}@{location}" if is_known else choice


def _everywhere(old: View, new: View, comparison: Comparison, before: Committed, after: Committed) -> Iterator[Reason]:
    if before.declared is None or after.declared is None or before.type != after.type:
        return
    if after.type == CUSTOM_JOB:
        for name in ("region", "project"):
            was, now = old.variables.get(name), new.variables.get(name)
            if was != now:
                yield Reason("region", name, _said(was), _said(now))
        return
    workloads, others = after.declared.workloads, comparison.others
    if workloads is None or str(workloads.options.get("provider", ""))[2:-1] not in others:
        return
    was, now = place(before.declared, old), place(after.declared, new)
    if was != now:
        yield Reason("cluster", "cluster", was, now)
        return
    causes = [cause for change in comparison.changes if _is_cluster(change) for cause in change.changes]
    for cause in [cause for cause in causes if cause.effect == "replace"][:1]:
        yield Reason("cluster", cause.path, _said(cause.old), _said(cause.new))
    if not causes:
        yield Reason("cluster", "cluster", was, now)


def _is_cluster(change: ResourceChange) -> bool:
    return change.type == CLUSTER and change.change == "replaced"


def _stands_for(view: View, kind: str, name: str) -> Any:
    match kind:
        case "config":
            return view.value("${project}" if name == "gcp:project" else f"${{config.{name}}}")
        case "bucket":
            key = next((key for key, resource in view.resources.items() if resource.type == BUCKET), "")
            return view.value("${output}") if "output" in view.variables else f"${{{key}.name}}"
        case "tensorboard":
            boards = (key for key, each in view.resources.items() if each.type == TENSORBOARD and each.name == name)
            return f"${{{next(boards, name)}.name}}"
        case "service-account":
            return view.value("${account.email}")
        case "image":
            # Its tag is a hash of its code, which is another reason.
            image = view.resources.get(f"images.{name.partition(':')[0]}")
            properties = dict(image.properties) if image is not None else {}
            return [str(tag).rpartition(":")[0] for tag in properties.pop("tags", [])], properties
        case _:
            return None


def _said(value: object) -> str | None:
    return None if value is None else text(value)
