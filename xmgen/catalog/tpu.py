"""TPU topologies: from what a job asks for to a slice of machines. Pure.

A topology is written with its sides from small to large, as GKE writes it (`2x4`, `4x4x8`). A slice is one machine when
a machine has exactly its chips, else as many four-chip machines as it takes. `2x4` of v5e and v6e is both: one machine
of eight chips unless the job asks for two replicas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from xmgen.catalog.model import Catalog, Tpu, TpuSlice
from xmgen.errors import Problem, did_you_mean


def sides(topology: str) -> tuple[int, ...] | None:
    """`2x4` -> (2, 4). None when it is not one."""
    parts = topology.lower().split("x")
    return tuple(int(part) for part in parts) if all(part.isdecimal() and int(part) > 0 for part in parts) else None


def chips(topology: str) -> int:
    return math.prod(sides(topology) or (0,))


def topology_of(tpu: Tpu, count: float | None, topology: str | None) -> str | Problem:
    """The topology asked for, by name or by count. A one-sided topology (`8`) is a count."""
    if not tpu.topologies:
        hint = f"{tpu.note}; Vertex AI does: use the Vertex executor" if tpu.note else ""
        return Problem(f"GKE has no {tpu.id}", hint=hint)
    if topology and "x" in topology.lower():
        return _named(tpu, count, topology)
    if topology is not None:
        parsed = sides(topology)
        if parsed is None:
            return Problem(f"{tpu.id}={topology!r} is no topology", hint=_allowed(tpu))
        count = parsed[0]
    if count is None:
        return Problem(f"{tpu.id} needs a number of {tpu.counted_in} or a topology", hint=_allowed(tpu))
    return _counted(tpu, count)


def slices(catalog: Catalog, tpu: Tpu, topology: str) -> tuple[TpuSlice, ...]:
    """Every way to build the topology, the one with the fewest machines first."""
    total = chips(topology)
    found: list[TpuSlice] = []
    for machine in catalog.machines.values():
        if machine.tpu is None or machine.accelerator != tpu.id:
            continue
        per_host = machine.accelerator_count
        if machine.tpu.single_host == topology or (machine.tpu.multi_host and total > per_host):
            found.append(TpuSlice(topology=topology, machine=machine, hosts=total // per_host, chips_per_host=per_host))
    return tuple(sorted(found, key=lambda option: (option.hosts, option.machine.name)))


def _named(tpu: Tpu, count: float | None, topology: str) -> str | Problem:
    wanted = topology.lower()
    if wanted not in tpu.topologies:
        parsed = sides(wanted)
        ordered = _spelling(tpu, parsed) if parsed else None
        hint = f"did you mean {ordered!r}?" if ordered else did_you_mean(wanted, tpu.documented)
        return Problem(f"{tpu.id} has no topology {topology!r}", hint=hint)
    if count is not None and count not in (chips(wanted), _unit(tpu) * chips(wanted)):
        return Problem(f"{tpu.id}: topology {wanted} has {chips(wanted)} chips, not {count:g}")
    return wanted


def _spelling(tpu: Tpu, parsed: tuple[int, ...]) -> str | None:
    """GKE's spelling of the same sides in another order."""
    return next((known for known in tpu.topologies if sorted(sides(known) or ()) == sorted(parsed)), None)


def _counted(tpu: Tpu, count: float) -> str | Problem:
    """The topology of so many chips. GKE's table first; of several the most compact (shortest longest side)."""
    wanted = count / _unit(tpu)
    for table in (tpu.documented, tpu.enumerated):
        found = [topology for topology in table if chips(topology) == wanted]
        if found:
            return min(found, key=lambda topology: (max(sides(topology) or ()), table.index(topology)))
    return Problem(f"{tpu.id} has no slice of {count:g} {tpu.counted_in}", hint=_allowed(tpu))


def _unit(tpu: Tpu) -> int:
    return tpu.cores_per_chip if tpu.counted_in == "cores" else 1


def _allowed(tpu: Tpu) -> str:
    counts = sorted({chips(topology) * _unit(tpu) for topology in tpu.documented})
    return f"{tpu.counted_in}: {_joined(counts)}; topologies: {_joined(tpu.documented)}"


def _joined(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in values)
