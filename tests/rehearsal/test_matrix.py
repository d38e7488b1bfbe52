"""Every machine type of the catalog, and slices of TPUs up to 64 nodes: all jobs run where they belong."""

from __future__ import annotations

import pytest

from tests.rehearsal.machines import matrix, pools_of
from tests.rehearsal.stacks import write
from xmgen.project import Project
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import markdown

pytestmark = pytest.mark.rehearsal


@pytest.mark.parametrize("name", ["zone", "others"])
def test_every_machine_type_is_scheduled_where_it_belongs(name: str, in_scratch: Rehearsal, scratch: Project) -> None:
    plan = write(scratch, matrix(name))
    report = in_scratch.run(plan)
    assert report.fits, markdown(report)
    meant = pools_of(plan.units, plan.pools)
    landed: dict[str, set[str]] = {}
    for each in report.landings:
        landed.setdefault(each.job, set()).add(each.pool)
    assert landed.keys() == meant.keys()
    assert {job: pools for job, pools in landed.items() if not pools <= meant[job] or len(pools) > 1} == {}
