"""Lets the stand-ins for Pulumi's plugins ask the simulated cloud, through a socket that only this user can open.

One request and one answer, a line of JSON each, per connection.
"""

from __future__ import annotations

import contextlib
import json
import os
import socketserver
import tempfile
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import Self

from xmgen.rehearsal.cloud.cloud import Cloud
from xmgen.rehearsal.cloud.dials import LostResponse

VARIABLE = "XMGEN_REHEARSAL"
"""Environment variable with the socket's path, by which a stand-in knows its rehearsal."""


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, _Server)  # noqa: S101
        try:
            answer = server.cloud.answer(json.loads(self.rfile.readline()))
        except LostResponse:
            return
        except Exception as error:  # noqa: BLE001 — a defect of the rehearsal, which the stand-in reports
            answer = {"error": f"this is a defect of the rehearsal: {type(error).__name__}: {error}"}
            traceback.print_exc()
        # A plugin that was killed no longer listens.
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, socket: str, cloud: Cloud) -> None:
        super().__init__(socket, _Handler)
        self.cloud = cloud


_LONGEST = 100
"""Characters of a socket's path; the kernel takes a few more."""


class CloudServer:
    """Answers from `__enter__` to `__exit__`. socket: its path, which only this user can reach."""

    def __init__(self, cloud: Cloud, folder: Path) -> None:
        """folder: where nobody else can enter, and which is held by this rehearsal alone."""
        self.socket = folder / "cloud.sock"
        self._folder: Path | None = None
        if len(os.fsencode(self.socket)) > _LONGEST:
            self._folder = Path(tempfile.mkdtemp(prefix="xmgen-"))
            self.socket = self._folder / "cloud.sock"
        # That of a rehearsal that was killed.
        self.socket.unlink(missing_ok=True)
        self._server = _Server(str(self.socket), cloud)
        os.chmod(self.socket, 0o600)  # noqa: PTH101

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.socket.unlink(missing_ok=True)
        if self._folder is not None:
            self._folder.rmdir()
