"""What can be made to go wrong, or to take long, while a rehearsal runs.

The file holds a list of dials, such as

    [{"type": "gcp:container/nodePool:NodePool", "operation": "create", "fault": "503", "times": 2}]

type, name and operation: which requests are meant; all when left out. `name` is the logical name.
seconds: how long the operation takes. times: how often the dial acts; for ever when left out.
fault: `429`, `503` or another status: the request is refused; `half`: the operation fails half-way, and what it began
is there; `lost`: it succeeds, but the response is lost.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from xmgen.rehearsal.cloud.errors import Refusal

_MESSAGES = {
    429: "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute'",
    503: "The service is currently unavailable",
}


class LostResponse(Exception):
    """The operation has been carried out, and nobody is told."""


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

    def apply(self, operation: str, type: str, urn: str) -> Literal["", "half", "lost"]:
        """Wait and refuse as the dials say. Returns what is to happen after the operation.

        Raises Refusal.
        """
        name = urn.rpartition("::")[2]
        after: Literal["", "half", "lost"] = ""
        for index, dial in enumerate(self._read()):
            about = {"operation": operation, "type": type, "name": name}
            if operation in ("ping", "check") or any(dial.get(key, value) != value for key, value in about.items()):
                continue
            with self._lock:
                if self._acted[index] >= dial.get("times", float("inf")):
                    continue
                self._acted[index] += 1
            time.sleep(dial.get("seconds", 0))
            match dial.get("fault"):
                case None:
                    pass
                case "half" | "lost" as fault:
                    after = after or fault
                case status:
                    code = int(status)
                    raise Refusal(code, _MESSAGES.get(code, "refused by a dial of the rehearsal"))
        return after

    def _read(self) -> list[dict[str, Any]]:
        return json.loads(self._file.read_text(encoding="utf-8")) if self._file.exists() else []
