"""The JSON files as a `Catalog`. Nothing is checked here; the consistency tests do that once, for everybody."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from xmgen.catalog.model import (
    AttachCounts,
    AttachLimit,
    Catalog,
    Gpu,
    MachineType,
    PlacementPolicy,
    SystemPod,
    Tpu,
    TpuMachine,
    VertexTable,
    VertexTpu,
)

Row = dict[str, Any]


def read() -> Catalog:
    folder = Path(__file__).parent
    data: Row = json.loads((folder / "catalog.json").read_text(encoding="utf-8"))
    topologies: Row = json.loads((folder / "tpu_topologies.json").read_text(encoding="utf-8"))["topologies"]
    return build(data, topologies)


def build(data: Row, topologies: Row) -> Catalog:
    """`data`: the content of catalog.json; `topologies`: that of tpu_topologies.json, by generation."""
    gpus = {row["id"]: _gpu(row) for row in data["gpus"]}
    tpus = {row["id"]: _tpu(row, topologies.get(row["id"], {})) for row in data["tpus"]}
    return Catalog(
        sources=data["sources"],
        machines={row["name"]: _machine(row) for row in data["machines"]},
        gpus=gpus,
        tpus=tpus,
        names=_names([*gpus.values(), *tpus.values()]),
        refused={row["name"]: row["reason"] for row in data["refused"]},
        not_offered={row["name"]: row["reason"] for row in data["not_offered"]},
        system_pods=tuple(SystemPod(**_tuples(row)) for row in data["system_pods"]),
        zone_families={row["zone"]: tuple(row["families"]) for row in data["zones"]["families"]},
        zone_accelerators={row["accelerator"]: tuple(row["zones"]) for row in data["zones"]["accelerators"]},
        vertex=_vertex(data["vertex"], gpus, tpus),
    )


def _tuples(row: Mapping[str, Any]) -> Row:
    return {key: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for key, value in row.items()}


def _names(accelerators: Iterable[Gpu | Tpu]) -> dict[str, str]:
    """Every name and alias -> id. An alias never hides an id."""
    names = {alias: accelerator.id for accelerator in accelerators for alias in accelerator.aliases}
    return {**names, **{accelerator.id: accelerator.id for accelerator in accelerators}}


def _machine(row: Row) -> MachineType:
    fields = _tuples(row)
    if "tpu" in row:
        fields["tpu"] = TpuMachine(**row["tpu"])
    if "policy" in row:
        fields["policy"] = PlacementPolicy(**row["policy"])
    return MachineType(**fields)


def _gpu(row: Row) -> Gpu:
    limits: Mapping[str, Row] = row.get("attach_limits", {})
    fields = _tuples(row)
    fields["attach_limits"] = {int(count): AttachLimit(**limit) for count, limit in limits.items()}
    return Gpu(**fields)


def _tpu(row: Row, topologies: Row) -> Tpu:
    fields = _tuples(row)
    fields["vertex"] = VertexTpu(**_tuples(row["vertex"]))
    return Tpu(
        **fields,
        documented=tuple(topologies.get("documented", ())),
        enumerated=tuple(topologies.get("enumerated", ())),
        max_chips=topologies.get("max_chips"),
    )


def _vertex(data: Row, gpus: Mapping[str, Gpu], tpus: Mapping[str, Tpu]) -> VertexTable:
    types = [*(gpu.vertex_type for gpu in gpus.values()), *(tpu.vertex.accelerator_type for tpu in tpus.values())]
    return VertexTable(
        cpu_machines=tuple(data["cpu_machines"]),
        attach_counts=tuple(
            AttachCounts(
                machine=row["machine"],
                counts={gpu: tuple(row[gpu]) for gpu in gpus if gpu in row},
                uncertain=tuple(row["uncertain"]),
            )
            for row in data["attach_counts"]
        ),
        strategies=data["strategies"],
        accelerator_types=(*filter(None, types), *data["further_accelerator_types"]),
    )
