"""`metrics.json`: what a trial says about itself, read into the outputs of its Run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from xmgen.provider.wire import SIGNATURE, UNKNOWN, Properties, Value

FILE = "metrics.json"

_LARGEST = 1 << 20
"""Bytes. Pulumi keeps outputs in its state, which is no place for more."""


def collect(folders: Sequence[Path]) -> tuple[Properties, list[str]]:
    """The metrics of a unit's jobs, merged in order, and what is wrong with the files that cannot be used."""
    merged: Properties = {}
    problems: list[str] = []
    for folder in folders:
        file = folder / FILE
        try:
            merged |= _read(file)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{folder.name}/{FILE} is left out: {error}")
    return merged, problems


def _read(file: Path) -> Properties:
    if file.stat().st_size > _LARGEST:
        raise ValueError(f"larger than {_LARGEST >> 20} MiB")
    content: Value = json.loads(file.read_bytes(), parse_constant=_not_json)
    if not isinstance(content, dict):
        raise ValueError("not an object")  # noqa: TRY004 — a fault of the file's content, like the others
    _check(content)
    return content


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _check(value: Value) -> None:
    """Raises ValueError for what Pulumi's state cannot hold."""
    if isinstance(value, dict):
        if SIGNATURE in value:
            raise ValueError(f"the key {SIGNATURE} has a meaning of its own to Pulumi")
        for key, item in value.items():
            _check(key)
            _check(item)
    elif isinstance(value, list):
        for item in value:
            _check(item)
    elif isinstance(value, str):
        if value == UNKNOWN:
            raise ValueError(f"the text {UNKNOWN} has a meaning of its own to Pulumi")
        # Lone surrogates are JSON, but no text that could be stored.
        value.encode()
    elif isinstance(value, int | float) and not math.isfinite(float(value)):
        raise ValueError("a number is too large")
