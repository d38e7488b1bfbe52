"""What `status` says beside its table."""

from __future__ import annotations

import pytest

from tests import builders
from tests.on_gke import experiment, job
from xmgen import planner
from xmgen.commands import status
from xmgen.engine.trials import Status, Trial
from xmgen.plan import Plan

HERE = planner.plan(builders.experiment(builders.job("--lr=1"), builders.job("--lr=2"), builders.job("--lr=3")))
GKE = planner.plan(experiment(job("--lr=1"), job("--lr=2")))


@pytest.mark.parametrize(
    ("plan", "statuses", "count"),
    [
        pytest.param(HERE, ["finished", "finished", "finished"], 0, id="all finished"),
        pytest.param(HERE, ["finished", "failed", "waiting"], 2, id="failed and waiting"),
        pytest.param(HERE, ["finished", "stopped", "waiting"], 2, id="stopped"),
        pytest.param(HERE, ["finished", "running", "waiting"], 0, id="an up is at work"),
        pytest.param(GKE, ["waiting", "failed"], 0, id="elsewhere"),
    ],
)
def test_trials_are_unfinished_when_it_takes_another_up(plan: Plan, statuses: list[Status], count: int) -> None:
    units = [Trial(name=unit.name, arguments={}, status=of) for unit, of in zip(plan.units, statuses, strict=True)]
    assert status.unfinished(plan, units) == count
