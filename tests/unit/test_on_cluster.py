"""What `up` takes from a cluster once it has ended, and tells of one that is gone."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.compiled_stacks import compiled_stack
from tests.on_gke import experiment, job
from xmgen.commands import operate
from xmgen.commands.operation import Options, Outcome
from xmgen.errors import OperationError, Problem
from xmgen.executors.base import LiveStatus, Reruns
from xmgen.executors.gke.runtime import GkeRuntime
from xmgen.project import Project
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.trials import Status, Trial
from xmgen.stack import lock

PLAN = compiled_stack(experiment(job("--lr=1")))
WORK = cast(Session, SimpleNamespace(export=lambda: ""))


def trial(status: Status, *reasons: str) -> Trial:
    return Trial(name="a", arguments={}, status=status, reasons=reasons)


@pytest.mark.parametrize(
    ("known", "there", "told"),
    [
        (trial("failed", "timed out"), trial("failed", "exited with code 3"), trial("failed", "exited with code 3")),
        (trial("failed", "quota"), trial("waiting"), trial("failed", "quota")),
        (trial("failed", "refused"), trial("finished"), trial("failed", "refused")),
        (trial("running"), trial("finished"), trial("finished")),
        (trial("running"), trial("failed", "exited with code 3"), trial("running")),
    ],
    ids=["waited for", "never created", "of another Job", "finished before", "while it went on"],
)
def test_after_an_up_that_failed(monkeypatch: pytest.MonkeyPatch, known: Trial, there: Trial, told: Trial) -> None:
    monkeypatch.setattr(GkeRuntime, "status", lambda *_, **__: LiveStatus(units=[there]))
    progress = Progress(units={"a": known})
    assert GkeRuntime().finish(WORK, PLAN, progress, failed=True) == []
    assert progress.units == {"a": told}


@pytest.mark.parametrize(
    ("status", "said"), [("failed", ["What the failed jobs printed cannot be known. gone"]), ("running", [])]
)
def test_of_a_cluster_that_does_not_answer_only_what_is_missed_is_said(
    monkeypatch: pytest.MonkeyPatch, status: Status, said: list[str]
) -> None:
    unreached = OperationError(Problem("gone"))
    monkeypatch.setattr(
        GkeRuntime, "status", lambda *_, **__: LiveStatus(units=[trial("running")], unreached=unreached)
    )
    progress = Progress(units={"a": trial(status)})
    assert GkeRuntime().finish(WORK, PLAN, progress, failed=True) == said
    assert progress.units == {"a": trial(status)}


@pytest.mark.parametrize(("told", "code"), [("failed", 1), ("interrupted", 130)])
def test_a_program_gets_a_result_when_a_cluster_that_is_gone_cannot_be_forgotten(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    told: Outcome,
    code: int,
) -> None:
    work = SimpleNamespace(recover=list, export=str)
    monkeypatch.setattr(operate.target, "compiled_stack", lambda *arguments: PLAN)
    monkeypatch.setattr(operate, "_begun", lambda *arguments: work)
    monkeypatch.setattr(operate, "_create", lambda *arguments: None)
    monkeypatch.setattr(GkeRuntime, "refuse_move", lambda *arguments: None)
    monkeypatch.setattr(GkeRuntime, "reruns", lambda *arguments: Reruns(forgets=cast(Session, work)))
    monkeypatch.setattr(operate, "_refreshed", lambda *arguments: told)
    options = Options(yes=True, json=True)
    project = Project(root=tmp_path)
    project.lock("sweep").parent.mkdir(parents=True)
    project.lock("sweep").write_text(lock.dumps(PLAN.experiment))
    assert operate.up(project, "sweep", stack=None, flags=(), options=options) == code
    [line] = capsys.readouterr().out.splitlines()
    last = json.loads(line)
    assert (last["event"], last["operation"], last["result"], last["changes"]) == ("result", "up", told, {})
    assert [unit["status"] for unit in last["units"]] == ["waiting"]
