"""Every committed stack on GKE, unchanged: created, scheduled where it belongs, unchanged by a second `up`, removed."""

from __future__ import annotations

import pytest

from tests.rehearsal.committed import owner, stacks
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import markdown
from xmgen.stack.compiled import CompiledStack

pytestmark = pytest.mark.rehearsal


def pods(plan: CompiledStack) -> dict[str, int]:
    """How many pods each Job is to have."""
    jobs = [manifest for unit in plan.units for manifest in unit.manifests if manifest["kind"] == "Job"]
    return {job["metadata"]["name"]: job["spec"].get("parallelism", 1) for job in jobs}  # type: ignore[index, union-attr]


@pytest.mark.parametrize("stack", stacks())
def test_it_fits_and_leaves_nothing(stack: str, rehearsal: Rehearsal) -> None:
    plan = stacks()[stack]
    report = rehearsal.run(plan, owner(plan))
    assert report.fits, markdown(report)
    landed: dict[str, int] = {}
    for each in report.landings:
        landed[each.job] = landed.get(each.job, 0) + 1
        assert each.phase == "Succeeded"
    assert landed == pods(plan)
    assert {each.removesuffix(each[-8:]) for each in report.kept} == ({f"{stack}-output"} if pods(plan) else set())
