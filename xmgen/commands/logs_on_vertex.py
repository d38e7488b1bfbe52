"""Where the logs of trials on Vertex AI are: in Cloud Logging."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from xmgen.engine import session, trials
from xmgen.engine.pod_logs import Window
from xmgen.errors import OperationError, Problem
from xmgen.plan import Plan
from xmgen.project import Project


def show(project: Project, plan: Plan, units: Sequence[str], window: Window, *, follow: bool) -> None:
    """Raises OperationError: it names what prints each log."""
    stack = plan.experiment.stack
    work = session.begin(project, stack)
    state = trials.job_states(work.export() if work.exists() else None)
    problems = [_elsewhere(unit, state[unit]) for unit in units if unit in state]
    if not problems:
        raise OperationError(Problem("no trial is submitted", where=stack, hint=f"`xmgen up {stack}` runs it"))
    raise OperationError(*problems)


def _elsewhere(unit: str, state: dict[str, Any]) -> Problem:
    outputs: dict[str, Any] = trials.visible(state.get("outputs") or {})
    name = str(outputs["name"])
    _, _, _, region, _, number = name.split("/")
    command = ["gcloud", "ai", "custom-jobs", "stream-logs", number, f"--region={region}"]
    return Problem(
        "its log is in Cloud Logging",
        where=unit,
        hint=f"`{shlex.join(command)}` prints it, {outputs.get('logUrl')} shows it",
    )
