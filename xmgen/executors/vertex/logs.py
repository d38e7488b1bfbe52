"""What trials on Vertex AI printed: Cloud Logging has it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xmgen.errors import OperationError, Problem
from xmgen.executors.base import LogWindow
from xmgen.executors.vertex.cloud_logging import CloudLogging
from xmgen.project import Project
from xmgen.provider.settings import Settings
from xmgen.pulumi_cli import session, trials
from xmgen.pulumi_cli.session import Session
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


def of_units(
    project: Project,
    compiled: CompiledStack,
    units: Sequence[str],
    window: LogWindow,
    settings: Callable[[Session], Settings],
    *,
    follow: bool,
) -> Iterator[str | Problem]:
    """settings: where credentials are.

    Raises OperationError where there is nothing to show. To follow logs it names the command that does: Google lets a
    project ask 60 times in a minute, and an entry comes some seconds late.
    """
    stack = compiled.name
    work = session.begin(project, stack)
    state = trials.job_states(work.export() if work.exists() else None)
    jobs = [_job(unit, state[unit]) for unit in units if unit in state]
    if not jobs:
        raise OperationError(Problem("no trial is submitted", where=stack, hint=f"`xmgen up {stack}` runs it"))
    if follow:
        raise OperationError(*(Problem("`gcloud` follows it", job.unit, f"`{job.streamed}`") for job in jobs))
    logging = CloudLogging(jobs[0].project, settings(work))
    empty: list[Problem] = []
    for job in jobs:
        printed = False
        for entry in logging.of_job(job.number, job.begun, window):
            printed = True
            yield _text(job.unit if len(jobs) > 1 else "", entry.task if job.replicas > 1 else "", entry.text)
        if not printed:
            empty.append(Problem("Cloud Logging has nothing of it, yet or any more", where=job.unit, hint=job.url))
    if len(empty) == len(jobs):
        raise OperationError(*empty)
    yield from empty


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


def _text(unit: str, task: str, text: str) -> str:
    """unit, task: where there are several of them."""
    title = "/".join(part for part in (unit, task) if part)
    return "".join(f"{title} | {line}\n" if title else f"{line}\n" for line in text.split("\n"))
