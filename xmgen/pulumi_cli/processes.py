"""Processes of this machine, by their numbers."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def runs(pid: int) -> bool:
    """Whether there is such a process and it has not ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # One that has ended and that nobody has asked about yet still has its number.
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True


def is_pulumi(pid: int) -> bool:
    """Whether the process runs and is Pulumi: the number of a dead one may have been given to another program."""
    if not runs(pid):
        return False
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() == "pulumi"
    except OSError:
        # Not Linux: it runs, and that is all we can know.
        return not Path("/proc/self").exists()
