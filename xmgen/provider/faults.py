"""Fault injection, for tests only: dies at a chosen point of a run.

`XMGEN_FAULT=<point>:<who>` with a point of `before_start` (the attempt is in the journal, nothing started), `running`
(a job has written its first output), `after_end` (the attempt's end is in the journal, Pulumi not told) or `submitted`
(Vertex AI has accepted a job, Pulumi not told), and who of `engine`, `provider` or `both`, is killed with SIGKILL.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Literal

Point = Literal["before_start", "running", "after_end", "submitted"]


def at(point: Point) -> None:
    wanted, _, who = os.environ.get("XMGEN_FAULT", "").partition(":")
    if wanted != point:
        return
    if who in ("engine", "both"):
        engine = os.getppid()
        os.kill(engine, signal.SIGKILL)
        # Here the engine is to be gone, not about to go.
        while os.getppid() == engine:
            time.sleep(0.001)
    if who in ("provider", "both"):
        os.kill(os.getpid(), signal.SIGKILL)
