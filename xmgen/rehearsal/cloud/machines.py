"""What Google makes of a machine type: its size, accelerator, and the labels of its nodes.

Sizes are the catalog's. What tells nodes apart is written down here a second time on purpose: a label that is wrong in
the catalog must not be wrong in the rehearsal, too.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from xmgen import catalog
from xmgen.catalog.model import MachineType

TPU_LABELS = {
    "ct3": "tpu-v3-device",
    "ct3p": "tpu-v3-slice",
    "ct4p": "tpu-v4-podslice",
    "ct5lp": "tpu-v5-lite-podslice",
    "ct5p": "tpu-v5p-slice",
    "ct6e": "tpu-v6e-slice",
    "tpu7x": "tpu7x",
}
"""Machine family -> value of `cloud.google.com/gke-tpu-accelerator`."""

_FLAT = {1: "1x1", 4: "2x2", 8: "2x4"}
_DEEP = {1: "1x1x1", 4: "2x2x1"}
SINGLE_HOST = {"ct3": _FLAT, "ct3p": _FLAT, "ct5lp": _FLAT, "ct6e": _FLAT, "ct4p": _DEEP, "ct5p": _DEEP, "tpu7x": _DEEP}
"""The topology of one machine, by family and chips."""

SINGLE_HOST_ONLY = frozenset(
    {
        "ct3-hightpu-4t",
        "ct5lp-hightpu-1t",
        "ct5lp-hightpu-8t",
        "ct6e-standard-1t",
        "ct6e-standard-8t",
        "tpu7x-standard-1t",
    }
)
"""Machines of which there are no larger slices."""

_FLAT_SLICES = frozenset({"2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16"})
_V3_SLICES = frozenset({"4x4", "4x8", "8x8", "8x16", "16x16", "16x32", "32x32"})
SLICES = {"ct3p": _V3_SLICES, "ct5lp": _FLAT_SLICES, "ct6e": _FLAT_SLICES}
"""All topologies of several hosts, where there are but a few; elsewhere they are made by a rule."""

GPU_TYPES = {
    "a2-highgpu": "nvidia-tesla-a100",
    "a2-megagpu": "nvidia-tesla-a100",
    "a2-ultragpu": "nvidia-a100-80gb",
    "a3-highgpu": "nvidia-h100-80gb",
    "a3-megagpu": "nvidia-h100-mega-80gb",
    "a3-ultragpu": "nvidia-h200-141gb",
    "a4-highgpu": "nvidia-b200",
    "a4x-highgpu": "nvidia-gb200",
    "a4x-maxgpu": "nvidia-gb300",
    "g2-standard": "nvidia-l4",
    "g4-standard": "nvidia-rtx-pro-6000",
}
"""Machine series -> accelerator type of the GPUs that come with it."""

G2_COUNTS = {24: 2, 48: 4, 96: 8}
"""GPUs of a g2-standard machine, by vCPUs; 1 where it is not listed."""

N1_GPUS = {
    "nvidia-tesla-t4": (1, 2, 4),
    "nvidia-tesla-p4": (1, 2, 4),
    "nvidia-tesla-v100": (1, 2, 4, 8),
    "nvidia-tesla-p100": (1, 2, 4),
}
"""GPUs that are attached to N1 machines, and how many at a time."""

_CPU_MACHINE = re.compile(
    r"f1-micro|g1-small|e2-(micro|small|medium)"
    r"|(c2|c2d|c3|c3d|c4|c4a|c4d|e2|h3|h4d|m1|m2|m3|m4|n1|n2|n2d|n4|n4a|n4d|t2a|t2d|x4|z3)"
    r"-(standard|highmem|highcpu|megamem|ultramem|hypermem|highlssd|standardlssd)-\d+(-\w+)?"
    r"|((e2|n1|n2|n2d|n4|n4a|n4d)-)?custom-(micro|small|medium|\d+)-\d+(-ext)?"
)
"""What machine types without accelerators are called; the catalog has all of those with some."""

ARM_FAMILIES = frozenset({"a4x", "c4a", "n4a", "t2a"})


@dataclass(frozen=True, slots=True)
class Chips:
    """TPU chips of one machine."""

    label: str
    count: int
    topology: str


def machine(name: str) -> MachineType | None:
    return catalog.catalog().machines.get(name)


def exists(name: str) -> bool:
    """Whether there may be such a machine type."""
    known = catalog.catalog()
    return name in known.machines or name in known.not_offered or bool(_CPU_MACHINE.fullmatch(name))


def family(name: str) -> str:
    """A custom machine that names none is one of N1."""
    first = name.partition("-")[0]
    return "n1" if first == "custom" else first


def architecture(name: str) -> str:
    return "arm64" if family(name) in ARM_FAMILIES else "amd64"


def chips(name: str) -> Chips | None:
    """Of a TPU machine; None for every other."""
    kind = family(name)
    if kind not in TPU_LABELS:
        row = machine(name)
        return Chips(row.tpu.label, row.accelerator_count, row.tpu.single_host or "") if row and row.tpu else None
    count = int(name.rpartition("-")[2].removesuffix("t"))
    return Chips(TPU_LABELS[kind], count, SINGLE_HOST[kind].get(count, ""))


def gpus(name: str) -> tuple[str, int] | None:
    """Type and number of the GPUs that such a machine comes with; None when it comes with none."""
    series = "-".join(name.split("-")[:2])
    if series not in GPU_TYPES:
        # What the catalog has had since is not written down here a second time.
        row = machine(name)
        gpu = catalog.catalog().gpus.get(row.accelerator or "") if row else None
        return (gpu.label, row.accelerator_count) if row and gpu else None
    size = name.split("-")[2]
    if series == "g2-standard":
        return GPU_TYPES[series], G2_COUNTS.get(int(size), 1)
    if series == "g4-standard":
        return GPU_TYPES[series], max(1, int(size) // 48)
    return GPU_TYPES[series], int(size.removesuffix("g"))


def size_of(topology: str) -> int:
    """Chips of a topology such as `4x4x8`."""
    return math.prod(int(part) for part in topology.split("x"))


def has_slice(name: str, topology: str) -> bool:
    """Whether such TPU machines make slices of this topology, as far as it is sure."""
    known = SLICES.get(family(name))
    return topology in known if known else topology.count("x") == 2
