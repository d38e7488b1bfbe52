"""The work units of a stack that is up: their names, how their Jobs ended, and their pods."""

from __future__ import annotations

from typing import Any

from xmgen.executors.gke.jobs import job_name
from xmgen.executors.gke.pods import job_end
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.stack.compiled import CompiledStack

SECONDS = 120.0
"""How long anything here may take on a busy machine."""


def names(plan: CompiledStack) -> list[str]:
    return [unit.name for unit in plan.units]


def ends(rehearsal: Rehearsal, plan: CompiledStack) -> list[str | None]:
    """How the Job of each unit ended."""
    jobs = rehearsal.cluster.api().items(f"/apis/batch/v1/namespaces/{plan.experiment.stack}/jobs")
    found = {each["metadata"]["name"]: job_end(each) for each in jobs}
    return [found.get(job_name(unit.manifests[0])) for unit in plan.units]


def pods_of(rehearsal: Rehearsal, plan: CompiledStack, position: int) -> list[dict[str, Any]]:
    """The pods of a unit that are there, oldest first."""
    path = f"/api/v1/namespaces/{plan.experiment.stack}/pods"
    selector = f"xmgen/unit={plan.units[position].name}"
    found = rehearsal.cluster.api().items(path, labelSelector=selector)
    return sorted(found, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["status"]["phase"] != "Failed"))
