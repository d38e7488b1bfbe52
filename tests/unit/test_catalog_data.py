"""The catalog's data agrees with itself and with what names say about machines.

`violations` knows rules, not rows: what a machine type's name encodes, how a label relates to Vertex AI's name of the
same GPU, how topologies are built. The mutation tests then show that it notices when two rows' values are swapped.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from xmgen import catalog

FOLDER = Path(catalog.__file__).parent
DATA: dict[str, Any] = json.loads((FOLDER / "catalog.json").read_text())
TOPOLOGIES: dict[str, Any] = json.loads((FOLDER / "tpu_topologies.json").read_text())

VERTEX_TYPES = {  # AcceleratorType of the Vertex AI API
    "NVIDIA_TESLA_P100", "NVIDIA_TESLA_V100", "NVIDIA_TESLA_P4", "NVIDIA_TESLA_T4", "NVIDIA_TESLA_A100",
    "NVIDIA_A100_80GB", "NVIDIA_L4", "NVIDIA_H100_80GB", "NVIDIA_H100_MEGA_80GB", "NVIDIA_H200_141GB", "NVIDIA_B200",
    "NVIDIA_GB200", "NVIDIA_RTX_PRO_6000",
}  # fmt: skip
MAX_VCPUS = {  # vCPUs that GKE's autoscaler gives at most to a number of attached GPUs
    "p100": {1: 16, 2: 32, 4: 64}, "v100": {1: 12, 2: 24, 4: 48, 8: 96}, "p4": {1: 24, 2: 48, 4: 96},
    "t4": {1: 48, 2: 48, 4: 96},
}  # fmt: skip
MEMORY_GB = {  # NVIDIA's data sheets and Google's GPU page
    "p100": 16, "v100": 16, "p4": 8, "t4": 16, "l4_24th": 24, "a100": 40, "a100_80gib": 80, "h100": 80, "h100_mega": 80,
    "h200": 141, "b200": 180, "gb200": 186, "gb300": 279, "rtx_pro_6000": 96,
}  # fmt: skip
FAMILIES = {  # prefix of a machine type -> accelerator, vCPUs and GiB for each of them (None: not proportional)
    "a2-highgpu": ("a100", 12, 85), "a2-megagpu": ("a100", 6, 85), "a2-ultragpu": ("a100_80gib", 12, 170),
    "a3-highgpu": ("h100", 26, 234), "a3-megagpu": ("h100_mega", 26, 234), "a3-ultragpu": ("h200", 28, 369),
    "a4-highgpu": ("b200", 28, 496), "a4x-highgpu": ("gb200", 35, 221), "a4x-maxgpu": ("gb300", 36, 240),
    "g2-standard": ("l4_24th", None, None), "g4-standard": ("rtx_pro_6000", 48, 180),
    "ct3-hightpu": ("tpu_v3", 24, 85), "ct3p-hightpu": ("tpu_v3", 12, 85), "ct4p-hightpu": ("tpu_v4", 60, None),
    "ct5lp-hightpu": ("tpu_v5e", 28, 48), "ct5p-hightpu": ("tpu_v5p", 52, 112),
    "ct6e-standard": ("tpu_v6e", None, None), "tpu7x-standard": ("tpu_v7x", 56, 248),
}  # fmt: skip
GIB_PER_VCPU = {
    "e2-standard": 4, "e2-highcpu": 1, "e2-highmem": 8, "n2-standard": 4, "n2-highcpu": 1, "n2-highmem": 8,
    "c3-standard": 4, "c3-highcpu": 2, "c3-highmem": 8, "c4a-standard": 4, "c4a-highcpu": 2, "c4a-highmem": 8,
    "n1-standard": 3.75, "n1-highmem": 6.5, "n1-highcpu": 0.9, "g2-standard": 4,
}  # fmt: skip
TPU_LABELS = {
    "ct3": "tpu-v3-device", "ct3p": "tpu-v3-slice", "ct4p": "tpu-v4-podslice", "ct5lp": "tpu-v5-lite-podslice",
    "ct5p": "tpu-v5p-slice", "ct6e": "tpu-v6e-slice", "tpu7x": "tpu7x",
}  # fmt: skip
TPU_DIMENSIONS = {"tpu_v3": 2, "tpu_v4": 3, "tpu_v5e": 2, "tpu_v5p": 3, "tpu_v6e": 2, "tpu_v7x": 3}
MAX_CHIPS = {"tpu_v3": 1024, "tpu_v4": 4096, "tpu_v5e": 256, "tpu_v5p": 6144, "tpu_v6e": 256, "tpu_v7x": 9216}
LOCAL_SSDS = {  # bundled disks by accelerator: so many for each of its chips
    "a100_80gib": 1, "h100": 2, "h100_mega": 2, "h200": 4, "b200": 4, "gb200": 1,
}  # fmt: skip
ON_DEMAND_NOT_SOLD = re.compile(r"a3-highgpu-[124]g|a3-ultragpu-8g|a4-highgpu-8g|a4x-.*")
HYPERDISK_ONLY = re.compile(r"(a3-ultragpu|a4|a4x|c4a|ct6e|g4|tpu7x)-.*")
NOT_ON_VERTEX = re.compile(r"a4x-maxgpu-.*|ct[34]p?-.*|ct5p-.*|tpu7x-standard-1t")
SLICE_POLICIES = {"tpu_v2": None, "tpu_v7x": "workload"}
"""How the nodes of a slice are kept together; all other generations use compact placement."""
RESERVATION_ONLY = re.compile(r"a4x-.*")


def violations(data: dict[str, Any], topologies: dict[str, Any]) -> list[str]:
    return [
        *_sources(data, topologies),
        *_gpus(data),
        *(problem for row in data["machines"] for problem in _machine(row)),
        *_counts(data),
        *_topologies(data, topologies["topologies"]),
        *_vertex(data, topologies["topologies"]),
        *_names(data),
    ]


def _sources(data: dict[str, Any], topologies: dict[str, Any]) -> Iterator[str]:
    rows = [*data["gpus"], *data["tpus"], *data["machines"], *data["system_pods"], *data["refused"]]
    rows += [*data["zones"]["families"], *data["zones"]["accelerators"], *data["vertex"]["attach_counts"]]
    named = [(str(row)[:60], row.get("source", [])) for row in rows]
    named += [(f"topologies: {part}", source) for part, source in topologies["source"].items()]
    for name, source in named:
        if not source or not set(source) <= set(data["sources"]):
            yield f"{name}: no known source"


def _gpus(data: dict[str, Any]) -> Iterator[str]:
    for row in data["gpus"]:
        name, label = row["id"], row["label"]
        model = label.removeprefix("nvidia-").removeprefix("tesla-")
        on_vertex = label.upper().replace("-", "_")
        if row["vertex_type"] != (on_vertex if on_vertex in VERTEX_TYPES else None):
            yield f"{name}: label {label} and Vertex type {row['vertex_type']} are different GPUs"
        if model.split("-")[0] != name.split("_")[0] or ("mega" in model) != ("mega" in name):
            yield f"{name}: label {label} is another GPU's"
        labelled, wanted = re.search(r"(\d+)gb", model), re.search(r"(\d+)gib", name)
        wrong = labelled is not None and int(labelled[1]) != row["memory_gb"]
        if wrong or (wanted is not None and (labelled is None or wanted[1] != labelled[1])):
            yield f"{name}: label {label} has other memory"
        if row["memory_gb"] != MEMORY_GB[name]:
            yield f"{name}: {row['memory_gb']} GB"
        limits = {int(count): limit["vcpus"] for count, limit in row.get("attach_limits", {}).items()}
        if limits != MAX_VCPUS.get(name, {}):
            yield f"{name}: attached to at most {limits} vCPUs"
        for count, limit in row.get("attach_limits", {}).items():
            if not 3.25 * limit["vcpus"] <= limit["memory_gib"] <= 6.5 * limit["vcpus"]:
                yield f"{name}: {count} GPUs with {limit}"


def _machine(row: dict[str, Any]) -> Iterator[str]:
    name, vcpus, memory, count = row["name"], row["vcpus"], row["memory_gib"], row["accelerator_count"]
    prefix = "-".join(name.split("-")[:2])
    accelerator, vcpus_each, gib_each = FAMILIES.get(prefix, (None, None, None))
    if row["accelerator"] != accelerator or bool(accelerator) != (count > 0):
        yield f"{name}: has {count} x {row['accelerator']}"
    if encoded := re.search(r"-(\d+)[gt](-metal)?$", name):
        if int(encoded[1]) != count:
            yield f"{name}: has {count} accelerators"
    elif int(name.rsplit("-", 1)[1]) != vcpus:
        yield f"{name}: has {vcpus} vCPUs"
    odd = {"ct5lp-hightpu-1t": 24, "n2-highmem-128": 864}
    if vcpus_each and vcpus not in (vcpus_each * count, odd.get(name)):
        yield f"{name}: {vcpus} vCPUs for {count} accelerators"
    if gib_each and memory != gib_each * count:
        yield f"{name}: {memory} GiB for {count} accelerators"
    if prefix in GIB_PER_VCPU and memory not in (round(GIB_PER_VCPU[prefix] * vcpus, 2), odd.get(name)):
        yield f"{name}: {memory} GiB for {vcpus} vCPUs"
    if prefix == "g2-standard" and count != (vcpus // 12 if vcpus % 24 == 0 else 1):
        yield f"{name}: {count} GPUs"
    if prefix == "ct6e-standard" and (vcpus, memory) != {1: (44, 48), 4: (180, 720), 8: (180, 1440)}.get(count):
        yield f"{name}: {vcpus} vCPUs, {memory} GiB"
    if name == "ct4p-hightpu-4t" and memory != 407:
        yield f"{name}: {memory} GiB"
    if (row["architecture"] == "arm64") != (row["name"].split("-")[0] in ("a4x", "c4a")):
        yield f"{name}: {row['architecture']}"
    if row.get("attaches_gpus", False) != name.startswith("n1-"):
        yield f"{name}: attaches GPUs"
    if row["local_ssds"] != LOCAL_SSDS.get(row["accelerator"], 0) * count:
        yield f"{name}: {row['local_ssds']} Local SSDs"
    if ("on-demand" in row["provisioning"]) == bool(ON_DEMAND_NOT_SOLD.fullmatch(name)):
        yield f"{name}: sold {row['provisioning']}"
    if (row["provisioning"] == ["reservation"]) != bool(RESERVATION_ONLY.fullmatch(name)):
        yield f"{name}: sold {row['provisioning']}"
    if row["boot_disk"] not in row["boot_disks"] or row["boot_disk"] == "pd-standard":
        yield f"{name}: boot disk {row['boot_disk']}"
    if (row["boot_disks"] == ["hyperdisk-balanced"]) != bool(HYPERDISK_ONLY.fullmatch(name)):
        yield f"{name}: boot disks {row['boot_disks']}"
    if row["vertex"] != (accelerator is not None and not NOT_ON_VERTEX.fullmatch(name)):
        yield f"{name}: on Vertex"
    if (row.get("policy") == {"kind": "workload", "topology": "1x72"}) != (name == "a4x-highgpu-4g"):
        yield f"{name}: policy {row.get('policy')}"
    yield from _tpu_machine(row)


def _tpu_machine(row: dict[str, Any]) -> Iterator[str]:
    name, tpu = row["name"], row.get("tpu")
    if (tpu and tpu["label"]) != TPU_LABELS.get(name.split("-")[0]):
        yield f"{name}: TPU label {tpu and tpu['label']}"
    if tpu is None:
        return
    if tpu["single_host"] and math.prod(map(int, tpu["single_host"].split("x"))) != row["accelerator_count"]:
        yield f"{name}: as one host {tpu['single_host']}"
    if tpu["single_host"] and tpu["single_host"].count("x") + 1 != TPU_DIMENSIONS.get(row["accelerator"]):
        yield f"{name}: as one host {tpu['single_host']}"
    if (tpu["single_host"] is None) != name.startswith("ct3p-"):
        yield f"{name}: as one host {tpu['single_host']}"
    if tpu["multi_host"] != (row["accelerator_count"] == 4 and not name.startswith("ct3-")):
        yield f"{name}: in larger slices"


def _counts(data: dict[str, Any]) -> Iterator[str]:
    for row in data["gpus"]:
        had = {machine["accelerator_count"] for machine in data["machines"] if machine["accelerator"] == row["id"]}
        if row["counts"] != sorted(had | {int(count) for count in row.get("attach_limits", {})}):
            yield f"{row['id']}: counts {row['counts']}"


def _topologies(data: dict[str, Any], topologies: dict[str, Any]) -> Iterator[str]:
    if set(topologies) != set(TPU_DIMENSIONS):
        yield f"topologies of {sorted(topologies)}"
    for tpu, rows in topologies.items():
        every = rows["documented"] + rows["enumerated"]
        shapes = [tuple(map(int, topology.split("x"))) for topology in every]
        documented = [math.prod(shape) for shape in shapes[: len(rows["documented"])]]
        if len(set(every)) != len(every) or documented != sorted(set(documented)):
            yield f"{tpu}: topologies repeat or are out of order"
        if set(shapes) != set(_shapes(tpu)) and TPU_DIMENSIONS[tpu] == 3:
            yield f"{tpu}: {set(shapes) ^ set(_shapes(tpu))} against the rule"
        if TPU_DIMENSIONS[tpu] == 2 and shapes != list(_shapes(tpu)):
            yield f"{tpu}: {shapes} against the rule"
        if rows["max_chips"] not in (None, MAX_CHIPS[tpu]):
            yield f"{tpu}: {rows['max_chips']} chips"
        machines = [row for row in data["machines"] if row["accelerator"] == tpu and "tpu" in row]
        for topology, shape in zip(every, shapes, strict=True):
            if not any(_builds(machine, topology, math.prod(shape)) for machine in machines):
                yield f"{tpu}: no machine for {topology}"


@functools.cache
def _shapes(tpu: str) -> tuple[tuple[int, ...], ...]:
    return tuple(_rule(tpu))


def _rule(tpu: str) -> Iterator[tuple[int, ...]]:
    """The topologies of a generation by the rule of its kind: 2D ones double side by side, 3D ones are of cubes."""
    if TPU_DIMENSIONS[tpu] == 2:
        smallest = (2, 2) if tpu == "tpu_v3" else (1, 1)
        shape = smallest
        while math.prod(shape) <= MAX_CHIPS[tpu]:
            if shape not in ((1, 2), *([(2, 4)] if tpu == "tpu_v3" else [])):
                yield shape
            shape = (shape[0], shape[1] * 2) if shape[0] == shape[1] else (shape[1], shape[1])
        return
    yield from ((2, 2, 1), (2, 2, 2), (2, 2, 4), (2, 4, 4))
    if tpu == "tpu_v7x":
        yield (1, 1, 1)
    most, longest = MAX_CHIPS[tpu], 256
    for a in range(4, longest + 1, 4):
        for b in range(a, most // (a * a) + 1, 4):
            yield from ((a, b, c) for c in range(b, min(longest, most // (a * b)) + 1, 4))


def _builds(machine: dict[str, Any], topology: str, chips: int) -> bool:
    each = machine["accelerator_count"]
    return machine["tpu"]["single_host"] == topology or (
        machine["tpu"]["multi_host"] and chips > each and chips % each == 0
    )


def _vertex(data: dict[str, Any], topologies: dict[str, Any]) -> Iterator[str]:
    machines = {row["name"]: row for row in data["machines"]}
    for row in data["tpus"]:
        vertex = row["vertex"]
        if row["policy"] != SLICE_POLICIES.get(row["id"], "compact"):
            yield f"{row['id']}: policy {row['policy']}"
        if vertex["accelerator_type"] not in (None, row["id"].upper()):
            yield f"{row['id']}: Vertex type {vertex['accelerator_type']}"
        if bool(vertex["accelerator_type"]) != (row["counted_in"] == "cores"):
            yield f"{row['id']}: counted in {row['counted_in']}"
        if not set(vertex["topologies"]) <= set(topologies.get(row["id"], {}).get("documented", [])):
            yield f"{row['id']}: topologies on Vertex"
        for name in vertex["machine_types"]:
            owner = row["id"] if name == "cloud-tpu" else machines.get(name, {"accelerator": None})["accelerator"]
            if owner != row["id"]:
                yield f"{row['id']}: {name} on Vertex"
    if not set(data["vertex"]["cpu_machines"]) <= set(machines):
        yield "Vertex: unknown CPU machine"
    limits = {row["id"]: row["attach_limits"] for row in data["gpus"] if "attach_limits" in row}
    for row in data["vertex"]["attach_counts"]:
        for gpu, limit in limits.items():
            possible = [int(count) for count in limit if limit[count]["vcpus"] >= machines[row["machine"]]["vcpus"]]
            counts = row.get(gpu, [])
            if not row["uncertain"] and counts != possible[len(possible) - len(counts) :]:
                yield f"Vertex: {row['machine']} with {counts} x {gpu}"


def _names(data: dict[str, Any]) -> Iterator[str]:
    accelerators = [*data["gpus"], *data["tpus"]]
    names = [name for row in accelerators for name in (row["id"], *row["aliases"])]
    names += [row["name"] for row in data["refused"]]
    machines = [row["name"] for row in [*data["machines"], *data["not_offered"]]]
    for name in (*_repeated(names), *_repeated(machines)):
        yield f"{name}: twice"
    generations = {row["id"] for row in data["tpus"]}
    for row in data["zones"]["accelerators"]:
        if row["accelerator"] not in generations:
            yield f"zones of {row['accelerator']}"


def _repeated(names: list[str]) -> set[str]:
    return {name for name in names if names.count(name) > 1}


def test_the_catalog_is_consistent() -> None:
    assert violations(DATA, TOPOLOGIES) == []


GPU_FIELDS = ("label", "vertex_type", "memory_gb", "counts", "attach_limits")
MACHINE_FIELDS = (
    "name",
    "vcpus",
    "memory_gib",
    "accelerator",
    "accelerator_count",
    "local_ssds",
    "tpu",
    "architecture",
)
TPU_FIELDS = ("vertex", "counted_in")
OPTIONAL_FIELDS = ("attach_limits", "attaches_gpus", "tpu")
Swap = tuple[str, int, int, str]


def _swaps() -> Iterator[Swap]:
    """Every pair of accelerators, and every machine with its neighbour: part of the data, two rows, a field."""
    for part, fields in (("gpus", GPU_FIELDS), ("tpus", TPU_FIELDS)):
        for first, second in itertools.combinations(range(len(DATA[part])), 2):
            yield from ((part, first, second, field) for field in fields)
    for index in range(len(DATA["machines"]) - 1):
        yield from (("machines", index, index + 1, field) for field in MACHINE_FIELDS)


def test_swapped_values_are_noticed() -> None:
    differing = [swap for swap in _swaps() if _value(swap, 1) != _value(swap, 2)]
    assert len(differing) > 500
    assert [swap for swap in differing if not violations(_swapped(swap), TOPOLOGIES)] == []


def _value(swap: Swap, which: int) -> object:
    return DATA[swap[0]][swap[which]].get(swap[3])


def _swapped(swap: Swap) -> dict[str, Any]:
    part, first, second, field = swap
    rows = list(DATA[part])
    rows[first] = _with(rows[first], field, _value(swap, 2))
    rows[second] = _with(rows[second], field, _value(swap, 1))
    return {**DATA, part: rows}


def _with(row: dict[str, Any], field: str, value: object) -> dict[str, Any]:
    """The row with that value; without the field when only the other row has it."""
    kept = {key: old for key, old in row.items() if key != field}
    return kept if value is None and field in OPTIONAL_FIELDS else {**kept, field: value}


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(TPU_DIMENSIONS, 2)))
def test_swapped_topologies_are_noticed(first: str, second: str) -> None:
    mutated = copy.deepcopy(TOPOLOGIES)
    rows = mutated["topologies"]
    rows[first], rows[second] = rows[second], rows[first]
    if rows[first] != rows[second]:
        assert violations(DATA, mutated)


@pytest.mark.parametrize("tpu", TPU_DIMENSIONS)
def test_a_wrong_or_missing_topology_is_noticed(tpu: str) -> None:
    documented = TOPOLOGIES["topologies"][tpu]["documented"]
    for index, topology in enumerate(documented):
        first, *rest = topology.split("x")
        for wrong in (None, "x".join([str(int(first) + 2), *rest]), "x".join([first, *rest, "1"])):
            mutated = copy.deepcopy(TOPOLOGIES)
            mutated["topologies"][tpu]["documented"][index : index + 1] = [wrong] if wrong else []
            assert violations(DATA, mutated), f"{topology} -> {wrong}"


@pytest.mark.parametrize("row", DATA["machines"], ids=lambda row: row["name"])
def test_a_machine_sold_in_another_way_is_noticed(row: dict[str, Any]) -> None:
    wrong = ["spot"] if "on-demand" in row["provisioning"] else ["on-demand", "spot"]
    machines = [{**row, "provisioning": wrong} if row is each else each for each in DATA["machines"]]
    assert any(row["name"] in problem for problem in violations({**DATA, "machines": machines}, TOPOLOGIES))


def test_a_row_without_a_source_is_noticed() -> None:
    mutated = copy.deepcopy(DATA)
    mutated["gpus"][0]["source"] = []
    assert violations(mutated, TOPOLOGIES)
