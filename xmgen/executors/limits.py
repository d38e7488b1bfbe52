"""The range of every number that an executor takes, in one place: experiment.yaml, launch scripts and the planner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xmgen.errors import Problem
from xmgen.experiment import Executor, Kubernetes


class Limit(NamedTuple):
    """From least to most, both of them included. unit: what is counted."""

    least: int
    most: int
    unit: str = ""

    def problem(self, name: str, value: int | None) -> Problem | None:
        """What is wrong with the value of an option that may be left out."""
        if value is None or self.least <= value <= self.most:
            return None
        return Problem(f"{name} is {value}", hint=f"from {self.least} to {self.most}{self.unit and ' '}{self.unit}")


BYTES = Limit(1, 2**63 - 1, "bytes")
"""Kubernetes counts them in 64 bits with a sign."""
PORT = Limit(1, 65_535)
PRIORITY = Limit(-10, 10**9, "(below -10 no machine is started for a pod)")
RETRIES = Limit(0, 100)
REPLICAS = Limit(1, 100_000)
"""Of an Indexed Job of Kubernetes, which gives no more pods an index."""
POOL_JOBS = Limit(1, 15_000)
"""As many nodes as a cluster of GKE has."""
MAX_SECONDS = 315_576_000_000
"""Of a protobuf Duration, which Vertex AI takes: ten thousand years."""
TIMEOUT = Limit(1, MAX_SECONDS, "seconds")
MAX_WAIT = Limit(0, MAX_SECONDS, "seconds; 0 is for ever")


OPTIONS = {
    "priority": PRIORITY,
    "retries": RETRIES,
    "shared_memory": BYTES,
    "timeout": TIMEOUT,
    "max_wait": MAX_WAIT,
}
"""Of every executor that has an option of the name."""


def problems(executor: Executor) -> Iterator[Problem]:
    """Every option of an executor that is out of its range; `catalog.options.wrong_amounts` says so of requirements."""
    found = [limit.problem(name, getattr(executor, name, None)) for name, limit in OPTIONS.items()]
    if isinstance(executor, Kubernetes):
        found += [BYTES.problem(f"the size of {volume.claim!r}", volume.size) for volume in executor.volumes or ()]
    yield from filter(None, found)
