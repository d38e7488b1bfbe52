"""What `status` says beside its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import builders
from tests.compiled_stacks import compiled_stack
from tests.on_gke import experiment, job
from xmgen.commands import status
from xmgen.project import Project
from xmgen.provider.journal import Entry, RunFolder, State
from xmgen.pulumi_cli.trials import Status, Trial
from xmgen.stack.compiled import CompiledStack

HERE = compiled_stack(builders.experiment(builders.job("--lr=1"), builders.job("--lr=2"), builders.job("--lr=3")))
GKE = compiled_stack(experiment(job("--lr=1"), job("--lr=2")))


@pytest.mark.parametrize(
    ("stack", "statuses", "count"),
    [
        pytest.param(HERE, ["finished", "finished", "finished"], 0, id="all finished"),
        pytest.param(HERE, ["finished", "failed", "waiting"], 2, id="failed and waiting"),
        pytest.param(HERE, ["finished", "stopped", "waiting"], 2, id="stopped"),
        pytest.param(HERE, ["finished", "running", "waiting"], 0, id="an up is at work"),
        pytest.param(GKE, ["waiting", "failed"], 0, id="elsewhere"),
    ],
)
def test_trials_are_unfinished_when_it_takes_another_up(
    stack: CompiledStack, statuses: list[Status], count: int
) -> None:
    units = [Trial(name=unit.name, arguments={}, status=of) for unit, of in zip(stack.units, statuses, strict=True)]
    assert status.unfinished(stack, units) == count


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
    found = status._with_journal(Project(root=tmp_path), "dev", unit, active=active)
    assert (found.name, found.arguments, found.status) == ("one", {"lr": "1"}, told)
