"""How much of what a stack may take at the most. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from xmgen.resource_types import NODE_POOL
from xmgen.review.committed import Document
from xmgen.review.values import at, mappings
from xmgen.stack.resources import DeclaredResource

_TPU = re.compile(r"(ct[a-z0-9]+)-[a-z]+-([0-9]+)t")
"""Machine types of TPU hosts: `ct5lp-hightpu-4t` has four chips."""


@dataclass(frozen=True, slots=True)
class Quantity:
    name: str
    old: int
    new: int


def quantities(
    old: Iterable[DeclaredResource],
    new: Iterable[DeclaredResource],
    before: Iterable[Document],
    after: Iterable[Document],
) -> list[Quantity]:
    """What differs. old, new: resources. before, after: documents of work units."""
    counts = [
        _of_pools(resources) + _of_custom_jobs(documents) for resources, documents in ((old, before), (new, after))
    ]
    return [
        Quantity(name, counts[0][name], counts[1][name])
        for name in dict.fromkeys([*counts[1], *counts[0]])
        if counts[0][name] != counts[1][name]
    ]


def _of_pools(resources: Iterable[DeclaredResource]) -> Counter[str]:
    result: Counter[str] = Counter()
    for pool in resources:
        if pool.type != NODE_POOL:
            continue
        properties, nodes = pool.properties, at(pool.properties, "nodeConfig")
        least, most = (_nodes(properties, which) for which in ("Min", "Max"))
        result["nodes, at least"] += least
        result["nodes, at most"] += most
        for accelerator in mappings(nodes, "guestAccelerators"):
            result[f"{accelerator.get('type')}, at most"] += most * _number(accelerator.get("count"))
        if tpu := _TPU.fullmatch(str(at(nodes, "machineType"))):
            result[f"TPU chips of {tpu[1]}, at most"] += most * int(tpu[2])
        result["GB of disks, at most"] += most * _number(at(nodes, "diskSizeGb"))
    return result


def _nodes(pool: Mapping[str, Any], which: str) -> int:
    scale = at(pool, "autoscaling")
    counts = (at(scale, f"total{which}NodeCount"), at(scale, f"{which.lower()}NodeCount"), pool.get("nodeCount"))
    return next((_number(count) for count in counts if count is not None), 0)


def _of_custom_jobs(documents: Iterable[Document]) -> Counter[str]:
    """If all run at once."""
    result: Counter[str] = Counter()
    for document in documents:
        for pool in mappings(document, "jobSpec", "workerPoolSpecs"):
            machine, replicas = at(pool, "machineSpec"), _number(pool.get("replicaCount"))
            result["worker pools of all CustomJobs"] += 1
            result[f"{at(machine, 'machineType')} of all CustomJobs"] += replicas
            if accelerator := at(machine, "acceleratorType"):
                result[f"{accelerator} of all CustomJobs"] += replicas * _number(at(machine, "acceleratorCount"))
            result["GB of disks of all CustomJobs"] += replicas * _number(at(pool, "diskSpec", "bootDiskSizeGb"))
    return result


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0
