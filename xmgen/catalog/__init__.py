"""Accelerators and machines of Google Cloud. No other part of xmgen knows a machine type, a label or a topology.

The facts are in `catalog.json` and `tpu_topologies.json`, each row with its source. `selection` chooses machines for a
job on GKE, `vertex` on Vertex AI, `pools` turns choices into node pools, `allocatable` says what a node leaves to jobs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping

from xmgen.catalog import loader
from xmgen.catalog.model import Catalog, Gpu, MachineType, Tpu
from xmgen.errors import Problem, closest, did_you_mean

LOCAL_GPU = "local_gpu"
"""A GPU of this machine, whichever, for the Local executor."""

_NUMBERS = re.compile(r"\d+")


@functools.cache
def catalog() -> Catalog:
    """The catalog, read on first use."""
    return loader.read()


def accelerator(name: str, where: str = "") -> Gpu | Tpu | Problem:
    """The accelerator of that name or alias; case, `-` and blanks do not matter (`a100-80gb`, `V6E`)."""
    known = catalog()
    key = _key(name)
    if key in known.refused:
        return Problem(f"the accelerator {name} cannot be had: {known.refused[key]}", where)
    identifier = known.names.get(key)
    if identifier is None:
        return Problem(f"unknown accelerator {name!r}", where, suggestion(name))
    return known.gpus[identifier] if identifier in known.gpus else known.tpus[identifier]


@functools.cache
def names() -> Mapping[str, str]:
    """Every name that a job may give an accelerator -> that of the accelerator. Those that cannot be had are among
    them: why not is for the planner to say, and the Local executor takes them.
    """
    known = catalog()
    return {**known.names, **{name: name for name in known.refused}}


def suggestion(name: str, others: Collection[str] = ()) -> str:
    """The hint for a name that is no accelerator's. others: what may stand there beside those of Google Cloud.

    Other hardware is never proposed: a number in a name says which, and is no slip.
    """
    known, key = catalog(), _key(name)
    kinds = {"gpu": [*known.gpus], "tpu": [*known.tpus], "accelerator": [*known.gpus, *known.tpus]}
    if kind := kinds.get(key.removesuffix("s")):
        return f"say which: {', '.join([*kind, *({LOCAL_GPU} & {*others} if 'gpu' in key else ())])}"
    choices = [*known.names, *others]
    begin_so = [choice for choice in choices if re.match(rf"{re.escape(key)}(?!(?<=\d)\d)", choice)]
    meant = {known.names.get(choice, choice): "" for choice in begin_so} if key not in known.names else {key: ""}
    if not 0 < len(meant) < 4:
        close = closest(key, [choice for choice in choices if _NUMBERS.findall(choice) == _NUMBERS.findall(key)])
        meant = {close: ""} if close else {}
    if meant:
        return f"did you mean {' or '.join(map(repr, meant))}?"
    return f"known: {', '.join([*others, *kinds['accelerator']])}"


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def machine_type(name: str, where: str = "") -> MachineType | Problem:
    """The machine type of that name, or why it is not one that xmgen uses."""
    known = catalog()
    if name in known.machines:
        return known.machines[name]
    if name in known.not_offered:
        return Problem(f"the machine type {name} is not used: {known.not_offered[name]}", where)
    return Problem(f"unknown machine type {name!r}", where, did_you_mean(name, known.machines))
