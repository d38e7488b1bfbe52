"""Requests to the API server of a control plane on this machine."""

from __future__ import annotations

import http.client
import json
import ssl
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
    """What one user may do. A connection per request: there are few."""

    def __init__(self, port: int, authority: Path, token: str) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=str(authority))
        self._token = token

    def request(self, method: str, path: str, body: object = None, **query: str) -> Answer:
        """Raises OSError when the server does not answer."""
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, timeout=TIMEOUT_SECONDS, context=self._context)
        try:
            connection.request(
                method,
                f"{path}?{urlencode(query)}" if query else path,
                body=None if body is None else json.dumps(body),
                headers={"Authorization": f"Bearer {self._token}", "Content-Type": _content_type(method)},
            )
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
            json_answer = answer.headers.get_content_type() == "application/json"
            return Answer(answer.status, json.loads(text) if json_answer else text)
        except http.client.HTTPException as error:
            raise OSError(f"the API server broke off: {error}") from error
        finally:
            connection.close()


def _content_type(method: str) -> str:
    """A patch is an object of what is to change, in which null removes a field."""
    return "application/merge-patch+json" if method == "PATCH" else "application/json"
