"""The kubelet of all simulated nodes, as far as clients meet it: `kubectl logs` works through the API server.

A pod prints what its annotation says. Only the API server gets an answer, which it proves by its certificate.
"""

from __future__ import annotations

import contextlib
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import parse_qs, unquote, urlsplit

from xmgen.rehearsal.api import Api
from xmgen.rehearsal.credentials import Credentials
from xmgen.rehearsal.servers import LOOPBACK
from xmgen.rehearsal.stages import LOG

NOTHING_TOLD = "simulated by a rehearsal: the container does not run"

REQUEST_SECONDS = 30.0
LOOK_SECONDS = 0.1


class Kubelet:
    """Listens from the beginning; answers, as a context manager, from begin to end."""

    def __init__(self, credentials: Credentials) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(credentials.authority))
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(credentials.server_certificate, credentials.server_key)
        self._server = _Server((LOOPBACK, 0), _Handler)
        # The handshake is for the connection's own thread.
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self, api: Api) -> None:
        """api: by which it looks at pods."""
        self._server.api = api
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    api: Api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who breaks off, or has no certificate, learns it from the connection."""


class _Handler(BaseHTTPRequestHandler):
    timeout = REQUEST_SECONDS

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        match [unquote(part) for part in address.path.split("/")]:
            case ["", "containerLogs", namespace, pod, container]:
                self._logs(namespace, pod, container, parse_qs(address.query))
            case _:
                self._answer(HTTPStatus.NOT_FOUND, "a simulated node has logs, and nothing else\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""

    def _logs(self, namespace: str, pod: str, container: str, query: dict[str, list[str]]) -> None:
        answer = cast(_Server, self.server).api.request("GET", f"/api/v1/namespaces/{namespace}/pods/{pod}")
        if not answer.ok:
            self._answer(HTTPStatus.NOT_FOUND, f'pod "{pod}" does not exist')
            return
        statuses: list[dict[str, Any]] = answer.body["status"].get("containerStatuses") or []
        if container not in {status["name"] for status in statuses}:
            text = f'container "{container}" in pod "{pod}" is waiting to start: ContainerCreating'
            self._answer(HTTPStatus.BAD_REQUEST, text)
            return
        asked = {key: values[0] for key, values in query.items()}
        if asked.get("follow") != "true":
            lines = _lines(answer.body, asked)
            self._answer(HTTPStatus.OK, "".join(lines[_first(lines, asked) :]))
            return
        # Its end is that of the connection.
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self._follow(namespace, pod, asked)

    def _follow(self, namespace: str, pod: str, asked: dict[str, str]) -> None:
        """Until the pod has ended, whatever it is told to print in the meantime."""
        sent: int | None = None
        with contextlib.suppress(OSError):
            while True:
                answer = cast(_Server, self.server).api.request("GET", f"/api/v1/namespaces/{namespace}/pods/{pod}")
                lines = _lines(answer.body, asked) if answer.ok else []
                self.wfile.write("".join(lines[_first(lines, asked) if sent is None else sent :]).encode())
                sent = len(lines)
                if not answer.ok or answer.body["status"].get("phase") != "Running":
                    return
                time.sleep(LOOK_SECONDS)

    def _answer(self, status: HTTPStatus, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _lines(pod: dict[str, Any], asked: dict[str, str]) -> list[str]:
    """What a pod has printed, as far as it is asked for. All of it came when the pod started, a nanosecond apart."""
    annotations: dict[str, str] = pod["metadata"].get("annotations") or {}
    started = datetime.fromisoformat(str(pod["status"]["startTime"]))
    since = datetime.fromisoformat(asked["sinceTime"]) if "sinceTime" in asked else started
    if "sinceSeconds" in asked:
        since = datetime.now(UTC) - timedelta(seconds=int(asked["sinceSeconds"]))
    texts = annotations.get(LOG, NOTHING_TOLD).split("\n") if since <= started else []
    stamps = [f"{started:%Y-%m-%dT%H:%M:%S}.{number:09}Z " for number in range(len(texts))]
    shown = stamps if asked.get("timestamps") == "true" else [""] * len(texts)
    return [f"{stamp}{text}\n" for stamp, text in zip(shown, texts, strict=True)]


def _first(lines: list[str], asked: dict[str, str]) -> int:
    """Of those that are sent."""
    return max(0, len(lines) - int(asked.get("tailLines", len(lines))))
