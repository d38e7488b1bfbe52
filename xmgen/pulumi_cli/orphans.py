"""The plugins of an engine that was killed: they outlive it, and what they had begun they go on with.

Pulumi's own plugins look every five minutes whether their engine is still there (`rpcutil.Healthcheck` of Pulumi's SDK
for Go). Until then a creation that was under way may still come true, behind the back of the next engine.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from xmgen.errors import OperationError, Problem
from xmgen.pulumi_cli.processes import runs

_PLUGIN = re.compile(r"pulumi-(resource|language)-|xmgen\.(provider|rehearsal\.standin)")
"""In the command line of every plugin: Pulumi's, ours, and a rehearsal's."""

_ENGINE = re.compile(r"(?:^|[\s\0])127\.0\.0\.1:(\d+)(?=[\s\0]|$)")
"""Where its engine listens: every plugin is started with it."""

GRACE_SECONDS = 3.0
"""For a plugin that notices by itself that its engine is gone, and tidies up: ours do."""

KILL_SECONDS = 5.0

ARRIVAL_SECONDS = 3.0
"""How long what a plugin asked for may be on its way, when the plugin or its connection is gone, before it is seen."""


def end(project: Path) -> int:
    """End the plugins in this project whose engine is gone. Returns their number, when none of them runs any more.

    Raises OperationError when one of them cannot be ended.
    """
    found = _orphans(project)
    left = _wait(found, GRACE_SECONDS)
    for pid in left:
        # None that is in the midst of something asks for more time than that: it must not go on.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    if stubborn := _wait(left, KILL_SECONDS):
        numbers = ", ".join(map(str, stubborn))
        raise OperationError(
            Problem(
                f"plugins of an operation that was killed still run, and go on creating: process {numbers}",
                hint="end them, then run the command again",
            )
        )
    return len(found)


def let_arrive() -> None:
    """Returns when whatever was sent before that has arrived, so that a look finds it."""
    time.sleep(ARRIVAL_SECONDS)


def _orphans(project: Path) -> list[int]:
    return [
        pid
        for pid, command in _commands()
        if pid != os.getpid()
        and _PLUGIN.search(command)
        and (engine := _ENGINE.search(command))
        and _within(pid, project)
        and not _listens(int(engine[1]))
    ]


def _commands() -> Iterator[tuple[int, str]]:
    """The processes of this user, with their command lines."""
    proc = Path("/proc/self")
    if not proc.exists():
        # Not Linux.
        listed = subprocess.run(["ps", "-xo", "pid=,command="], capture_output=True, text=True, check=False)  # noqa: S607
        for line in listed.stdout.splitlines():
            pid, _, command = line.strip().partition(" ")
            yield int(pid), command
        return
    for process in proc.parent.glob("[0-9]*"):
        # One that has just ended is none; those of others are none of ours.
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.getuid():
                yield int(process.name), (process / "cmdline").read_bytes().decode(errors="replace")


def _within(pid: int, project: Path) -> bool:
    """Whether it was started for this project; where that cannot be seen, a plugin without an engine is enough."""
    if not Path("/proc/self").exists():
        return True
    try:
        folder = Path(os.readlink(f"/proc/{pid}/cwd"))  # noqa: PTH115 (a folder that is gone is a name all the same)
    except OSError:
        return False
    return folder.is_relative_to(project.resolve())


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait(pids: list[int], seconds: float) -> list[int]:
    """Those that still run after so many seconds."""
    deadline = time.monotonic() + seconds
    while left := [pid for pid in pids if runs(pid)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(0.05)
    return left
