"""Accelerators and machines of Google Cloud. No other part of xmgen knows a machine type, a label or a topology.

The facts are in `catalog.json` and `tpu_topologies.json`, each row with its source. `selection` chooses machines for a
job on GKE, `vertex` on Vertex AI, `pools` turns choices into node pools, `allocatable` says what a node leaves to jobs.
"""

from __future__ import annotations

import functools

from xmgen.catalog import loader
from xmgen.catalog.model import Catalog, Gpu, MachineType, Tpu
from xmgen.errors import Problem, did_you_mean


@functools.cache
def catalog() -> Catalog:
    """The catalog, read on first use."""
    return loader.read()


def accelerator(name: str, where: str = "") -> Gpu | Tpu | Problem:
    """The accelerator of that name or alias; case, `-` and blanks do not matter (`a100-80gb`, `V6E`)."""
    known = catalog()
    key = name.strip().lower().replace("-", "_").replace(" ", "_")
    if key in known.refused:
        return Problem(f"the accelerator {name} cannot be had: {known.refused[key]}", where)
    identifier = known.names.get(key)
    if identifier is None:
        return Problem(f"unknown accelerator {name!r}", where, did_you_mean(key, known.names))
    return known.gpus[identifier] if identifier in known.gpus else known.tpus[identifier]


def machine_type(name: str, where: str = "") -> MachineType | Problem:
    """The machine type of that name, or why it is not one that xmgen uses."""
    known = catalog()
    if name in known.machines:
        return known.machines[name]
    if name in known.not_offered:
        return Problem(f"the machine type {name} is not used: {known.not_offered[name]}", where)
    return Problem(f"unknown machine type {name!r}", where, did_you_mean(name, known.machines))
