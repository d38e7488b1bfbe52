"""Where the jobs of a stack run, before and after: what has moved takes every job along."""

from __future__ import annotations

import re

from xmgen.plan.model import Cluster, VertexPlace


def clusters(old: Cluster | None, new: Cluster | None) -> tuple[str, str] | None:
    """`own@us-east1-b` and `stack:team`: from which cluster to which; None where it is the same, as far as is known."""
    if old is None or new is None or _may_be_the_same(old, new):
        return None
    return _text(old), _text(new)


def regions(old: VertexPlace | None, new: VertexPlace | None) -> tuple[str, str] | None:
    """Of jobs on Vertex AI."""
    if old is None or new is None or old.region is None or new.region is None or old.region == new.region:
        return None
    return old.region, new.region


def _may_be_the_same(old: Cluster, new: Cluster) -> bool:
    if None not in (old.location, new.location) and old.location != new.location:
        return False
    if {old.kind, new.kind} == {"stack", "existing"}:
        stack, existing = (old, new) if old.kind == "stack" else (new, old)
        # As Pulumi names a stack's cluster.
        return re.fullmatch(rf"{re.escape(stack.name)}-[0-9a-f]{{7}}", existing.name) is not None
    return (old.kind, old.name) == (new.kind, new.name)


def _text(cluster: Cluster) -> str:
    """As `--cluster` takes it, and with the location, as far as it is known."""
    which = cluster.kind if cluster.kind == "own" else f"{cluster.kind}:{cluster.name}"
    return f"{which}@{cluster.location}" if cluster.location else which
