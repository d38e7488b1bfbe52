"""What trials on Vertex AI printed: Cloud Logging has it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xmgen.commands import on_vertex, output
from xmgen.errors import OperationError, Problem
from xmgen.executors.gke.pod_logs import Window
from xmgen.executors.vertex.cloud_logging import CloudLogging
from xmgen.project import Project
from xmgen.pulumi_cli import session, trials
from xmgen.pulumi_cli.state import StateResource
from xmgen.stack.compiled import CompiledStack


@dataclass(frozen=True, slots=True)
class _Job:
    """A unit's CustomJob. number: the end of its name. replicas: in all of its worker pools. url: where the console
    shows its log.
    """

    unit: str
    replicas: int
    project: str
    region: str
    number: str
    begun: str
    url: str

    @property
    def streamed(self) -> str:
        """The command that prints its log as it grows."""
        place = [f"--region={self.region}", f"--project={self.project}"]
        return shlex.join(["gcloud", "ai", "custom-jobs", "stream-logs", self.number, *place])


def show(project: Project, compiled: CompiledStack, units: Sequence[str], window: Window, *, follow: bool) -> None:
    """Raises OperationError where there is nothing to show. To follow logs it names the command that does: Google lets
    a project ask 60 times in a minute, and an entry comes some seconds late.
    """
    stack = compiled.name
    work = session.begin(project, stack)
    state = trials.job_states(work.export() if work.exists() else None)
    jobs = [_job(unit, state[unit]) for unit in units if unit in state]
    if not jobs:
        raise OperationError(Problem("no trial is submitted", where=stack, hint=f"`xmgen up {stack}` runs it"))
    if follow:
        raise OperationError(*(Problem("`gcloud` follows it", job.unit, f"`{job.streamed}`") for job in jobs))
    logging = CloudLogging(jobs[0].project, on_vertex.settings(work))
    empty: list[Problem] = []
    for job in jobs:
        printed = False
        for entry in logging.of_job(job.number, job.begun, window):
            printed = True
            _print(job.unit if len(jobs) > 1 else "", entry.task if job.replicas > 1 else "", entry.text)
        if not printed:
            empty.append(Problem("Cloud Logging has nothing of it, yet or any more", where=job.unit, hint=job.url))
    if len(empty) == len(jobs):
        raise OperationError(*empty)
    for problem in empty:
        output.say(str(problem), error=True)


def _job(unit: str, state: StateResource) -> _Job:
    outputs: dict[str, Any] = trials.visible(state.outputs)
    inputs: dict[str, Any] = trials.visible(state.inputs)
    _, project, _, region, _, number = state.id.split("/")
    spec: dict[str, Any] = inputs.get("jobSpec") or {}
    pools: list[dict[str, Any]] = spec.get("workerPoolSpecs") or []
    return _Job(
        unit,
        sum(int(pool.get("replicaCount") or 0) for pool in pools),
        str(inputs.get("project") or project),
        str(inputs.get("region") or region),
        number,
        str(outputs.get("createTime") or ""),
        str(outputs.get("logUrl") or ""),
    )


def _print(unit: str, task: str, text: str) -> None:
    """unit, task: where there are several of them."""
    title = "/".join(part for part in (unit, task) if part)
    for line in text.split("\n"):
        sys.stdout.write(f"{title} | {line}\n" if title else f"{line}\n")
    sys.stdout.flush()
