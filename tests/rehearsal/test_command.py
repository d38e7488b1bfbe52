"""`xmgen rehearse` on a terminal: a table that lives while it runs, and nothing of it afterwards when it is ended."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.builders import experiment, job
from tests.rehearsal.processes import until
from tests.rehearsal.stacks import IMAGE, T4, write
from xmgen.project import Project

pytestmark = pytest.mark.rehearsal

COLUMNS = 60


def terminal() -> tuple[int, int]:
    """Ours and the program's end of one that is narrow."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    return ours, its


def read(ours: int) -> str:
    """What is shown next; empty at the end."""
    try:
        return os.read(ours, 2**16).decode(errors="replace")
    except OSError:
        # Nobody has the other end any more.
        return ""


def test_a_table_shows_what_runs_and_sigterm_ends_all_of_it(
    scratch: Project, google_sdks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XMGEN_PYTHON", sys.executable)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm")
    jobs = [job(f"--n={number}", executor=T4, executable=IMAGE.name) for number in range(2)]
    plan = write(scratch, experiment(*jobs, stack="live", executables=(IMAGE,)))
    (pool,) = plan.pools
    row = re.compile(rf"{re.escape(pool.name)} +2 +2 +0 ")
    ours, its = terminal()
    command = [Path(sys.executable).with_name("xmgen"), "rehearse", "live", "--pod-seconds", "600"]
    with subprocess.Popen(command, cwd=scratch.root, stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        shown = ""
        while not (row.search(shown) and "settle: waiting for the pods" in shown):
            more = read(ours)
            assert more, shown
            shown += more
        process.send_signal(signal.SIGTERM)
        while more := read(ours):
            shown += more
    os.close(ours)
    assert process.returncode == 130, shown
    assert "up: creating everything, in a simulated cloud" in shown
    assert "0 pods without a node" in shown
    assert "Interrupted." in shown
    assert "Traceback" not in shown
    until(tmp_path, set())
    assert list(tmp_path.iterdir()) == []
