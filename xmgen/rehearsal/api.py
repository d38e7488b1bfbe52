"""Requests to the API server of a control plane on this machine."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

from xmgen.rehearsal.servers import LOOPBACK

TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """status: HTTP's. body: the object, or a Status that says why not; a text where the server sends no JSON."""

    status: int
    body: Any

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """Why a request was refused, in the server's own words."""
        body: object = self.body
        return str(cast(dict[str, Any], body).get("message", "")) if isinstance(body, dict) else str(body)


class Api:
    """What one user may do. Each thread has a connection of its own, which is kept."""

    def __init__(self, port: int, authority: Path, token: str) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=str(authority))
        self._token = token
        self._kept = threading.local()

    def request(self, method: str, path: str, body: object = None, **query: str) -> Answer:
        """Raises OSError when the server does not answer."""
        connection: http.client.HTTPSConnection | None = getattr(self._kept, "connection", None)
        if connection is not None:
            # The server may have closed it in the meantime, or been started again.
            with contextlib.suppress(OSError):
                return self._ask(connection, method, path, body, query)
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, timeout=TIMEOUT_SECONDS, context=self._context)
        return self._ask(connection, method, path, body, query)

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The objects of a list. Raises OSError when it is refused."""
        answer = self.request("GET", path, **query)
        if not answer.ok:
            raise OSError(f"{path}: {answer.message}")
        return answer.body["items"]

    def _ask(
        self, connection: http.client.HTTPSConnection, method: str, path: str, body: object, query: Mapping[str, str]
    ) -> Answer:
        self._kept.connection = None
        try:
            connection.request(
                method,
                f"{path}?{urlencode(query)}" if query else path,
                body=None if body is None else json.dumps(body),
                headers={"Authorization": f"Bearer {self._token}", "Content-Type": _content_type(method)},
            )
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        except BaseException as error:
            connection.close()
            if isinstance(error, http.client.HTTPException):
                raise OSError(f"the API server broke off: {error}") from error
            raise
        self._kept.connection = connection
        json_answer = answer.headers.get_content_type() == "application/json"
        return Answer(answer.status, json.loads(text) if json_answer else text)


def _content_type(method: str) -> str:
    """A patch is an object of what is to change, in which null removes a field."""
    return "application/merge-patch+json" if method == "PATCH" else "application/json"
