"""What commands have to ask Vertex AI for, because Pulumi does not know it."""

from __future__ import annotations

import json
from typing import Any

from xmgen.commands.again import Again
from xmgen.errors import OperationError
from xmgen.executors.vertex import live as custom_jobs
from xmgen.provider.settings import Settings, read
from xmgen.pulumi_cli import secret_texts, trials
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_cli.trials import Trial
from xmgen.stack.compiled import CompiledStack

_KEYS = ("gcp:credentials", "gcp:accessToken", "gcp:impersonateServiceAccount", "xmgen:vertexEndpoint")

_KIND = "CustomJob"


def units(work: Session, compiled: CompiledStack, export: str | None) -> tuple[list[Trial], OperationError | None]:
    """The units as they stand now; as Pulumi knew them last, with the reason, when Vertex AI cannot be asked."""
    try:
        # Without a stack nothing runs.
        return trials.custom_jobs(compiled, {} if export is None else _current(work, export)), None
    except OperationError as error:
        return trials.custom_jobs(compiled, trials.job_states(export)), error


def again(work: Session, compiled: CompiledStack) -> Again:
    """What an `up` runs again."""
    export = work.export()
    try:
        return Again(_KIND, custom_jobs.to_run_again(compiled, _current(work, export)))
    except OperationError as error:
        # The provider runs again those that Pulumi knows of, however that came.
        why = f"Which other jobs have failed cannot be known. {error}"
        return Again(_KIND, custom_jobs.to_run_again(compiled, trials.job_states(export)), why)


def finish(work: Session, compiled: CompiledStack, progress: Progress) -> None:
    """After an `up`: how all units stand. Pulumi has not looked at those that were there before, and tells of what it
    did not wait for that it is created; so they stay where Vertex AI cannot be asked.
    """
    if not progress.result:
        return
    for unit in units(work, compiled, work.export())[0]:
        known = progress.units[unit.name]
        # What the state does not have, or has from before, cannot have the reason why this `up` failed.
        refused = known.status == "failed" and known.reasons and unit.status != "failed"
        if unit.status != "waiting" and not refused:
            progress.units[unit.name] = unit


def settings(work: Session) -> Settings:
    """Those of the stack's provider: the credentials that its configuration names, and the address of the API."""
    config: dict[str, dict[str, Any]] = json.loads(
        work.pulumi.run("config", "--json", "--show-secrets", "--stack", work.stack)
    )
    given = {key.partition(":")[2]: config[key].get("value") for key in _KEYS if key in config}
    found, problems = read({key: value for key, value in given.items() if value})
    if problems:
        raise OperationError(*problems.values())
    return found


def _current(work: Session, export: str) -> dict[str, StateResource]:
    known = trials.job_states(export)
    return custom_jobs.current(work.stack, known, lambda: settings(work), lambda: secret_texts.of_stack(work, export))
