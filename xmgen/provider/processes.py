"""Jobs that run as processes: the provider's side of the watchdog, and how a job becomes an argv and an environment."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from xmgen import shell
from xmgen.errors import OperationError, Problem
from xmgen.project import OUTPUT_VARIABLE
from xmgen.provider import watchdog
from xmgen.provider.unit import Job

_OWN_TO_PULUMI = ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_ACCESS_TOKEN")
"""Secrets of the engine's, which it hands to its plugins; no business of a trial."""

_CHUNK = 65536

_DRAIN_SECONDS = 1.0
"""How long to wait for the last output of a job that has ended, should something still hold its pipe."""


def process_argv(job: Job) -> list[str]:
    """`python` is this interpreter: the one of the environment that the project uses."""
    command = list(job.executable.command)
    if command[:1] == ["python"]:
        command[0] = sys.executable
    plain = [arg for arg in job.args if isinstance(arg, str)]
    return [*command, *plain] if len(plain) == len(job.args) else shell.command(command, job.args)


def process_environment(job: Job, output: Path, gpus: Sequence[str] | None) -> dict[str, str]:
    """The environment of a process: the provider's own, then what XManager sets, then the job's.

    gpus: ids of the job's GPUs, which may be none; None on a machine without GPU slots.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _OWN_TO_PULUMI}
    # `python` means the same in a shell command as in an argv.
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
    environment |= {"PYTHONUNBUFFERED": "1", **job.env, OUTPUT_VARIABLE: str(output)}
    if gpus is not None:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    return environment


class CannotStart(Exception):
    """The job's program cannot be started; the reason is the message."""


class Watchdog:
    """The watchdog process, started when first needed. One per provider."""

    def __init__(self) -> None:
        self._requests: socket.socket | None = None
        self._events: dict[str, asyncio.Queue[dict[str, Any]]] = {}
        self._sending = asyncio.Lock()
        self._listener: asyncio.Task[None] | None = None
        self._program: subprocess.Popen[bytes] | None = None

    async def begin(self, attempt: str, locks: Sequence[int], *, containers: bool) -> None:
        """locks: open files that it keeps until the end of the attempt. containers: whether the attempt has any."""
        await self._send({"do": "begin", "attempt": attempt, "containers": containers}, locks)

    async def spawn(
        self, job: str, *, argv: Sequence[str], cwd: Path, env: Mapping[str, str], record: Path
    ) -> asyncio.StreamReader:
        """Starts a process and returns its output. Raises CannotStart."""
        events = self._events[job] = asyncio.Queue()
        read, write = os.pipe()
        stream = asyncio.StreamReader(limit=_CHUNK)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read, "rb", buffering=0)
        )
        request = {"argv": list(argv), "cwd": str(cwd), "env": dict(env), "record": str(record)}
        try:
            await self._send({"do": "spawn", "attempt": job.partition("/")[0], "job": job, **request}, [write])
        finally:
            os.close(write)
        started = await events.get()
        if "error" in started:
            transport.close()
            raise CannotStart(started["error"])
        return stream

    async def code(self, job: str) -> int:
        """The exit code, once the process has ended and nothing of its group runs any more.

        Raises OperationError when that cannot be known because the watchdog was killed.
        """
        event = await self._events[job].get()
        if "error" in event:
            raise OperationError(Problem(event["error"]))
        return int(event["code"])

    async def stop(self, job: str) -> None:
        await self._send({"do": "stop", "attempt": job.partition("/")[0], "job": job})

    async def end(self, attempt: str) -> None:
        """Gives the locks of the attempt back."""
        ended = self._events[attempt] = asyncio.Queue()
        await self._send({"do": "end", "attempt": attempt})
        await ended.get()
        for key in [key for key in self._events if key == attempt or key.startswith(f"{attempt}/")]:
            del self._events[key]

    async def _send(self, request: dict[str, Any], files: Sequence[int] = ()) -> None:
        async with self._sending:
            if self._requests is None:
                self._requests = await self._start()
            await asyncio.to_thread(_send_frame, self._requests, json.dumps(request).encode(), list(files))

    async def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        program = [sys.executable, "-I", "-S", watchdog.__file__, str(theirs.fileno()), str(write), sys.executable]
        # A session of its own: what ends the provider, or Ctrl-C in the terminal, must not end it.
        # Not asyncio's subprocess, which kills the child when its transport is collected.
        self._program = await asyncio.to_thread(
            subprocess.Popen[bytes],
            program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), write),
            start_new_session=True,
        )
        theirs.close()
        os.close(write)
        stream = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read, "rb", buffering=0)
        )
        self._listener = asyncio.create_task(self._listen(stream))
        return ours

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            event = json.loads(line)
            self._events[event.get("job") or event["attempt"]].put_nowait(event)
        # What it ran was killed with it; the next attempt gets another one.
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        for events in self._events.values():
            events.put_nowait({"error": "the watchdog of xmgen was killed, and the processes with it"})


def _send_frame(requests: socket.socket, body: bytes, files: list[int]) -> None:
    socket.send_fds(requests, [struct.pack("!I", len(body))], files)
    requests.sendall(body)


class Process:
    """A job that runs as a process."""

    def __init__(
        self, watchdog: Watchdog, key: str, job: Job, *, root: Path, environment: Mapping[str, str], record: Path
    ) -> None:
        self._watchdog = watchdog
        self._key = key
        self._job = job
        self._root = root
        self._environment = environment
        self._record = record
        self._stream: asyncio.StreamReader | None = None
        self._code: asyncio.Task[int] | None = None

    async def start(self) -> None:
        """Raises CannotStart."""
        self._stream = await self._watchdog.spawn(
            self._key,
            argv=process_argv(self._job),
            cwd=self._root / (self._job.executable.working_directory or "."),
            env=self._environment,
            record=self._record,
        )
        self._code = asyncio.create_task(self._watchdog.code(self._key))

    async def output(self) -> AsyncIterator[bytes]:
        """What it writes, until it has ended: not until all who inherited its pipe have."""
        assert self._stream is not None and self._code is not None  # noqa: S101 — started
        while True:
            read = asyncio.ensure_future(self._stream.read(_CHUNK))
            await asyncio.wait({read, self._code}, return_when=asyncio.FIRST_COMPLETED)
            if not read.done():
                await asyncio.wait({read}, timeout=_DRAIN_SECONDS)
            if not read.done():
                read.cancel()
                return
            if not (chunk := read.result()):
                return
            yield chunk

    async def ended(self) -> int:
        assert self._code is not None  # noqa: S101 — started
        return await asyncio.shield(self._code)

    async def stop(self) -> None:
        await self._watchdog.stop(self._key)
