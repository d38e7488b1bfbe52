"""The provider's configuration: `pulumi config set xmgen:<key> <value>`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast
from urllib.parse import urlsplit

from xmgen.errors import Problem, did_you_mean
from xmgen.provider.wire import UNKNOWN, Properties, Value

Runner = Literal["process", "container"]
ENDPOINT_VARIABLE = "XMGEN_VERTEX_ENDPOINT"
"""Stands in for the setting `vertexEndpoint`."""
RUNNERS = ("auto", "process", "container")

_PULUMIS_OWN = frozenset(
    {"version", "pluginDownloadURL", "pluginChecksums", "parameterization", "__internal", "__defaults"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """runner: where executables run. gpus: number of GPU slots; None to ask the driver.
    cpus: CPUs to hand out; None for those this process may use. keep_outputs: whether `destroy` keeps outputs.

    Of Vertex AI: credentials (a key, or the path of its file), access_token and impersonate_service_account mean what
    they mean to pulumi-gcp. vertex_endpoint: instead of the region's own. vertex_concurrency: requests at a time.
    vertex_poll_seconds: how often a job that is waited for is asked for its state.
    """

    runner: Literal["auto", "process", "container"] = "auto"
    gpus: int | None = None
    cpus: float | None = None
    keep_outputs: bool = True
    credentials: str = ""
    access_token: str = ""
    impersonate_service_account: str = ""
    vertex_endpoint: str = ""
    vertex_concurrency: int = 16
    vertex_poll_seconds: float = 15

    @property
    def cpu_slots(self) -> float:
        return self.cpus if self.cpus is not None else float(usable_cpus())


def usable_cpus() -> int:
    """The CPUs this process may use: fewer than the machine's in a container or under taskset."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _choice(value: Value) -> str:
    if value not in RUNNERS:
        raise ValueError(did_you_mean(str(value), RUNNERS))
    return str(value)


def _number(value: Value) -> float:
    number = float(cast("str", value))
    if not 0 < number < float("inf"):
        raise ValueError("a number above 0")
    return number


def _count(value: Value) -> int:
    number = int(cast("str", value))
    if number < 0:
        raise ValueError("a whole number, 0 or more")
    return number


def _flag(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise ValueError("true or false")
    return value == "true"


def _text(value: Value) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def _positive(value: Value) -> int:
    number = _count(value)
    if number == 0:
        raise ValueError("a whole number, 1 or more")
    return number


def _endpoint(value: Value) -> str:
    """Access tokens are sent there: only over TLS, or to this machine."""
    address = urlsplit(_text(value))
    if not address.hostname or address.scheme not in ("https", "http"):
        raise ValueError("an address")
    if address.scheme == "http" and address.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise ValueError("https")
    return _text(value)


_KEYS: dict[str, tuple[str, Callable[[Value], object], str]] = {
    "runner": ("runner", _choice, f"one of {', '.join(RUNNERS)}"),
    "gpus": ("gpus", _count, "a whole number, 0 or more"),
    "cpus": ("cpus", _number, "a number above 0"),
    "keepOutputs": ("keep_outputs", _flag, "true or false"),
    "credentials": ("credentials", _text, "a service account's key, or the path of its file"),
    "accessToken": ("access_token", _text, "a text"),
    "impersonateServiceAccount": ("impersonate_service_account", _text, "the address of a service account"),
    "vertexEndpoint": ("vertex_endpoint", _endpoint, "an https address (http on this machine only)"),
    "vertexConcurrency": ("vertex_concurrency", _positive, "a whole number, 1 or more"),
    "vertexPollSeconds": ("vertex_poll_seconds", _number, "a number above 0"),
}

KEYS = tuple(_KEYS)

_SECRET = ("credentials", "accessToken")


def read(values: Properties) -> tuple[Settings, dict[str, Problem]]:
    """The settings, and what is wrong by key. Values that a preview does not know yet count as left out."""
    known: dict[str, object] = {}
    problems: dict[str, Problem] = {}
    for key, value in values.items():
        if key in _PULUMIS_OWN or value is None or value == UNKNOWN:
            continue
        if key not in _KEYS:
            problems[key] = Problem(f"xmgen has no setting {key!r}", hint=did_you_mean(key, _KEYS))
            continue
        name, convert, expected = _KEYS[key]
        try:
            known[name] = convert(value)
        except (ValueError, TypeError):
            hint = did_you_mean(str(value), RUNNERS) if key == "runner" else ""
            shown = "" if key in _SECRET else f", not {value!r}"
            problems[key] = Problem(f"xmgen:{key} must be {expected}{shown}", hint=hint)
    if "vertex_endpoint" not in known and (address := os.environ.get(ENDPOINT_VARIABLE)):
        try:
            known["vertex_endpoint"] = _endpoint(address)
        except ValueError:
            problems["vertexEndpoint"] = Problem(f"{ENDPOINT_VARIABLE} must be {_KEYS['vertexEndpoint'][2]}")
    return Settings(**known), problems  # pyright: ignore[reportArgumentType] — converted above, by name
