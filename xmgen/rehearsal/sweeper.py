"""Ends what the engine of a rehearsal started, when the rehearsal is over, however that went.

    python -I -S sweeper.py VARIABLE=VALUE

A program of its own, started by path: the standard library only. Once it has said that it is watching it waits for
SIGTERM, which its keeper sends when the rehearsal is gone. Then it ends every process that has this variable: the
engine, and plugins that would outlive it for minutes. Elsewhere than on Linux it cannot see them, and they end by
themselves.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

GRACE_SECONDS = 2.0
"""Between SIGTERM and SIGKILL. The keeper of this program waits for five."""


def main(variable: str) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    print("watching", flush=True)
    signal.sigwait({signal.SIGTERM})
    deadline = time.monotonic() + GRACE_SECONDS
    asked: set[int] = set()
    while pids := having(variable):
        late = time.monotonic() > deadline
        # Once: the engine would take a second signal for the order to drop what it is doing.
        for pid in pids if late else pids - asked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        asked |= pids
        time.sleep(0.1)
    return 0


def having(variable: str) -> set[int]:
    """The processes that have a variable in their environment."""
    found: set[int] = set()
    for process in Path("/proc").glob("[0-9]*"):
        # It may have ended; those of others are none of ours.
        with contextlib.suppress(OSError):
            if variable.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.add(int(process.name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
