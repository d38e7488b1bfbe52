"""The worker pools of CustomJobs, as people who pay for them read about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xmgen.experiment import Job
from xmgen.plan.model import Manifest


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """What the CustomJobs of a stack pay for. units: how many have such a worker pool."""

    job: str
    machine: str
    accelerator: str
    provisioning: str
    replicas: int
    units: int = 0


def worker_pools(custom_jobs: Iterable[tuple[Sequence[Job], Manifest]]) -> list[WorkerPool]:
    """In the order of the units; equal ones once. custom_jobs: the jobs of each unit, and the body of its CustomJob."""
    counts: Counter[WorkerPool] = Counter()
    for jobs, body in custom_jobs:
        spec: Any = body["jobSpec"]
        strategy = spec.get("scheduling", {}).get("strategy", "on-demand").lower().replace("_", "-")
        for job, pool in zip(jobs, spec["workerPoolSpecs"], strict=True):
            machine = pool["machineSpec"]
            accelerator = machine.get("tpuTopology", "")
            if "acceleratorType" in machine:
                accelerator = f"{machine['acceleratorCount']} x {machine['acceleratorType']}"
            way = "reservation" if "reservationAffinity" in machine else strategy
            counts[WorkerPool(job.name, machine["machineType"], accelerator, way, pool["replicaCount"])] += 1
    return [replace(pool, units=count) for pool, count in counts.items()]
