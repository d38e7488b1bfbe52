"""`requirements` of an executor: XManager's JobRequirements, with its resource names in lower case."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, create_model, model_validator

from xmgen import catalog
from xmgen.executors.limits import BYTES, REPLICAS
from xmgen.experiment import Accelerator, JobRequirements
from xmgen.frontends.spec.base import Model, error

UNITS = {
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTP", start=1)},
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTP", start=1)},
}
"""Bytes of a unit; XManager's `xm.KiB` … `xm.PB`."""

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)", re.ASCII)
_TOPOLOGY = re.compile(r"([1-9][0-9]*(?:x[1-9][0-9]*){1,2})(?:\*([1-9][0-9]*))?")


def _bytes(value: object) -> int:
    match value:
        case bool():
            pass
        case int() if 0 < value <= BYTES.most:
            return value
        case str() if (match := _SIZE.fullmatch(value)) and match[2] in UNITS:
            number, unit = match[1], UNITS[match[2]]
            # Integers where possible: a float of bytes would not be exact.
            size = round(float(number) * unit) if "." in number else int(number) * unit
            if 0 < size <= BYTES.most:
                return size
        case _:
            pass
    raise error("must be a number of bytes, or a text such as 4GiB", f"units: {', '.join(UNITS)}")


def _gpus(value: object) -> Accelerator:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return Accelerator(type="", count=float(value))
    if isinstance(value, str) and _TOPOLOGY.fullmatch(value):
        raise error("GPUs have no topology", "give the number per replica here, and `replicas` beside it")
    raise error("must be the number of GPUs per replica, 1 or more")


def _tpus(value: object) -> Accelerator:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return Accelerator(type="", count=float(value))
    if isinstance(value, str) and (match := _TOPOLOGY.fullmatch(value)):
        return Accelerator(type="", topology=match[1], slices=int(match[2] or 1))
    raise error("must be a number of chips, or a topology such as 4x4", "slices are written 4x4*2")


Bytes = Annotated[
    int,
    PlainValidator(_bytes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "exclusiveMinimum": 0},
                {"type": "string", "pattern": rf"^[0-9]+(\.[0-9]+)? ?({'|'.join(UNITS)})$"},
            ]
        }
    ),
]
_GPUS: dict[str, Any] = {"type": "integer", "minimum": 1, "description": "GPUs per replica."}
_TPUS: dict[str, Any] = {
    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": f"^{_TOPOLOGY.pattern}$"}],
    "description": "Chips, or their topology such as 4x4.",
}


class _Requirements(Model):
    """What each replica of a job needs. At most one accelerator."""

    cpu: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """vCPUs."""
    ram: Bytes | None = None
    """Memory: bytes, or a text such as 4GiB."""
    disk: Bytes | None = None
    """Ephemeral disk: bytes, or a text such as 100GiB."""
    architecture: Literal["haswell", "arm"] | None = None
    """The CPU's architecture."""
    location: Annotated[str, Field(min_length=1)] | None = None
    """Where the job should run, such as a zone."""
    replicas: Annotated[int, Field(ge=REPLICAS.least, le=REPLICAS.most)] | None = None
    """How many identical tasks the job has."""
    service_tier: Literal["prod", "batch", "freebie"] | None = None
    """How likely the job is to get its machines, and to keep them."""

    @model_validator(mode="after")
    def _one_accelerator(self) -> Self:
        given = list(self._accelerators())
        if len(given) > 1:
            raise error(f"a job has one kind of accelerator, not {' and '.join(given)}")
        return self

    def _accelerators(self) -> dict[str, Accelerator]:
        given = {name: getattr(self, name) for name in catalog.names()}
        return {name: value for name, value in given.items() if value is not None}

    def build(self) -> JobRequirements:
        names = catalog.names()
        return JobRequirements(
            cpu=self.cpu,
            ram=self.ram,
            disk=self.disk,
            accelerator=next((replace(value, type=names[name]) for name, value in self._accelerators().items()), None),
            architecture=self.architecture,
            location=self.location,
            replicas=self.replicas,
            service_tier=self.service_tier,
        )


def _accelerator_fields() -> dict[str, Any]:
    """A key for every name that the catalog has for an accelerator."""
    fields: dict[str, Any] = {}
    for name, accelerator in catalog.names().items():
        is_tpu = accelerator in catalog.catalog().tpus
        schema = _TPUS if is_tpu else _GPUS
        if name != accelerator:
            schema = {**schema, "description": f"{schema['description']} Another name of {accelerator}."}
        validator = PlainValidator(_tpus if is_tpu else _gpus)
        fields[name] = (Annotated[Accelerator | None, validator, WithJsonSchema(schema)], None)
    return fields


if TYPE_CHECKING:
    Requirements = _Requirements
else:
    Requirements = create_model(
        "Requirements", __base__=_Requirements, __doc__=_Requirements.__doc__, **_accelerator_fields()
    )
