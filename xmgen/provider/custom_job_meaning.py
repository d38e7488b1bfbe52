"""What the inputs of a CustomJob mean: an import has all that the API fills in, a program leaves it out. Pure."""

from __future__ import annotations

from typing import cast

from xmgen import catalog
from xmgen.provider import custom_job_shape
from xmgen.provider.custom_job_api import LABEL, Job
from xmgen.provider.wire import Properties, Value, plain

BODY = tuple(custom_job_shape.CUSTOM_JOB.fields)


def body_of(inputs: Properties) -> Properties:
    """The request's body."""
    return {key: inputs[key] for key in BODY if key in inputs}


def imported(name: str, job: Job) -> Properties:
    """The inputs that would have made the job."""
    labels = {key: value for key, value in cast("Properties", job.get("labels") or {}).items() if key != LABEL}
    _, project, _, region, *_ = name.split("/")
    body: Properties = {key: job[key] for key in BODY if key in job and key != "labels"}
    if labels:
        body["labels"] = labels
    return {**cast("Properties", _normal(custom_job_shape.CUSTOM_JOB, body)), "project": project, "region": region}


def meaning(values: Properties) -> Properties:
    """The inputs without what means nothing: an import has the API's own defaults, a program leaves them out."""
    inputs = cast("Properties", plain(values))
    meaning = {**inputs, **cast("Properties", _normal(custom_job_shape.CUSTOM_JOB, body_of(inputs)) or {})}
    return {key: value for key, value in meaning.items() if value not in (None, False, [], {})}


_DEFAULTS: dict[str, tuple[Value, ...]] = {
    "strategy": ("STANDARD", "ON_DEMAND", "STRATEGY_UNSPECIFIED"),
    "timeout": ("604800s",),
    "maxWaitDuration": ("86400s",),
    "bootDiskType": ("pd-ssd",),
    "bootDiskSizeGb": (100,),
}
"""What the API assumes where a field is left out."""


def _normal(shape: custom_job_shape.Shape, value: Value) -> Value:
    """The value as a program would write it; None for one that says nothing."""
    match shape:
        case custom_job_shape.Message() if isinstance(value, dict):
            result: Properties = {}
            for key, item in value.items():
                normal = _normal(shape.fields[key], item) if key in shape.fields else item
                # An empty text is none to the API, which leaves it out.
                if normal not in (None, "", *_DEFAULTS.get(key, ())):
                    result[key] = normal
            if shape is custom_job_shape.WORKER_POOL:
                _drop_only_disk(result)
            return result or None
        case custom_job_shape.Many() if isinstance(value, list):
            # An empty worker pool keeps its place.
            return [{} if (normal := _normal(shape.of, item)) is None else normal for item in value] or None
        case custom_job_shape.Whole() if isinstance(value, str) and value.lstrip("-").isdecimal():
            return int(value) or None
        case custom_job_shape.Text():
            return value
        case _:
            return value or None


def _drop_only_disk(pool: Properties) -> None:
    """A machine that boots from one type of disk alone has that by default, in place of `pd-ssd`."""
    disk, spec = pool.get("diskSpec"), pool.get("machineSpec")
    if not isinstance(disk, dict) or not isinstance(spec, dict):
        return
    machine = catalog.catalog().machines.get(str(spec.get("machineType")))
    if machine is not None and machine.boot_disks == (disk.get("bootDiskType"),):
        del disk["bootDiskType"]
    if not disk:
        del pool["diskSpec"]
