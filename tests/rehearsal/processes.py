"""The processes that have to do with a folder."""

from __future__ import annotations

import time
from pathlib import Path

SECONDS = 120.0
"""How long anything here may take on a busy machine."""


def running(folder: Path) -> dict[int, str]:
    """Processes that have to do with a folder: they are in it, or its name is in their arguments or environment."""
    found: dict[int, str] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            texts = (process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes()
            here = str((process / "cwd").readlink()).startswith(str(folder))
            name = (process / "comm").read_text().strip()
        except OSError:
            continue
        if texts.strip(b"\0") and (here or str(folder).encode() in texts):
            found[int(process.name)] = name
    return found


def until(folder: Path, wanted: set[str]) -> None:
    """All of these run; with none wanted, nothing runs any more."""
    deadline = time.monotonic() + SECONDS
    while not (wanted <= set(running(folder).values()) if wanted else not running(folder)):
        assert time.monotonic() < deadline, running(folder)
        time.sleep(0.1)
