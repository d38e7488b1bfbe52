"""`xmgen logs` of trials on Vertex AI: from Cloud Logging, which refuses what Google's refuses."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.compiled_stacks import compiled_stack
from tests.vertex.job_service import NUMBER, TOKEN
from tests.vertex.manifests import experiment, job
from xmgen.commands import logs as command
from xmgen.commands import target
from xmgen.errors import OperationError
from xmgen.executors.vertex import cloud_logging
from xmgen.project import Project
from xmgen.pulumi_cli import session
from xmgen.resource_types import CUSTOM_JOB

FIELDS = {"resourceNames", "filter", "orderBy", "pageSize", "pageToken"}
FILTER = re.compile(r'resource\.type="ml_job" AND resource\.labels\.job_id="(\d+)" AND timestamp>="([\dTZ:.-]+)"')


@dataclass
class Logging:
    """Cloud Logging on this machine. kept: entries of jobs, by their numbers. page: as many as it gives at once.
    busy: how often it is not to be asked just now.
    """

    kept: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    page: int = 2
    refuses: tuple[int, str] | None = None
    busy: int = 0
    asked: int = 0

    def answer(self, token: str | None, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.asked += 1
        if token != f"Bearer {TOKEN}":
            return _error(401, "Request had invalid authentication credentials.")
        if self.refuses:
            return _error(*self.refuses)
        if self.asked <= self.busy:
            return _error(429, "Quota exceeded")
        found = FILTER.fullmatch(body.get("filter", ""))
        wrong = [
            *(f"Unknown name {key}" for key in body.keys() - FIELDS),
            *(["resource_names"] if body.get("resourceNames") != ["projects/acme"] else []),
            *(["order_by"] if body.get("orderBy") not in ("timestamp asc", "timestamp desc") else []),
            *(["page_size"] if not 1 <= body.get("pageSize", 50) <= 1000 else []),
            *(["filter"] if found is None else []),
        ]
        if wrong or found is None:
            return _error(400, f"Request contains an invalid argument: {', '.join(wrong)}")
        entries = [each for each in self.kept.get(found[1], []) if each["timestamp"] >= found[2]]
        entries.sort(key=lambda each: each["timestamp"], reverse=body["orderBy"].endswith("desc"))
        start = int(body.get("pageToken", "0"))
        end = start + min(self.page, body.get("pageSize", 50))
        more = {"nextPageToken": str(end)} if end < len(entries) else {}
        # What is empty is left out.
        return 200, ({"entries": entries[start:end]} if entries[start:end] else {}) | more


def _error(code: int, message: str) -> tuple[int, dict[str, Any]]:
    return code, {"error": {"code": code, "message": message}}


def entry(second: int, text: str, task: str = "workerpool0-0", **payload: Any) -> dict[str, Any]:
    return {
        "timestamp": f"2026-01-01T00:00:{second:02}Z",
        "resource": {"type": "ml_job", "labels": {"task_name": task}},
        **(payload or {"jsonPayload": {"message": f"{text}\n", "levelname": "INFO"}}),
    }


@pytest.fixture
def logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Logging]:
    kept = Logging()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = self.path == "/v2/entries:list"
            code, answer = kept.answer(self.headers["Authorization"], body) if known else _error(404, self.path)
            text = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """A test looks at what is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        monkeypatch.setattr(cloud_logging, "ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setattr(cloud_logging, "WAIT_SECONDS", 0.0)
        yield kept
        server.shutdown()


STACK = compiled_stack(experiment(job("--a=1"), (job("--a=2"), job("--a=3", name="other"))))
SINGLE, GROUP = (unit.name for unit in STACK.units)


def state(**numbers: str) -> str:
    """The stack's, with a CustomJob of each unit."""
    resources = [
        {
            "urn": f"urn:pulumi:sweep::experiments::{CUSTOM_JOB}::{unit}",
            "type": CUSTOM_JOB,
            "id": f"projects/{NUMBER}/locations/us-central1/customJobs/{number}",
            "inputs": {
                "project": "acme",
                "region": "us-central1",
                "jobSpec": {"workerPoolSpecs": [{"replicaCount": 1}] * (1 if unit == SINGLE else 2)},
            },
            "outputs": {"createTime": "2026-01-01T00:00:00Z", "logUrl": f"https://console/{number}"},
        }
        for unit, number in numbers.items()
    ]
    return json.dumps({"deployment": {"resources": resources}})


def logs(
    monkeypatch: pytest.MonkeyPatch,
    *units: str,
    export: str,
    token: str = TOKEN,
    tail: int | None = None,
    since: str | None = None,
    follow: bool = False,
) -> None:
    def run(*arguments: str) -> str:
        assert arguments == ("config", "--json", "--show-secrets", "--stack", "sweep")
        return json.dumps({"gcp:accessToken": {"value": token, "secret": True}})

    work = SimpleNamespace(stack="sweep", exists=lambda: True, export=lambda: export, pulumi=SimpleNamespace(run=run))
    monkeypatch.setattr(session, "begin", lambda project, stack: work)
    monkeypatch.setattr(target, "existing", lambda project, stack: STACK)
    command.logs(cast(Project, None), "sweep", units, follow=follow, tail=tail, since=since)


def test_the_log_of_a_job(
    logging: Logging, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.kept["7"] = [
        entry(2, "two"),
        entry(1, "one"),
        entry(3, "", textPayload="three\nfour"),
        entry(4, "", jsonPayload={"loss": 0.1}),
    ]
    one = state(**{SINGLE: "7"})
    logs(monkeypatch, SINGLE, export=one)
    assert capsys.readouterr().out == 'one\ntwo\nthree\nfour\n{"loss": 0.1}\n'
    logs(monkeypatch, SINGLE, export=one, tail=3)
    assert capsys.readouterr().out == 'two\nthree\nfour\n{"loss": 0.1}\n'
    logs(monkeypatch, SINGLE, export=one, since="365000d")
    assert capsys.readouterr().out.startswith("one\n")


def test_of_several_jobs_and_worker_pools_each_line_is_named(
    logging: Logging, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.kept["8"] = [entry(1, "chief"), entry(2, "worker", "workerpool1-0")]
    both = state(**{SINGLE: "7", GROUP: "8"})
    logs(monkeypatch, SINGLE, GROUP, export=both)
    shown = capsys.readouterr()
    assert shown.out == f"{GROUP}/workerpool0-0 | chief\n{GROUP}/workerpool1-0 | worker\n"
    nothing = "Cloud Logging has nothing of it, yet or any more"
    assert shown.err == f"{SINGLE}: {nothing}\n  https://console/7\n"
    logs(monkeypatch, GROUP, export=both)
    assert capsys.readouterr().out == "workerpool0-0 | chief\nworkerpool1-0 | worker\n"
    with pytest.raises(OperationError, match=nothing):
        logs(monkeypatch, SINGLE, export=both)


def test_a_sweep_that_takes_up_what_may_be_asked_in_a_minute_waits_for_the_next(
    logging: Logging, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.kept["7"] = [entry(1, "one")]
    logging.busy = cloud_logging.ATTEMPTS - 1
    logs(monkeypatch, SINGLE, export=state(**{SINGLE: "7"}))
    assert (capsys.readouterr().out, logging.asked) == ("one\n", cloud_logging.ATTEMPTS)


def test_what_follows_a_log_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    command = "gcloud ai custom-jobs stream-logs 7 --region=us-central1 --project=acme"
    with pytest.raises(OperationError, match=f"{SINGLE}: `gcloud` follows it\n  `{command}`"):
        logs(monkeypatch, SINGLE, export=state(**{SINGLE: "7"}), follow=True)


def test_a_trial_that_is_not_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OperationError, match="sweep: no trial is submitted\n  `xmgen up sweep` runs it"):
        logs(monkeypatch, SINGLE, export=state())


@pytest.mark.parametrize(
    ("token", "refuses", "told"),
    [
        ("expired", None, "Cloud Logging answers 401: Request had invalid authentication credentials."),
        (
            TOKEN,
            (403, "Permission denied for all log views"),
            "Cloud Logging answers 403: Permission denied for all log views\n  it takes roles/logging.viewer",
        ),
        (TOKEN, (429, "Quota exceeded"), "Cloud Logging answers 429: Quota exceeded"),
    ],
)
def test_what_google_refuses(
    token: str, refuses: tuple[int, str] | None, told: str, logging: Logging, monkeypatch: pytest.MonkeyPatch
) -> None:
    logging.refuses = refuses
    with pytest.raises(OperationError) as error:
        logs(monkeypatch, SINGLE, export=state(**{SINGLE: "7"}), token=token)
    assert str(error.value) == told


def test_nobody_answers(logging: Logging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_logging, "ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(OperationError, match="Cloud Logging does not answer: "):
        logs(monkeypatch, SINGLE, export=state(**{SINGLE: "7"}))
