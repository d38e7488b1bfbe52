"""What can be made to go wrong, or to take long, while a rehearsal runs.

The file holds a list of dials, such as

    [{"type": "gcp:container/nodePool:NodePool", "operation": "create", "fault": "503", "times": 2}]

type, name and operation: which requests are meant; all when left out. `name` is the logical name.
seconds: how long the operation takes; what it began can be seen meanwhile. times: how often the dial acts; for ever
when left out.
fault: `429`, `503` or another status: the request is refused; `half`: the operation fails half-way, and what it began
is there; `lost`: it succeeds, but the response is lost; `unsent`: the connection breaks before the request arrives.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from xmgen.rehearsal.cloud.errors import Refusal

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
            self._file.write_text(json.dumps(dials), encoding="utf-8")

    def apply(self, operation: str, type: str, urn: str) -> Course:
        """Raises Refusal, or LostResponse when the request does not arrive."""
        name = urn.rpartition("::")[2]
        seconds = 0.0
        after: Literal["", "half", "lost"] = ""
        for index, dial in enumerate(self._read()):
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

    def _read(self) -> list[dict[str, Any]]:
        return json.loads(self._file.read_text(encoding="utf-8")) if self._file.exists() else []
