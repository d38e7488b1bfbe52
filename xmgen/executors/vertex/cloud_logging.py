"""What Cloud Logging has kept of jobs on Vertex AI.

https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/list
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from xmgen import extras
from xmgen.errors import OperationError, Problem
from xmgen.executors.base import LogWindow
from xmgen.provider.settings import Settings

if TYPE_CHECKING:
    import requests

ENDPOINT = "https://logging.googleapis.com"

PAGE = 1000
"""Entries of an answer, at the most."""

TIMEOUT_SECONDS = 60.0

ATTEMPTS = 8
WAIT_SECONDS = 10.0
"""A project may ask so often in a minute, which a large sweep takes up. What is refused for that, or by a service
that is busy, is asked again for a little longer than a minute: no answer says how long to wait.
"""

_LATER = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Entry:
    """task: which replica of which worker pool printed it, such as `workerpool0-0`. text: a line, or several."""

    task: str
    text: str


class CloudLogging:
    """Of a project. Its imports are those of xmgen's extra for Google Cloud."""

    def __init__(self, project: str, settings: Settings) -> None:
        """settings: where credentials are. Raises OperationError when what it imports is not installed."""
        try:
            import requests

            from xmgen.provider.google_credentials import Authorization
        except ImportError as error:
            hint = f"install xmgen with its extra: {extras.install('gcp')}"
            raise OperationError(
                Problem(f"{error.name} is not installed, which Cloud Logging takes", hint=hint)
            ) from None
        self._requests = requests
        self._project = project
        self._session = requests.Session()
        self._session.auth = Authorization(settings)

    def of_job(self, number: str, begun: str, window: LogWindow) -> Iterator[Entry]:
        """What a CustomJob printed, oldest first. number: the end of its name. begun: when it was created, RFC 3339.

        Raises OperationError when Cloud Logging does not say.
        """
        since = begun
        if window.since is not None:
            since = max(since, f"{datetime.now(UTC) - timedelta(seconds=window.since):%Y-%m-%dT%H:%M:%SZ}")
        named = f'resource.type="ml_job" AND resource.labels.job_id={json.dumps(number)}'
        # Without a time it would search all that there is.
        asked = {"filter": f'{named} AND timestamp>="{since}"' if since else named}
        if window.tail is None:
            yield from map(_entry, self._all({**asked, "orderBy": "timestamp asc"}, None))
        else:
            newest = [*self._all({**asked, "orderBy": "timestamp desc"}, window.tail)]
            yield from map(_entry, reversed(newest))

    def _all(self, asked: Mapping[str, str], most: int | None) -> Iterator[dict[str, Any]]:
        """The entries, page by page. most: how many of them; None for all."""
        token = ""
        while most is None or most > 0:
            size = PAGE if most is None else min(most, PAGE)
            page = self._ask({**asked, "pageSize": size, **({"pageToken": token} if token else {})})
            entries: list[dict[str, Any]] = page.get("entries") or []
            yield from entries
            most = None if most is None else most - len(entries)
            token = str(page.get("nextPageToken") or "")
            if not token:
                return

    def _ask(self, asked: Mapping[str, str | int]) -> dict[str, Any]:
        body: Any = {"resourceNames": [f"projects/{self._project}"], **asked}
        try:
            answer = self._posted(body)
            for _ in range(ATTEMPTS - 1):
                if answer.status_code not in _LATER:
                    break
                time.sleep(WAIT_SECONDS)
                answer = self._posted(body)
            content: object = answer.json()
        except self._requests.RequestException as error:
            raise OperationError(Problem(f"Cloud Logging does not answer: {error}")) from None
        found: dict[str, Any] = cast(dict[str, Any], content) if isinstance(content, dict) else {}
        if answer.ok:
            return found
        refused: dict[str, Any] = found.get("error") or {}
        message = refused.get("message") or answer.reason
        hint = "it takes roles/logging.viewer" if answer.status_code == 403 else ""
        raise OperationError(Problem(f"Cloud Logging answers {answer.status_code}: {message}", hint=hint))

    def _posted(self, body: Any) -> requests.Response:
        return self._session.post(f"{ENDPOINT}/v2/entries:list", json=body, timeout=TIMEOUT_SECONDS)


def _entry(entry: Mapping[str, Any]) -> Entry:
    resource: dict[str, Any] = entry.get("resource") or {}
    labels: dict[str, Any] = resource.get("labels") or {}
    payload: dict[str, Any] = entry.get("jsonPayload") or {}
    text = entry.get("textPayload") or payload.get("message") or json.dumps(payload, ensure_ascii=False)
    return Entry(str(labels.get("task_name") or ""), str(text).removesuffix("\n"))
