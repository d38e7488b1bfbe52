"""Runs one server and ends it when the process that asked for it is gone, however that went.

    python -I -S keeper.py SECONDS COMMAND...

A program of its own, started by path: the standard library only. Its standard input is a pipe whose other end the
starter holds, and nobody else; when that closes, the server gets SIGTERM and, SECONDS later, SIGKILL. On Linux the
server ends with its keeper, too. Exit code: the server's; 128 + n for signal n, as in a shell.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from typing import Any

PR_SET_PDEATHSIG = 1


def main(seconds: float, command: list[str]) -> int:
    prctl: Any = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def die_with_keeper() -> None:
        if prctl is not None:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    try:
        # Open files are handed on: the starter's lock among them. There is one thread still, so that a function may
        # run between fork and exec; and it is the thread whose end the kernel watches.
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, close_fds=False, preexec_fn=die_with_keeper)  # noqa: S603
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    threading.Thread(target=end_after_starter, args=(server, seconds), daemon=True).start()
    code = server.wait()
    return 128 - code if code < 0 else code


def end_after_starter(server: subprocess.Popen[bytes], seconds: float) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.terminate()
        server.wait(seconds)
    server.kill()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
