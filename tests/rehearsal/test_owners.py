"""Stacks on the clusters of others: of another stack, of which what goes wrong is told, too; or one that is there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import experiment, job
from tests.rehearsal.committed import owner, stacks
from tests.rehearsal.stacks import IMAGE, T4, write
from xmgen.experiment import ClusterChoice
from xmgen.project import Project
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import markdown
from xmgen.resource_types import API

pytestmark = pytest.mark.rehearsal


def test_a_cluster_that_does_not_come_is_told(rehearsal: Rehearsal) -> None:
    plan = stacks()["gke-shared"]
    of = owner(plan)
    assert of is not None
    rehearsal.cloud.dials.set({"type": API, "operation": "create", "name": "container", "fault": "403", "times": 1})
    try:
        report = rehearsal.run(plan, of)
    finally:
        rehearsal.cloud.dials.set()
    assert not report.fits
    first = report.failures[0]
    assert first.resource == "up of gke-team", markdown(report)
    assert "container: googleapi: Error 403: refused by a dial of the rehearsal, forbidden" in first.message
    assert report.left == []


def test_a_cluster_that_is_there(in_scratch: Rehearsal, scratch: Project) -> None:
    made = experiment(job(executor=T4, executable=IMAGE.name), stack="guest", executables=(IMAGE,))
    there = ClusterChoice(kind="existing", name="prod", location="europe-west4-a")
    plan = write(scratch, replace(made, cluster=there))
    report = in_scratch.run(plan)
    assert report.fits, markdown(report)
    assert [each.phase for each in report.landings] == ["Succeeded"]
    assert report.assumed == ["projects/rehearsal/locations/europe-west4-a/clusters/prod"]
    # For the next stack it is not.
    assert [item.id for item in in_scratch.cloud.store if item.assumed] == []
