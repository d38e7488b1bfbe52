"""`experiment.lock.json`: the experiment as it was compiled, kept beside what became of it.

One line per executable and per work unit, so that a changed trial is a changed line.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from xmgen.errors import InputError, Problem
from xmgen.experiment import VERSION, Executable, Experiment, WorkUnit

_EXPERIMENT = TypeAdapter[Experiment](Experiment)
_EXECUTABLE = TypeAdapter[Executable](Executable)
_UNIT = TypeAdapter[WorkUnit](WorkUnit)


def dumps(experiment: Experiment) -> str:
    lists = {
        "executables": [_EXECUTABLE.dump_json(each, exclude_none=True).decode() for each in experiment.executables],
        "units": [_UNIT.dump_json(each, exclude_none=True).decode() for each in experiment.units],
    }
    rest = _EXPERIMENT.dump_python(replace(experiment, executables=(), units=()), mode="json", exclude_none=True)
    lines = [
        f"  {_json(key)}: {_one_per_line(lists[key]) if key in lists else _json(value)}" for key, value in rest.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _one_per_line(items: list[str]) -> str:
    return "[\n" + ",\n".join(f"    {item}" for item in items) + "\n  ]" if items else "[]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loads(text: str, where: str) -> Experiment:
    """Raises InputError for a text that no version of xmgen, or a newer one, wrote."""
    try:
        data: Any = json.loads(text)
        version: Any = data["version"]
        if version != VERSION:
            raise InputError(
                Problem(
                    f"is version {version!r} of the lock file, this xmgen reads version {VERSION}",
                    where=where,
                    hint="compile the experiment again, or use the xmgen that wrote it",
                )
            )
        return _EXPERIMENT.validate_python(data)
    except (ValueError, KeyError, TypeError, ValidationError):
        raise InputError(
            Problem("is not a lock file that xmgen wrote", where=where, hint="compile the experiment again")
        ) from None


def read(path: Path) -> Experiment:
    return loads(path.read_text(encoding="utf-8"), str(path))
