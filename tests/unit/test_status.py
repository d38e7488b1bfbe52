"""What `status` says beside its table."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tests.compiled_stacks import compiled_stack
from tests.on_gke import experiment, job
from xmgen.executors.base import runtime
from xmgen.executors.local.runtime import unfinished, with_journal
from xmgen.project import Project
from xmgen.provider.journal import Entry, RunFolder, State
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.trials import Status, Trial


@pytest.mark.parametrize(
    ("statuses", "count"),
    [
        pytest.param(["finished", "finished", "finished"], 0, id="all finished"),
        pytest.param(["finished", "failed", "waiting"], 2, id="failed and waiting"),
        pytest.param(["finished", "stopped", "waiting"], 2, id="stopped"),
        pytest.param(["finished", "running", "waiting"], 0, id="an up is at work"),
    ],
)
def test_trials_here_are_unfinished_when_it_takes_another_up(statuses: list[Status], count: int) -> None:
    assert unfinished([Trial(name="one", arguments={}, status=status) for status in statuses]) == count


def test_trials_elsewhere_go_on_by_themselves() -> None:
    stack = compiled_stack(experiment(job("--lr=1"), job("--lr=2")))
    known = runtime(stack).status(cast(Session, None), stack, None, active=None)
    assert ([unit.status for unit in known.units], known.unfinished) == (["waiting", "waiting"], 0)


@pytest.mark.parametrize(
    ("attempt", "active", "known", "told"),
    [
        ("running", True, "waiting", "running"),
        # Nobody can tell: the lock of another backend is not seen.
        ("running", None, "waiting", "running"),
        ("running", False, "waiting", "stopped"),
        ("stopped", True, "waiting", "stopped"),
        ("stopped", None, "waiting", "stopped"),
        # What the state says is of an attempt before it.
        ("stopped", False, "finished", "stopped"),
        ("succeeded", True, "waiting", "finished"),
        ("failed", True, "waiting", "failed"),
    ],
)
def test_the_journal_knows_of_an_attempt_before_the_state_does(
    tmp_path: Path, attempt: State, active: bool | None, known: Status, told: Status
) -> None:
    folder = RunFolder(tmp_path, "dev", "one")
    entry = Entry(attempt="x", fingerprint="f", state=attempt, started_at="", runner="process", jobs=("a",), outputs={})
    folder.begin(entry)
    unit = Trial(name="one", arguments={"lr": "1"}, status=known)
    found = with_journal(Project(root=tmp_path), "dev", unit, active=active)
    assert (found.name, found.arguments, found.status) == ("one", {"lr": "1"}, told)
