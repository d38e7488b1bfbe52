"""What the container that waits in a service's pod does when the API server does not answer well."""

from __future__ import annotations

import io
import json
import ssl
import sys
import time
import urllib.request
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest

from tests.on_gke import experiment, job, kubernetes, manifests, pod

COMPLETE = json.dumps({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}).encode()


def test_a_service_goes_on_when_an_answer_is_lost_or_cut_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    group = (job(name="worker"), job(name="ps", executor=kubernetes(on={"service": True})))
    [container] = pod(manifests(experiment(group))[1])["containers"]
    _, _, script, namespace, worker = container["command"]
    answers = iter([ConnectionResetError("reset"), IncompleteRead(b""), COMPLETE[:20], b'{"status": {}}', COMPLETE])
    slept: list[float] = []

    def urlopen(request: urllib.request.Request, **_: Any) -> io.BytesIO:
        assert request.full_url.endswith(f"/namespaces/{namespace}/jobs/{worker}")
        answer = next(answers)
        if isinstance(answer, bytes):
            return io.BytesIO(answer)
        raise answer

    (tmp_path / "token").write_text("a token")
    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(ssl, "create_default_context", lambda **_: None)
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(sys, "argv", ["-c", namespace, worker])
    exec(script.replace("/var/run/secrets/xmgen", str(tmp_path)), {})
    assert slept == [10, 10, 10, 10]
    assert list(answers) == []
    assert [line.partition("(")[0] for line in capsys.readouterr().out.splitlines()] == [
        "ConnectionResetError",
        "IncompleteRead",
        "JSONDecodeError",
    ]
