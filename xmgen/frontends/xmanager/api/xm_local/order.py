"""The order of units: each after those it waits for, and no edge that others imply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xmgen.errors import InputError, Problem
from xmgen.frontends.xmanager.recording import RecordedUnit


def in_order(units: Sequence[RecordedUnit]) -> list[tuple[RecordedUnit, list[int]]]:
    """The units that have jobs, each with the positions in the result of those it waits for.

    The script's order is kept as far as the edges allow. A unit without jobs hands on what it waited for.
    Raises InputError for units that wait for each other.
    """
    before = {unit: _with_jobs(unit) for unit in units if unit.jobs}
    placed: dict[RecordedUnit, int] = {}
    for unit in before:
        for ready in _depth_first(unit, before, placed):
            placed[ready] = len(placed)
    return [(unit, sorted(placed[each] for each in _reduced(before[unit], before))) for unit in placed]


def _with_jobs(unit: RecordedUnit) -> list[RecordedUnit]:
    """What `unit` waits for, through units that turned out to have no jobs."""
    result: dict[RecordedUnit, None] = {}
    seen = {unit}
    ahead = list(unit.after)
    while ahead:
        other = ahead.pop()
        if other in seen:
            continue
        seen.add(other)
        if other.jobs:
            result[other] = None
        else:
            ahead.extend(other.after)
    return list(result)


def _depth_first(
    unit: RecordedUnit, before: dict[RecordedUnit, list[RecordedUnit]], placed: dict[RecordedUnit, int]
) -> Iterator[RecordedUnit]:
    """The units to place up to `unit`, predecessors first. Without recursion: a chain may be long."""
    path: dict[RecordedUnit, Iterator[RecordedUnit]] = {}
    if unit not in placed:
        path[unit] = iter(before[unit])
    while path:
        current, rest = next(reversed(path.items()))
        following = next((other for other in rest if other not in placed), None)
        if following is None:
            del path[current]
            yield current
        elif following in path:
            circle = [other.description for other in path]
            raise InputError(Problem(f"units wait for each other: {', '.join(circle)}"))
        else:
            path[following] = iter(before[following])


def _reduced(direct: Sequence[RecordedUnit], before: dict[RecordedUnit, list[RecordedUnit]]) -> Sequence[RecordedUnit]:
    """`direct` without those that come before another of them anyway."""
    if len(direct) < 2:
        return direct
    implied: set[RecordedUnit] = set()
    ahead = [other for unit in direct for other in before[unit]]
    while ahead:
        unit = ahead.pop()
        if unit not in implied:
            implied.add(unit)
            ahead.extend(before[unit])
    return [unit for unit in direct if unit not in implied]
