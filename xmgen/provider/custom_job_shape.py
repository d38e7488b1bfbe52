"""The shape of a Vertex AI CustomJob as its REST API takes it, and what is wrong with one. Pure.

https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.customJobs
The fields that the API fills in (`name`, `state`, times, `error`) are no input and therefore unknown here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from xmgen import catalog
from xmgen.errors import Problem, did_you_mean
from xmgen.provider.wire import UNKNOWN, Properties, Value


@dataclass(frozen=True, slots=True)
class Text:
    """A string. pattern: what it must match as a whole. says: how a problem names that."""

    pattern: str = ""
    says: str = ""


@dataclass(frozen=True, slots=True)
class Whole:
    """An integer of 32 or 64 bits; JSON may have the latter as a text."""

    bits: int = 32


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of an enum's names. The one for "not specified" is left out: it says nothing."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One of the names that the catalog has from the API's enum. It is read when there is one to look up."""


@dataclass(frozen=True, slots=True)
class Many:
    of: Shape


@dataclass(frozen=True, slots=True)
class Labels:
    """A map of texts."""


@dataclass(frozen=True, slots=True)
class Message:
    fields: Mapping[str, Shape] = field(default_factory=dict[str, "Shape"])


Shape = Text | Whole | Flag | Choice | Accelerator | Many | Labels | Message

_TEXTS = Many(Text())
_DURATION = Text(r"\d+(\.\d{1,9})?s", "seconds with an `s`, such as '3600s'")
_GCS = Text(r"gs://.+", "a path of Cloud Storage, gs://bucket/folder")
_ENV = Many(Message({"name": Text(r"[A-Za-z_][A-Za-z0-9_]*", "a C identifier"), "value": Text()}))

_RESERVATION = Message(
    {
        "reservationAffinityType": Choice(("NO_RESERVATION", "ANY_RESERVATION", "SPECIFIC_RESERVATION")),
        "key": Text(),
        "values": _TEXTS,
    }
)

_MACHINE = Message(
    {
        "machineType": Text(),
        "acceleratorType": Accelerator(),
        "acceleratorCount": Whole(),
        "gpuPartitionSize": Text(),
        "tpuTopology": Text(r"\d+(x\d+){1,2}", "a topology, such as 2x4"),
        "reservationAffinity": _RESERVATION,
    }
)

WORKER_POOL = Message(
    {
        "containerSpec": Message({"imageUri": Text(), "command": _TEXTS, "args": _TEXTS, "env": _ENV}),
        "pythonPackageSpec": Message(
            {"executorImageUri": Text(), "packageUris": _TEXTS, "pythonModule": Text(), "args": _TEXTS, "env": _ENV}
        ),
        "machineSpec": _MACHINE,
        "replicaCount": Whole(64),
        "nfsMounts": Many(Message({"server": Text(), "path": Text(), "mountPoint": Text()})),
        "lustreMounts": Many(
            Message({"instanceIp": Text(), "volumeHandle": Text(), "filesystem": Text(), "mountPoint": Text()})
        ),
        "diskSpec": Message(
            {
                "bootDiskType": Text(
                    "pd-ssd|pd-standard|hyperdisk-balanced", "one of pd-ssd, pd-standard, hyperdisk-balanced"
                ),
                "bootDiskSizeGb": Whole(),
            }
        ),
    }
)

_JOB_SPEC = Message(
    {
        "persistentResourceId": Text(),
        "workerPoolSpecs": Many(WORKER_POOL),
        "scheduling": Message(
            {
                "timeout": _DURATION,
                "restartJobOnWorkerRestart": Flag(),
                "strategy": Choice(("ON_DEMAND", "LOW_COST", "STANDARD", "SPOT", "FLEX_START")),
                "disableRetries": Flag(),
                "maxWaitDuration": _DURATION,
            }
        ),
        "serviceAccount": Text(r"[^@\s]+@[^@\s]+", "the address of a service account"),
        "network": Text(r"projects/\d+/global/networks/[^/]+", "projects/<project number>/global/networks/<network>"),
        "reservedIpRanges": _TEXTS,
        "pscInterfaceConfig": Message(
            {
                "networkAttachment": Text(),
                "dnsPeeringConfigs": Many(
                    Message({"domain": Text(), "targetProject": Text(), "targetNetwork": Text()})
                ),
            }
        ),
        "baseOutputDirectory": Message({"outputUriPrefix": _GCS}),
        "protectedArtifactLocationId": Text(),
        "tensorboard": Text(
            r"projects/[^/]+/locations/[^/]+/tensorboards/[^/]+",
            "projects/<project>/locations/<region>/tensorboards/<id>",
        ),
        "enableWebAccess": Flag(),
        "enableDashboardAccess": Flag(),
        "experiment": Text(),
        "experimentRun": Text(),
        "models": _TEXTS,
    }
)

CUSTOM_JOB = Message(
    {
        "displayName": Text(r"(?s).{1,128}", "1 to 128 characters"),
        "jobSpec": _JOB_SPEC,
        "labels": Labels(),
        "encryptionSpec": Message({"kmsKeyName": Text()}),
    }
)

_LABEL_KEY = re.compile(r"[\w-]{1,63}")
_LABEL_VALUE = re.compile(r"[\w-]{0,63}")


def malformed(body: Properties) -> dict[str, Problem]:
    """What is not of the shape of a CustomJob, by property path. What a preview does not know yet fits everywhere."""
    problems: dict[str, Problem] = {}
    _message(CUSTOM_JOB, body, "", problems)
    return problems


def _check(shape: Shape, value: Value, path: str, problems: dict[str, Problem]) -> None:
    if value is None or value == UNKNOWN:
        return
    expected = _mismatch(shape, value)
    if expected:
        problems[path] = Problem(f"must be {expected[0]}, not {value!r}", hint=expected[1])
        return
    match shape:
        case Message():
            _message(shape, value, path, problems)
        case Many() if isinstance(value, list):
            for index, item in enumerate(value):
                _check(shape.of, item, f"{path}[{index}]", problems)
        case Labels():
            _labels(value, path, problems)
        case _:
            pass


def _mismatch(shape: Shape, value: Value) -> tuple[str, str] | None:
    """What the value ought to be, and a hint; None when it is."""
    wrong: str | None = None
    hint = ""
    match shape:
        case Text():
            if not isinstance(value, str):
                wrong = "a text"
            # A part of the text that is not known yet may be what is missing.
            elif UNKNOWN not in value and shape.pattern and not re.fullmatch(shape.pattern, value):
                wrong = shape.says
        case Whole():
            if isinstance(value, bool) or not isinstance(value, int | str) or not re.fullmatch(r"-?\d+", str(value)):
                wrong = "a whole number"
            elif not -(2 ** (shape.bits - 1)) <= int(value) < 2 ** (shape.bits - 1):
                wrong = f"a whole number of {shape.bits} bits"
        case Flag():
            wrong = None if isinstance(value, bool) else "true or false"
        case Choice() | Accelerator():
            names = shape.names if isinstance(shape, Choice) else catalog.catalog().vertex.accelerator_types
            if value not in names:
                wrong, hint = "one of the names that the API knows", did_you_mean(str(value), names)
        case Many():
            wrong = None if isinstance(value, list) else "a list"
        case Labels() | Message():
            wrong = None if isinstance(value, dict) else "a mapping"
    return (wrong, hint) if wrong else None


def _message(shape: Message, value: Value, path: str, problems: dict[str, Problem]) -> None:
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        below = f"{path}.{key}" if path else key
        if key in shape.fields:
            _check(shape.fields[key], item, below, problems)
        else:
            problems[below] = Problem(f"unknown field {key!r}", hint=did_you_mean(key, shape.fields))


def _labels(value: Value, path: str, problems: dict[str, Problem]) -> None:
    if not isinstance(value, dict):
        return
    if len(value) > 63:
        problems[path] = Problem(f"{len(value)} labels are too many", hint="at most 63; xmgen adds one of its own")
    for key, text in value.items():
        below = f"{path}.{key}"
        if not isinstance(text, str):
            problems[below] = Problem(f"must be a text, not {text!r}")
        elif not _LABEL_KEY.fullmatch(key) or key != key.lower() or not key[0].isalpha():
            problems[below] = Problem(
                f"{key!r} is no name of a label", hint="a lower-case letter, then lower-case letters, digits, `-`, `_`"
            )
        elif UNKNOWN not in text and (not _LABEL_VALUE.fullmatch(text) or text != text.lower()):
            problems[below] = Problem(
                f"{text!r} is no value of a label", hint="at most 63 lower-case letters, digits, `-` and `_`"
            )
