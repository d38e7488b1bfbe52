"""The catalog as a table for people: rows for `xmgen accelerators` and for the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from xmgen import catalog
from xmgen.catalog.model import Catalog, Gpu, Tpu

HEADINGS = ("name", "also", "memory", "machine types on GKE", "allowed", "GKE label", "Vertex AI")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One accelerator. memory: of one GPU. allowed: GPUs of one machine, or TPU topologies. vertex: accelerator type,
    or machine types."""

    name: str
    aliases: str
    memory: str
    machine_types: str
    allowed: str
    gke_label: str
    vertex: str


def accelerator_table() -> tuple[Row, ...]:
    """GPUs, then TPUs, in the catalog's order (old to new)."""
    known = catalog.catalog()
    return (*(_gpu(known, gpu) for gpu in known.gpus.values()), *(_tpu(known, tpu) for tpu in known.tpus.values()))


def markdown() -> str:
    """The table as Markdown, as `docs/catalog.md` has it."""
    rows = [HEADINGS, tuple("---" for _ in HEADINGS), *(astuple(row) for row in accelerator_table())]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _gpu(known: Catalog, gpu: Gpu) -> Row:
    machines = [machine.name for machine in known.machines.values() if machine.accelerator == gpu.id]
    return Row(
        name=gpu.id,
        aliases=", ".join(gpu.aliases),
        memory=f"{gpu.memory_gb} GB",
        machine_types=_listed(machines) or "n1-* (attached)",
        allowed=_listed(str(count) for count in gpu.counts),
        gke_label=gpu.label,
        vertex=gpu.vertex_type or "",
    )


def _tpu(known: Catalog, tpu: Tpu) -> Row:
    machines = [machine for machine in known.machines.values() if machine.accelerator == tpu.id]
    more = f" and {len(tpu.enumerated)} more" if tpu.enumerated else ""
    labels = dict.fromkeys(machine.tpu.label for machine in machines if machine.tpu)
    return Row(
        name=tpu.id,
        aliases=", ".join(tpu.aliases),
        memory="",
        machine_types=_listed(machine.name for machine in machines),
        allowed=_listed(tpu.documented) + more,
        gke_label=_listed(labels),
        vertex=tpu.vertex.accelerator_type or _listed(tpu.vertex.machine_types),
    )


def _listed(values: Iterable[str]) -> str:
    return ", ".join(values)
