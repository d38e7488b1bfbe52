"""Owns every process that a provider starts, and ends all of them when the provider is gone.

A program of its own, started by path with `python -I -S`: the standard library only, one thread. The provider holds
the other ends of two channels: a socket for requests (frames of JSON, with open files attached) and a pipe for events
(lines of JSON). When the socket closes, for whatever reason, everything that still runs is stopped.

Requests: `begin` an attempt (the attached files hold its locks until it is over), `spawn` a job of it, `stop` a job,
`end` the attempt.
Events: `{"job": …, "pid": …}`, then `{"job": …, "code": …}`; `{"job": …, "error": …}` for a job that cannot be started;
`{"attempt": …}` when its locks are given back. A job is named `<attempt>/<number>/`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GRACE_SECONDS = 3.0
"""Between SIGTERM and SIGKILL."""

KILL_SECONDS = 2.0
"""How long what is killed may take to be gone, and what begins another program to show whose it is."""

LAST_BREATH_SECONDS = 0.3
"""How long what is about to end by itself may take after the provider is gone: its success is then not repeated."""

MARK = "XMGEN_JOB"
"""Environment variable by which processes of a job are found that left its process group."""

_MAX_FILES = 64
_PR_SET_PDEATHSIG = 1


class Child:
    def __init__(self, job: str, process: subprocess.Popen[bytes], record: Path) -> None:
        self.job = job
        self.process = process
        self.record = record
        self.kill_at: float | None = None

    def stop(self) -> None:
        if self.kill_at is None:
            self.kill_at = time.monotonic() + GRACE_SECONDS
            signal_group(self.process.pid, signal.SIGTERM)

    def reap(self) -> int | None:
        """The exit code, once it has ended and nothing of its group is left; 128 + n for signal n, as in a shell."""
        code = self.process.poll()
        if code is None:
            if self.kill_at is not None and time.monotonic() >= self.kill_at:
                kill_job(self.job, self.process.pid)
            return None
        kill_job(self.job, self.process.pid)
        code = 128 - code if code < 0 else code
        if self.kill_at is None:
            # Its own end, not our doing: recorded before anybody is told, so that no kill can lose it.
            write_record(self.record, code)
        return code


def write_record(record: Path, code: int) -> None:
    temporary = record.with_suffix(".exit-new")
    with contextlib.suppress(FileNotFoundError), temporary.open("w", encoding="ascii") as file:
        file.write(str(code))
        file.flush()
        os.fsync(file.fileno())
        temporary.replace(record)


def signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill_job(job: str, group: int | None = None) -> None:
    """Kills what belongs to the job: its process group, and what bears its mark.

    It looks until there is nothing more to be found: what is killed may have started something else meanwhile.
    """
    if group is not None:
        signal_group(group, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while True:
        pids, all_known = marked(job)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if (all_known and not pids) or time.monotonic() >= deadline:
            return
        time.sleep(0.001)


def marked(prefix: str) -> tuple[list[int], bool]:
    """The processes whose mark begins so: a job's, or `<attempt>/` for all; and whether those are all there are.

    None where there is no /proc.
    """
    wanted = f"{MARK}={prefix}".encode()
    pids: list[int] = []
    all_known = True
    for entry in Path("/proc").glob("[0-9]*"):
        # Processes end while we look, and those of other users cannot be read.
        with contextlib.suppress(OSError):
            environment = (entry / "environ").read_bytes()
            if any(variable.startswith(wanted) for variable in environment.split(b"\0")):
                pids.append(int(entry.name))
            elif not environment and _is_starting(entry):
                all_known = False
    return pids, all_known


def _is_starting(entry: Path) -> bool:
    """Whether a process without environment is in the middle of `exec`: it has a program, but no arguments yet either.

    Threads of the kernel, and what has ended, have no program.
    """
    return bool((entry / "exe").readlink()) and not (entry / "cmdline").read_bytes()


class Watchdog:
    def __init__(self, requests: socket.socket, events: int, python: str) -> None:
        self._requests = requests
        self._events = events
        self._python = python
        self._children: dict[str, Child] = {}
        self._locks: dict[str, list[int]] = {}
        self._containers: set[str] = set()
        self._prctl = _prctl()

    def run(self) -> None:
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_READ, "requests")
            selector.register(wake_read, selectors.EVENT_READ, "wake")
            while True:
                for key, _ in selector.select(self._patience()):
                    if key.data == "wake":
                        with contextlib.suppress(BlockingIOError):
                            os.read(wake_read, 4096)
                    elif not self._serve():
                        self._abandoned()
                        return
                self._reap()

    def _patience(self) -> float | None:
        """Seconds until a stopped child is to be killed; None when there is nothing to do before something happens."""
        deadlines = [child.kill_at for child in self._children.values() if child.kill_at is not None]
        return max(0.05, min(deadlines) - time.monotonic()) if deadlines else None

    def _serve(self) -> bool:
        """Handles one request; False when the provider is gone."""
        try:
            head, files, _, _ = socket.recv_fds(self._requests, 4, _MAX_FILES)
            if len(head) < 4:
                return False
            (length,) = struct.unpack("!I", head)
            body = bytearray()
            while len(body) < length:
                part = self._requests.recv(length - len(body))
                if not part:
                    return False
                body += part
        except ConnectionError:
            return False
        self._handle(json.loads(body), files)
        return True

    def _handle(self, request: dict[str, Any], files: list[int]) -> None:
        attempt: str = request["attempt"]
        match request["do"]:
            case "begin":
                self._locks[attempt] = files
                if request["containers"]:
                    self._containers.add(attempt)
            case "spawn":
                self._spawn(request, files[0])
            case "stop":
                if child := self._children.get(request["job"]):
                    child.stop()
            case "end":
                self._containers.discard(attempt)
                for lock in self._locks.pop(attempt, []):
                    os.close(lock)
                self._tell({"attempt": attempt})
            case unknown:
                raise ValueError(f"unknown request {unknown!r}")

    def _spawn(self, request: dict[str, Any], output: int) -> None:
        job: str = request["job"]
        try:
            process = subprocess.Popen(  # noqa: S603 — running the user's program is the purpose
                request["argv"],
                cwd=request["cwd"],
                env={**request["env"], MARK: job},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                # Safe here: this program has one thread.
                preexec_fn=self._die_with_parent,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._tell({"job": job, "error": str(error)})
        else:
            self._children[job] = Child(job, process, Path(request["record"]))
            self._tell({"job": job, "pid": process.pid})
        finally:
            os.close(output)

    def _die_with_parent(self) -> None:
        if self._prctl is not None:
            self._prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def _reap(self) -> None:
        for job, child in list(self._children.items()):
            code = child.reap()
            if code is not None:
                del self._children[job]
                self._tell({"job": job, "code": code})

    def _tell(self, event: dict[str, Any]) -> None:
        # The provider may be gone; that is found out at the other channel.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._events, json.dumps(event).encode() + b"\n")

    def _abandoned(self) -> None:
        """The provider is gone: nothing may keep running unseen. Locks are held until this program ends."""
        remove = [self._python, "-P", "-m", "xmgen.provider.containers"]
        removing = [
            subprocess.Popen([*remove, attempt], stdin=subprocess.DEVNULL)  # noqa: S603
            for attempt in self._containers
        ]
        breath = time.monotonic() + LAST_BREATH_SECONDS
        while self._children:
            if time.monotonic() >= breath:
                for child in self._children.values():
                    child.stop()
            self._reap()
            time.sleep(0.02)
        for process in removing:
            process.wait()


def _prctl() -> Any:
    """Linux's prctl; None elsewhere."""
    if not sys.platform.startswith("linux"):
        return None
    return ctypes.CDLL(None).prctl


def _nothing(number: int, frame: object) -> None:
    pass


def main() -> None:
    requests, events, python = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    # Handlers that do nothing, instead of SIG_IGN: that one would be inherited by the jobs, which must be stoppable.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, _nothing)
    Watchdog(socket.socket(fileno=requests), events, python).run()


if __name__ == "__main__":
    main()
