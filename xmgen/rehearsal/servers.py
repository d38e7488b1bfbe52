"""Servers on this machine that never outlive the process that started them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path

from xmgen.errors import OperationError, Problem
from xmgen.rehearsal import keeper, remover

GRACE_SECONDS = 5.0
"""Between SIGTERM and SIGKILL."""

LOOPBACK = "127.0.0.1"
REMOVE_SECONDS = 10.0
"""How long the removal of a folder is waited for."""

LOCK = "lock"
"""The file in a folder of servers that they hold."""

_POLL_SECONDS = 0.02
_LOG_LINES = 10


class Server:
    """One running server. Its output is kept in `<folder>/<name>.log`."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process

    @classmethod
    def start(
        cls, name: str, command: Sequence[str], folder: Path, *, hold: int, environment: Mapping[str, str] | None = None
    ) -> Server:
        """Start `command` in `folder`, with a keeper that ends it when this process is gone.

        hold: an open file that stays open as long as the server or its keeper runs: a lock, see `Folder`.
        """
        log = folder / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", "-S", keeper.__file__, str(GRACE_SECONDS), *command],
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                pass_fds=[hold],
                # Ctrl-C is ours to answer: what is being cleaned up may need the server.
                start_new_session=True,
            )
        return cls(name, process, log)

    def wait_until(self, ready: Callable[[], bool], seconds: float, needs: Iterable[Server] = ()) -> None:
        """Raises OperationError when the server, or one that it needs, ends first, or when it is not ready in time."""
        deadline = time.monotonic() + seconds
        # What another one lacks is the cause, and that this one ends only follows from it.
        both = [*needs, self]
        while not ready():
            for server in both:
                if (code := server._process.poll()) is not None:
                    raise server._failed(f"{server.name} ended with exit code {code}")
            if time.monotonic() > deadline:
                raise self._failed(f"{self.name} is not ready after {seconds:.0f} s")
            time.sleep(_POLL_SECONDS)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def request_stop(self) -> None:
        """Have it stopped; `wait` waits for it."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def wait(self) -> None:
        """Until nothing of it runs any more."""
        self._process.wait()

    def _failed(self, what: str) -> OperationError:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
        return OperationError(Problem(what, where=str(self.log), hint="\n  ".join(lines)))


class FolderLock:
    """Holds a folder for one set of servers. Handed on to them, so that it is free again when all of them have ended,
    those of a killed starter included."""

    def __init__(self, folder: Path, seconds: float) -> None:
        """Raises OperationError when it is not free after so many seconds."""
        self.descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(self.descriptor)
                    raise OperationError(
                        Problem(
                            "a control plane is still running in this folder",
                            where=str(folder),
                            hint="wait for the end of the other rehearsal, or take another folder",
                        )
                    ) from None
                time.sleep(_POLL_SECONDS)

    def release(self) -> None:
        os.close(self.descriptor)


@contextlib.contextmanager
def passing_folder(servers: str) -> Generator[Path]:
    """A folder that nobody else can enter, and that is removed in the end, also when this process is killed: as soon as
    the servers in its subfolder `servers` have ended.
    """
    folder = Path(tempfile.mkdtemp(prefix="xmgen-rehearsal-"))
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-S", remover.__file__, str(folder), str(folder / servers / LOCK)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C is not for it.
        start_new_session=True,
    )
    try:
        yield folder
    finally:
        # It goes on without us when something still runs.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=REMOVE_SECONDS)


def free_port() -> int:
    """A port on the loopback interface that nobody uses now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, seconds: float) -> None:
    """Until nobody uses it. Raises OperationError when that takes longer."""
    deadline = time.monotonic() + seconds
    while True:
        with socket.socket() as probe:
            # As the server will do it: connections that only linger are no obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((LOOPBACK, port))
                return
        if time.monotonic() > deadline:
            raise OperationError(Problem("another program uses this address", where=f"{LOOPBACK}:{port}"))
        time.sleep(_POLL_SECONDS)
