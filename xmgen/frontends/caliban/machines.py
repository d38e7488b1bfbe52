"""What Caliban's options ask of machines, in terms of the catalog: `8xV100`, `n1-standard-8`, `us-central1-a`.

Which accelerators, counts and machine types exist is the catalog's to say, and it says so of today.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from xmgen import catalog
from xmgen.catalog import selection, tpu
from xmgen.catalog.model import Gpu, Tpu
from xmgen.errors import InputError, Problem
from xmgen.experiment import Accelerator, JobRequirements
from xmgen.frontends.caliban.settings import JobMode
from xmgen.locations import is_region

_ZONE = re.compile(r"(?P<region>[a-z0-9]+-[a-z0-9]+)-(?P<letter>[a-z]+)")
"""Caliban's rule."""


@dataclass(frozen=True, slots=True)
class Spec:
    """`COUNTxTYPE`. type: the catalog's id of the accelerator. count: GPUs, or TPU cores, as Caliban counts."""

    kind: str
    type: str
    count: int

    @property
    def accelerator(self) -> Accelerator:
        return Accelerator(type=self.type, count=self.count)


DEFAULT_GPU = Spec("gpu", "p100", 1)


def parse_gpu_spec(text: str, *, validate_count: bool = True) -> Spec:
    """The GPUs that `2xV100` means. Raises InputError; without `validate_count` any whole number is a count."""
    spec, found = _parse(text, "gpu")
    if validate_count and isinstance(found, Gpu) and spec.count not in found.counts:
        hint = f"have: {', '.join(str(count) for count in found.counts)}"
        raise InputError(Problem(f"no machine has {spec.count} GPUs of type {found.id}", "--gpu_spec", hint))
    return spec


def parse_tpu_spec(text: str, *, validate_count: bool = True) -> Spec:
    """The TPU slice that `8xV3` means; see `parse_gpu_spec`."""
    spec, found = _parse(text, "tpu")
    if validate_count and isinstance(found, Tpu):
        topology = tpu.topology_of(found, spec.count, None)
        if isinstance(topology, Problem) and not _on_vertex(found, spec.count):
            raise InputError(Problem(f"there is no slice {text}", "--tpu_spec", topology.hint))
    return spec


def _on_vertex(found: Tpu, cores: int) -> bool:
    """Whether Vertex AI has a slice of so many cores of a generation that is counted in cores."""
    if not found.vertex.cores:
        return False
    single, unit = found.vertex.cores
    return cores == single or (cores > 0 and cores % unit == 0)


def _parse(text: str, kind: str) -> tuple[Spec, Gpu | Tpu]:
    where, example = f"--{kind}_spec", "8xV100" if kind == "gpu" else "8xV3"
    count, separator, name = text.partition("x")
    if not separator:
        raise InputError(Problem(f"{text!r} is no COUNTxTYPE", where, f"such as {example}"))
    if not re.fullmatch(r"\s*[+-]?\d+\s*", count):
        raise InputError(Problem(f"{count!r} is no number of accelerators", where, f"such as {example}"))
    if name != name.strip():
        raise InputError(Problem(f"{name!r} is no accelerator", where, f"such as {example}"))
    found = catalog.accelerator(f"tpu_{name}" if kind == "tpu" and not name.lower().startswith("tpu") else name, where)
    if isinstance(found, Problem):
        raise InputError(found)
    if isinstance(found, Tpu) != (kind == "tpu"):
        other = "gpu" if kind == "tpu" else "tpu"
        raise InputError(Problem(f"{name} is no {kind.upper()}", where, f"ask for it with --{other}_spec"))
    return Spec(kind, found.id, int(count)), found


def parse_machine_type(text: str) -> JobRequirements:
    """What a machine of that type offers: the smallest machine with as much is of this size. Raises InputError."""
    found = catalog.machine_type(text, "--machine_type")
    if isinstance(found, Problem):
        raise InputError(found)
    return JobRequirements(cpu=found.vcpus, ram=found.memory_bytes)


def parse_region(text: str) -> str:
    """A region by its form; whether it exists is the cloud's to know. Raises InputError."""
    if not is_region(text):
        raise InputError(Problem(f"{text!r} is no region", "--region", "such as us-central1"))
    return text


def parse_zone(text: str | None) -> tuple[str, str] | None:
    """`us-central1-a` -> its region and letter; None for what is no zone."""
    match = _ZONE.fullmatch(text or "")
    return (match["region"], match["letter"]) if match else None


def job_mode(use_gpu: bool, gpu_spec: Spec | None, tpu_spec: Spec | None) -> JobMode:
    """GPU unless `--nogpu`, or a TPU without GPUs. Raises InputError for `--nogpu` with GPUs."""
    if not use_gpu:
        if gpu_spec is not None:
            raise InputError(Problem("--nogpu does not go with --gpu_spec", hint="leave one of them out"))
        return "CPU"
    return "CPU" if gpu_spec is None and tpu_spec is not None else "GPU"


def with_accelerator(requirements: JobRequirements, spec: Spec | None) -> JobRequirements:
    return replace(requirements, accelerator=spec.accelerator) if spec else requirements


def sold_as_spot(spec: Spec | None) -> bool:
    """Whether GKE has Spot machines with this accelerator; CPUs it has."""
    if spec is None:
        return True
    requirements = with_accelerator(JobRequirements(service_tier="spot"), spec)
    return not isinstance(selection.select(requirements), Problem)
