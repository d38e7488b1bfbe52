"""Vertex AI's JobService on this machine, over REST, on the official messages.

It refuses what they refuse, and what the API's documentation says that it refuses. It can delay, fail with any status,
act and then lose its answer, and forget jobs.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.vertex import protos

TOKEN = "a-token-of-the-tests"
NUMBER = "123456789012"
"""Of the project; names that the API answers have it in place of the project's id."""

ACTIVE = ("JOB_STATE_QUEUED", "JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_CANCELLING", "JOB_STATE_PAUSED")


class Refusal(Exception):
    def __init__(self, code: int, status: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


@dataclass(slots=True, kw_only=True)
class Fault:
    """What happens to the next `times` requests of a method whose path ends so.

    status: is answered instead of acting, with the text if there is one. lost: it is acted, and the connection closed
            without an answer.
    delay:  seconds before anything else, or `until` that is set. evicts: all jobs are forgotten before it is acted.
    location: where an answer that is a redirect points to.
    """

    method: str
    ends: str = ""
    status: int = 0
    text: str = ""
    lost: bool = False
    evicts: bool = False
    delay: float = 0.0
    until: threading.Event | None = None
    retry_after: str = ""
    location: str = ""
    times: int = 1


@dataclass
class JobService:
    """jobs: by name. coming: the states that a job goes through, one at each look at it; then it stays.
    first: the state of a job that has just been submitted.
    log:  method and what the path names, in order of arrival. peak: the most requests at a time.
    one_in: of so many submissions one is taken, and the others are answered that there are too many.
    cancelling: how often a job that is cancelled is still seen so.
    operations: what the looks at operations find, one after the other; then they are done.
    """

    coming: Sequence[str] = ("JOB_STATE_PENDING", "JOB_STATE_RUNNING")
    first: str = "JOB_STATE_PENDING"
    error: str = "The replica workerpool0-0 exited with a non-zero status of 1."
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    log: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    peak: int = 0
    one_in: int = 1
    cancelling: int = 0
    operations: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._under_way = 0
        self._asked = 0
        self._count = 0
        self._looks: Counter[str] = Counter()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> JobService:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    # What a test does and asks

    def states(self) -> list[str]:
        """Of all jobs, in the order of their creation."""
        return [job["state"] for job in self.jobs.values()]

    def become(self, state: str) -> None:
        """Every job is in that state from now on."""
        with self._lock:
            self.coming = (state,)
            for job in self.jobs.values():
                set_state(job, state, self.error)

    def evict(self) -> None:
        """Forgets all jobs."""
        with self._lock:
            self.jobs.clear()

    def count(self, method: str, kind: str = "") -> int:
        return sum(1 for each, what in self.log if each == method and what.startswith(kind))

    # Requests

    def fault(self, method: str, path: str) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.times and fault.method == method and path.endswith(fault.ends):
                    fault.times -= 1
                    return fault
        return None

    def enter(self) -> None:
        with self._lock:
            self._under_way += 1
            self.peak = max(self.peak, self._under_way)

    def leave(self) -> None:
        with self._lock:
            self._under_way -= 1

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> dict[str, Any]:
        matched = re.fullmatch(
            r"/v1/projects/([^/]+)/locations/([^/]+)/(customJobs|operations)(?:/([^/:]+))?(?::(\w+))?", path
        )
        if matched is None:
            raise Refusal(404, "NOT_FOUND", f"no such method: {path}")
        _, region, kind, number, verb = matched.groups()
        name = f"projects/{NUMBER}/locations/{region}/{kind}/{number}"
        with self._lock:
            self.log.append((method, f"{kind}{':' + verb if verb else ''}"))
            if kind == "operations":
                return {"name": name, **(self.operations.pop(0) if self.operations else {"done": True})}
            match method, number, verb:
                case "POST", None, None:
                    return self._create(region, body)
                case "GET", None, None:
                    return self._list(region, query)
                case "GET", _, None:
                    return self._look(name)
                case "DELETE", _, None:
                    return self._delete(name)
                case "POST", _, "cancel":
                    return self._cancel(name)
                case _:
                    raise Refusal(404, "NOT_FOUND", f"no such method: {method} {path}")

    def _create(self, region: str, body: Any) -> dict[str, Any]:
        self._asked += 1
        if self._asked % self.one_in:
            raise Refusal(429, "RESOURCE_EXHAUSTED", "too many submissions a minute")
        self.bodies.append(body)
        try:
            job = protos.parsed(body)
        except protos.ParseError as error:
            raise Refusal(400, "INVALID_ARGUMENT", str(error)) from None
        _refuse(job)
        self._count += 1
        name = f"projects/{NUMBER}/locations/{region}/customJobs/{self._count}"
        job |= {"name": name, "createTime": "2026-01-01T00:00:00Z"}
        set_state(job, self.first, self.error)
        self.jobs[name] = job
        return job

    def _list(self, region: str, query: dict[str, list[str]]) -> dict[str, Any]:
        found = re.fullmatch(r"labels\.([a-z_]+)=([\w-]+)", query.get("filter", [""])[0])
        if found is None:
            raise Refusal(400, "INVALID_ARGUMENT", f"filter: {query.get('filter')}")
        key, value = found.groups()
        here = [job for job in self.jobs.values() if f"/{region}/" in job["name"]]
        there = [job for job in here if job.get("labels", {}).get(key) == value]
        start, size = int(query.get("pageToken", ["0"])[0]), int(query.get("pageSize", ["100"])[0])
        page = there[start : start + size]
        more = {"nextPageToken": str(start + size)} if there[start + size :] else {}
        # What is empty is left out.
        return ({"customJobs": page} if page else {}) | more

    def _look(self, name: str) -> dict[str, Any]:
        job = self._job(name)
        state = job["state"]
        if state == "JOB_STATE_CANCELLING" and self.cancelling:
            self.cancelling -= 1
        elif state == "JOB_STATE_CANCELLING":
            set_state(job, "JOB_STATE_CANCELLED", self.error)
        elif state in ACTIVE:
            step = min(self._looks[name], len(self.coming) - 1)
            self._looks[name] += 1
            set_state(job, self.coming[step], self.error)
        return job

    def _cancel(self, name: str) -> dict[str, Any]:
        job = self._job(name)
        if job["state"] not in ACTIVE:
            raise Refusal(400, "FAILED_PRECONDITION", "The job has ended.")
        set_state(job, "JOB_STATE_CANCELLING", self.error)
        return {}

    def _delete(self, name: str) -> dict[str, Any]:
        job = self._job(name)
        if job["state"] in ACTIVE:
            raise Refusal(400, "FAILED_PRECONDITION", "The job is active; cancel it first.")
        del self.jobs[name]
        return {"name": name.replace("customJobs", "operations"), "done": False}

    def _job(self, name: str) -> dict[str, Any]:
        if name not in self.jobs:
            raise Refusal(404, "NOT_FOUND", f"The CustomJob does not exist: {name}")
        return self.jobs[name]


def set_state(job: dict[str, Any], state: str, error: str) -> None:
    job["state"] = state
    if state == "JOB_STATE_RUNNING":
        job.setdefault("startTime", "2026-01-01T00:01:00Z")
        if job["jobSpec"].get("enableWebAccess"):
            job["webAccessUris"] = {"workerpool0-0": "https://shell.example/workerpool0-0"}
    if state not in ACTIVE:
        job.setdefault("endTime", "2026-01-01T01:00:00Z")
    if state == "JOB_STATE_FAILED":
        job["error"] = {"code": 3, "message": error}


def _refuse(job: dict[str, Any]) -> None:
    """What the messages allow and the API's documentation does not."""
    spec = job.get("jobSpec", {})
    pools: list[dict[str, Any]] = spec.get("workerPoolSpecs", [])
    machines = [pool.get("machineSpec", {}).get("machineType", "") for pool in pools]
    on_tpus = any("tpu" in machine for machine in machines)
    name = job.get("displayName", "")
    wrong = [
        ("display_name is required", not name),
        ("display_name is too long", len(name) > 128),
        ("worker_pool_specs: from 1 to 4", not 1 <= len(pools) <= 4),
        ("the first worker pool has one replica", bool(pools) and pools[0].get("replicaCount") != "1"),
        ("image_uri is required", any(not pool.get("containerSpec", {}).get("imageUri") for pool in pools)),
        ("machine_type is required", not all(machines)),
        (
            "service_account is required with tensorboard",
            "tensorboard" in spec and "serviceAccount" not in spec and not on_tpus,
        ),
    ]
    for message, is_so in wrong:
        if is_so:
            raise Refusal(400, "INVALID_ARGUMENT", message)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _handler(service: JobService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            import socket

            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def do_DELETE(self) -> None:
            self._serve()

        def _serve(self) -> None:
            service.enter()
            try:
                fault, code, answer = self._act()
            finally:
                # Before the answer: whoever has it may ask again.
                service.leave()
            if fault.lost:
                self.close_connection = True
                return
            text = (fault.text or json.dumps(answer)).encode()
            headers = {"Retry-After": fault.retry_after, "Location": fault.location}
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            for name, value in headers.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def _act(self) -> tuple[Fault, int, dict[str, Any]]:
            address = urlsplit(self.path)
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
            fault = service.fault(self.command, address.path) or Fault(method="", times=0)
            time.sleep(fault.delay)
            if fault.until is not None:
                fault.until.wait(60)
            if fault.evicts:
                service.evict()
            try:
                if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    raise Refusal(401, "UNAUTHENTICATED", "the token is wrong")
                if fault.status:
                    raise Refusal(fault.status, "INJECTED", "as the test wants it")
                return fault, 200, service.answer(self.command, address.path, parse_qs(address.query), body)
            except Refusal as error:
                return fault, error.code, {"error": {"code": error.code, "message": str(error), "status": error.status}}

        def log_message(self, format: str, *args: object) -> None:
            """A test looks at `log`."""

    return Handler
