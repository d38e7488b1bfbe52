"""What `up` takes from a cluster once it has ended."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tests.on_gke import experiment, job
from xmgen import planner
from xmgen.commands import on_cluster
from xmgen.engine.events import Progress
from xmgen.engine.session import Session
from xmgen.engine.trials import Status, Trial
from xmgen.errors import OperationError, Problem

PLAN = planner.plan(experiment(job("--lr=1")))
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
    monkeypatch.setattr(on_cluster, "units", lambda work, plan, export: ([there], None))
    progress = Progress(units={"a": known})
    assert on_cluster.explain(WORK, PLAN, progress) == []
    assert progress.units == {"a": told}


@pytest.mark.parametrize(
    ("status", "said"), [("failed", ["What the failed jobs printed cannot be known. gone"]), ("running", [])]
)
def test_of_a_cluster_that_does_not_answer_only_what_is_missed_is_said(
    monkeypatch: pytest.MonkeyPatch, status: Status, said: list[str]
) -> None:
    unreached = OperationError(Problem("gone"))
    monkeypatch.setattr(on_cluster, "units", lambda work, plan, export: ([trial("running")], unreached))
    progress = Progress(units={"a": trial(status)})
    assert on_cluster.explain(WORK, PLAN, progress) == said
    assert progress.units == {"a": trial(status)}
