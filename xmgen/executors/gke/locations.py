"""Where a stack's cluster is: the zone or region in which all of its jobs can run. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from xmgen.catalog.placement import Placement
from xmgen.errors import Problem
from xmgen.locations import is_region, is_within

Asked = tuple[str, Placement]
"""A job's placement, and how an error names the job."""


def of_own(said: str | None, asked: Sequence[Asked]) -> str | Problem | None:
    """The location of the stack's own cluster; None when the stack's configuration says it.

    said: what the source says of the cluster itself. Jobs that name several zones of one region make it regional.
    """
    found = _apart(said, asked, f"the cluster is in {said}") if said is not None else _common(asked)
    if isinstance(found, Problem) or found is None:
        return found
    return _whole_slices(found, asked) or found


def of_shared(name: str, there: str | None, asked: Sequence[Asked]) -> str | Problem | None:
    """That of a cluster which is there already, if all jobs can run in it."""
    if there is not None:
        found = _apart(there, asked, f"the cluster {name} is in {there}")
        return found if isinstance(found, Problem) else _whole_slices(found, asked) or found
    wrong = _common(asked)
    return wrong if isinstance(wrong, Problem) else None


def note(cluster: str | None, asked: Sequence[Asked]) -> list[str]:
    """What is to be known of a cluster that is regional because of what its jobs ask for."""
    zones = sorted({placement.zone for _, placement in asked if placement.zone})
    if cluster is None or not is_region(cluster) or len(zones) < 2:
        return []
    return [f"Jobs ask for {' and '.join(zones)}, so the cluster is regional: its system pool has a node in each zone."]


def _common(asked: Sequence[Asked]) -> str | Problem | None:
    """The only location that jobs ask for, or the region of all."""
    locations = dict.fromkeys(_location(placement) for _, placement in asked if placement.region)
    regions = {placement.region for _, placement in asked if placement.region}
    if len(regions) > 1:
        first = next(placement.region for _, placement in asked if placement.region)
        where = next(where for where, placement in asked if placement.region not in (None, first))
        return Problem(
            f"jobs ask for {', '.join(sorted(locations))}, but a stack has one cluster",
            where=where,
            hint="compile the jobs of each region into a stack of their own",
        )
    return next(iter(locations if len(locations) == 1 else regions), None)


def _apart(there: str, asked: Sequence[Asked], cluster: str) -> str | Problem:
    for where, placement in asked:
        location = _location(placement)
        if location and not (is_within(location, there) or is_within(there, location)):
            return Problem(f"jobs ask for {location}, but {cluster}", where=where)
    return there


def _whole_slices(cluster: str, asked: Sequence[Asked]) -> Problem | None:
    """A slice of several hosts lies in one zone, which it has to name on a regional cluster."""
    if not is_region(cluster):
        return None
    for where, placement in asked:
        if placement.tpu and placement.tpu.multi_host and not placement.zone:
            return Problem(
                f"a slice of {placement.accelerator} is in one zone, but {cluster} is a region",
                where=where,
                hint=f"ask for a zone, such as {cluster}-a",
            )
    return None


def _location(placement: Placement) -> str:
    return placement.zone or placement.region or ""
