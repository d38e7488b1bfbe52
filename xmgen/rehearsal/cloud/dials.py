"""What can be made to go wrong, or to take long, while a rehearsal runs.

The file holds a list of dials, such as

    [{"type": "gcp:container/nodePool:NodePool", "operation": "create", "fault": "503", "times": 2}]

type, name and operation: which requests are meant; all when left out. `name` is the logical name.
seconds: how long the operation takes; what it began can be seen meanwhile. times: how often the dial acts; for ever
when left out.
fault: `429`, `503` or another status of Google's: the request is refused; `half`: the operation fails half-way, and
what it began is there; `lost`: it succeeds, but the response is lost; `unsent`: the connection breaks before the
request arrives.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from xmgen.errors import InputError, Problem, did_you_mean
from xmgen.rehearsal.cloud.errors import REASONS, Refusal
from xmgen.urns import Urn

_MESSAGES = {
    429: "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute'",
    503: "The service is currently unavailable",
}


class LostResponse(Exception):
    """Nobody is told what has become of the operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What an operation that is carried out is to meet. seconds: how long it takes."""

    seconds: float = 0
    fault: Literal["", "half", "lost"] = ""


class Dials:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._acted: Counter[int] = Counter()
        self._lock = threading.Lock()

    def set(self, *dials: dict[str, Any]) -> None:
        """Replace all dials."""
        with self._lock:
            self._acted.clear()
            # Whole at any time: requests read it without the lock.
            new = self._file.with_suffix(".new")
            new.write_text(json.dumps(dials), encoding="utf-8")
            new.replace(self._file)

    def apply(self, operation: str, type: str, urn: str) -> Course:
        """Raises Refusal, or LostResponse when the request does not arrive."""
        name = Urn(urn).name
        seconds = 0.0
        after: Literal["", "half", "lost"] = ""
        for index, dial in enumerate(self.read()):
            about = {"operation": operation, "type": type, "name": name}
            if operation in ("ping", "check") or any(dial.get(key, value) != value for key, value in about.items()):
                continue
            with self._lock:
                if self._acted[index] >= dial.get("times", float("inf")):
                    continue
                self._acted[index] += 1
            seconds += dial.get("seconds", 0)
            match dial.get("fault"):
                case None:
                    pass
                case "unsent":
                    raise LostResponse
                case "half" | "lost" as fault:
                    after = after or fault
                case status:
                    time.sleep(seconds)
                    code = int(status)
                    raise Refusal(code, _MESSAGES.get(code, "refused by a dial of the rehearsal"))
        return Course(seconds=seconds, fault=after)

    def read(self) -> list[dict[str, Any]]:
        """Raises InputError with everything that is wrong in the file, which somebody may have written just now."""
        if not self._file.exists():
            return []
        try:
            content: object = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(Problem(f"cannot be read: {error}", where=str(self._file))) from None
        if not isinstance(content, list):
            hint = 'a list of dials, such as [{"operation": "create", "fault": "503", "times": 2}]'
            raise InputError(Problem("does not say what goes wrong", where=str(self._file), hint=hint))
        dials = cast(list[object], content)
        where = [f"{self._file}, dial {number}" for number in range(1, len(dials) + 1)]
        if problems := [
            problem for each, place in zip(dials, where, strict=True) for problem in _problems(each, place)
        ]:
            raise InputError(*problems)
        return cast(list[dict[str, Any]], dials)


def _problems(dial: object, where: str) -> list[Problem]:
    if not isinstance(dial, dict):
        return [Problem("is no object", where=where, hint='such as {"fault": "503"}')]
    given = cast(dict[str, object], dial)
    problems: list[Problem] = []
    for key, value in given.items():
        if key not in _RIGHT:
            problems.append(Problem(f"unknown key {key!r}", where=where, hint=did_you_mean(key, _RIGHT)))
        elif not _RIGHT[key][0](value):
            problems.append(Problem(f"{key} is {_RIGHT[key][1]}, not {json.dumps(value)}", where=where))
    return problems


def _number(value: object, least: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value < 10**6


_OPERATIONS = ("create", "read", "update", "delete")
_FAULTS = (*map(str, REASONS), "half", "lost", "unsent")
_RIGHT: dict[str, tuple[Callable[[object], bool], str]] = {
    "type": (lambda value: isinstance(value, str), "the type of a resource, as Pulumi calls it"),
    "name": (lambda value: isinstance(value, str), "the logical name of a resource"),
    "operation": (lambda value: value in _OPERATIONS, f"one of {', '.join(_OPERATIONS)}"),
    "seconds": (lambda value: _number(value, 0), "a number of seconds"),
    "times": (lambda value: isinstance(value, int) and _number(value, 1), "a number, from 1"),
    "fault": (lambda value: value in _FAULTS, f"one of {', '.join(_FAULTS)}"),
}
