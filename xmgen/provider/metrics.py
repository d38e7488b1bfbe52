"""`metrics.json`: what a trial says about itself, read into the outputs of its Run."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from xmgen.provider.wire import Properties, Value
from xmgen.pulumi_values import SIGNATURE, UNKNOWNS

FILE = "metrics.json"

_LARGEST = 1 << 20
"""Bytes. Pulumi keeps outputs in its state, which is no place for more."""

_DEEPEST = 32
"""Levels. Pulumi's Python SDK follows them by recursion and fails with the whole program."""


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
    content: Value = json.loads(_content(file), parse_constant=_not_json)
    if not isinstance(content, dict):
        raise ValueError("not an object")  # noqa: TRY004 — a fault of the file's content, like the others
    _check(content)
    return content


def _content(file: Path) -> bytes:
    """What a job left under that name may be anything: a pipe, or a link to a device that has no end."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError("not a file")
    with os.fdopen(descriptor, "rb") as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"larger than {_LARGEST >> 20} MiB")
    return content


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _check(value: Value, depth: int = 0) -> None:
    """Raises ValueError for what Pulumi's state, or a program, cannot hold."""
    if depth > _DEEPEST:
        raise ValueError(f"nested more than {_DEEPEST} levels deep")
    if isinstance(value, dict):
        if SIGNATURE in value:
            raise ValueError(f"the key {SIGNATURE} has a meaning of its own to Pulumi")
        for key, item in value.items():
            _check(key)
            _check(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth + 1)
    elif isinstance(value, str):
        if value in UNKNOWNS:
            raise ValueError(f"the text {value} has a meaning of its own to Pulumi")
        # Lone surrogates are JSON, but no text that could be stored.
        value.encode()
    elif isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
        raise ValueError("a number is too large")
