"""`experiment.lock.json`: the experiment as it was compiled, kept beside what became of it.

One line per executable and per work unit, so that a changed trial is a changed line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from xmgen.errors import InputError, Problem
from xmgen.experiment import VERSION, Experiment

_EXPERIMENT = TypeAdapter[Experiment](Experiment)


def dumps(experiment: Experiment) -> str:
    data: dict[str, Any] = _EXPERIMENT.dump_python(experiment, mode="json", exclude_none=True)
    lines = [f"  {_compact(key)}: {_one_per_line(value)}" for key, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _one_per_line(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return _compact(value)
    items = cast(list[Any], value)
    return "[\n" + ",\n".join(f"    {_compact(item)}" for item in items) + "\n  ]"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))


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
