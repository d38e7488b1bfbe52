"""Vertex AI's JobService over REST: what is sent is what the manifests hold.

https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.customJobs
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import urllib.parse
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from xmgen.errors import OperationError, Problem
from xmgen.provider.attempt import undisturbed
from xmgen.provider.settings import Settings
from xmgen.provider.wire import Properties

LABEL = "xmgen_submission"
"""On every job: what it was submitted for. By it a job is found whose creation Pulumi was never told of."""

ATTEMPTS = 8
PAGE = 100
"""Jobs of an answer, at the most."""

_FIRST_DELAY, _LONGEST_DELAY = 1.0, 32.0
_TIMEOUT = (10.0, 60.0)
"""Seconds to connect, and without an answer."""
_TRANSIENT = frozenset({429, 502, 503, 504})

_RIGHTS = "docs/vertex.md#roles says which roles it takes, of whoever runs `up` and of the jobs' account"

T = TypeVar("T")
Job = dict[str, Any]
"""A CustomJob as the API answers it."""


class Refused(OperationError):
    """The API's own error. status: of HTTP."""

    def __init__(self, status: int, problem: Problem) -> None:
        super().__init__(problem)
        self.status = status


@dataclass(slots=True)
class _Transient(Exception):
    """May go better next time. after: seconds that the API asks to wait."""

    why: str
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Place:
    project: str
    region: str

    @property
    def parent(self) -> str:
        return f"projects/{self.project}/locations/{self.region}"


def submission(urn: str, place: Place, body: Properties) -> str:
    """The label's value: the same for the same job of the same resource, whoever asks and how often."""
    content = json.dumps([urn, place.parent, body], sort_keys=True)
    return f"x{hashlib.sha256(content.encode()).hexdigest()[:40]}"


def region_of(name: str) -> str:
    """Of a resource name `projects/…/locations/<region>/…`."""
    return name.split("/")[3]


class JobService:
    """At most `settings.vertex_concurrency` requests at a time. Requests that may go better are tried again, so many
    times in all as `attempts` says.
    """

    def __init__(self, settings: Settings, attempts: int = ATTEMPTS) -> None:
        self._settings = settings
        self._attempts = attempts
        self._slots = asyncio.Semaphore(settings.vertex_concurrency)
        self._http: _Http | None = None
        self._submitted = 0

    async def submit(self, place: Place, body: Properties, label: str) -> tuple[Job, bool]:
        """The job, submitted once however often it takes; and whether we were cancelled meanwhile.

        An answer that is lost says nothing about the job: before every attempt, also the first, which may follow
        upon a crash, it is looked for. A submission that is sent is not cancelled: its job must get into the state.
        """
        labels: Properties = {**cast("Properties", body.get("labels") or {}), LABEL: label}
        labelled: Properties = {**body, "labels": labels}

        async def attempt() -> tuple[Job, bool]:
            if (found := await self._find(place, label)) is not None:
                return found, False
            async with self._slots:
                http = await self._connected()
                url = self._url(f"{place.parent}/customJobs")
                job = await _to_the_end(asyncio.to_thread(http.send, "POST", url, labelled))
            self._submitted += 1
            return job

        # So many may be submitted in a minute: as long as some are, everyone's turn comes.
        return await self._trying(attempt, lambda: self._submitted)

    async def get(self, name: str) -> Job | None:
        """None when there is no such job."""
        return await self._unless_gone("GET", name)

    async def labelled(self, place: Place, key: str, value: str) -> list[Job]:
        """All jobs of a place that have the label."""
        found: list[Job] = []
        token = ""
        while True:
            asked = {"filter": f"labels.{key}={value}", "pageSize": PAGE, **({"pageToken": token} if token else {})}
            path = f"{place.parent}/customJobs?{urllib.parse.urlencode(asked)}"
            page = await self._trying(lambda path=path: self._once("GET", path))
            found += cast("list[Job]", page.get("customJobs", []))
            token = str(page.get("nextPageToken", ""))
            if not token:
                return found

    async def cancel(self, name: str) -> Refused | None:
        """Asks for it. A refusal that may mean that the job has ended meanwhile, or is gone, is returned."""
        try:
            await self._trying(lambda: self._once("POST", f"{name}:cancel", {}))
        except Refused as error:
            if error.status not in (400, 404):
                raise
            return error
        return None

    async def delete(self, name: str) -> Job | None:
        """The operation that deletes the job; None when there is no such job."""
        return await self._unless_gone("DELETE", name)

    async def _unless_gone(self, method: str, name: str) -> Job | None:
        try:
            return await self._trying(lambda: self._once(method, name))
        except Refused as error:
            if error.status == 404:
                return None
            raise

    async def _find(self, place: Place, label: str) -> Job | None:
        query = urllib.parse.urlencode({"filter": f"labels.{LABEL}={label}", "pageSize": 2})
        answer = await self._once("GET", f"{place.parent}/customJobs?{query}")
        found = cast("list[Job]", answer.get("customJobs", []))
        return found[0] if found else None

    async def _once(self, method: str, path: str, body: Properties | None = None) -> Job:
        """One request. Raises _Transient, or Refused with what the API says."""
        async with self._slots:
            http = await self._connected()
            return await asyncio.to_thread(http.send, method, self._url(path), body)

    async def _trying(self, attempt: Callable[[], Awaitable[T]], progress: Callable[[], int] = lambda: 0) -> T:
        """Tries again what may go better, after a growing and uneven while, so that many do not come back at once.

        progress: changes whenever the like of it succeeds, after which it is tried as often again.
        """
        delay, left, seen = _FIRST_DELAY, self._attempts, progress()
        while True:
            try:
                return await attempt()
            except _Transient as error:
                left = left - 1 if progress() == seen else self._attempts - 1
                seen = progress()
                if not left:
                    message = f"Vertex AI does not do it, asked {self._attempts} times: {error.why}"
                    raise OperationError(Problem(message, hint="the same command goes on from here")) from None
                await asyncio.sleep(max(error.after, delay * random.uniform(0.5, 1)))  # noqa: S311 — no secret
                delay = min(delay * 2, _LONGEST_DELAY)

    async def _connected(self) -> _Http:
        if self._http is None:
            self._http = await asyncio.to_thread(_Http, self._settings)
        return self._http

    def _url(self, path: str) -> str:
        endpoint = self._settings.vertex_endpoint or f"https://{region_of(path)}-aiplatform.googleapis.com"
        return f"{endpoint.rstrip('/')}/v1/{path}"


async def _to_the_end(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """The result even when cancelled meanwhile, and whether that was so."""
    task = asyncio.ensure_future(work)
    try:
        return await undisturbed(task), False
    except asyncio.CancelledError:
        if isinstance(task.exception(), _Transient):
            raise
        return task.result(), True


class _Http:
    """Made on first use: its imports take longer than the provider's start may."""

    def __init__(self, settings: Settings) -> None:
        import requests
        from requests.adapters import HTTPAdapter

        from xmgen.provider.google_credentials import LOGIN, Authorization

        self._hints = {401: LOGIN, 403: _RIGHTS}
        self._authorization = Authorization(settings)
        self._session = requests.Session()
        self._session.auth = self._authorization
        self._session.headers["User-Agent"] = "xmgen"
        adapter = HTTPAdapter(pool_maxsize=settings.vertex_concurrency)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)
        self._environment: dict[str, Any] = {}

    def send(self, method: str, url: str, body: Properties | None) -> Job:
        response = self._send(method, url, body)
        if response.status_code == 401:
            self._authorization.forget_token()
            response = self._send(method, url, body)
        if response.status_code in _TRANSIENT:
            raise _Transient(_message(response), _seconds(response.headers.get("Retry-After", "")))
        if not 200 <= response.status_code < 300:
            message = f"Vertex AI answers {response.status_code}: {_message(response)}"
            raise Refused(response.status_code, Problem(message, hint=self._hints.get(response.status_code, "")))
        try:
            return response.json() if response.content else {}
        except ValueError:
            # What stands between us and the API, such as a portal that wants to be logged in to.
            raise _Transient(f"an answer that is not the API's: {_message(response)}") from None

    def _send(self, method: str, url: str, body: Properties | None) -> Any:
        import requests

        from xmgen.provider.google_credentials import NoAnswer

        try:
            prepared = self._session.prepare_request(requests.Request(method, url, json=body))
            return self._session.send(prepared, timeout=_TIMEOUT, allow_redirects=False, **self._surroundings(url))
        except NoAnswer as error:
            raise _Transient(str(error)) from None
        except (requests.ConnectionError, requests.Timeout) as error:
            raise _Transient(f"no answer from {urllib.parse.urlsplit(url).netloc} ({type(error).__name__})") from None
        except requests.RequestException as error:
            raise OperationError(Problem(f"Vertex AI cannot be asked: {error}")) from None

    def _surroundings(self, url: str) -> Any:
        """Proxies and certificates that the environment names for a host: looked up once, which takes a fifth of a
        request's time.
        """
        host = urllib.parse.urlsplit(url).netloc
        if host not in self._environment:
            self._environment[host] = self._session.merge_environment_settings(url, {}, None, None, None)
        return self._environment[host]


def _message(response: Any) -> str:
    """What the API's error says, with the fields that it is about."""
    try:
        error: dict[str, Any] = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return str(response.text).strip().partition("\n")[0][:300] or str(response.reason)
    lines = [str(error.get("message") or error.get("status") or response.reason)]
    for detail in error.get("details", []):
        for violation in detail.get("fieldViolations", []):
            lines.append(f"{violation.get('field')}: {violation.get('description')}")
    return "\n  ".join(lines)


def _seconds(text: str) -> float:
    """Of `Retry-After`, within reason; as a date it is not used."""
    return min(float(text), 60.0) if text.isdecimal() else 0.0
