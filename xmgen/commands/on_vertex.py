"""What commands have to ask Vertex AI for, because Pulumi does not know it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from xmgen import pulumi_values
from xmgen.engine import custom_jobs, trials
from xmgen.engine.events import Progress
from xmgen.engine.session import Session
from xmgen.engine.state import StateResource
from xmgen.engine.trials import Trial
from xmgen.errors import OperationError
from xmgen.plan import Plan
from xmgen.provider import wire
from xmgen.provider.settings import Settings, read

_KEYS = ("gcp:credentials", "gcp:accessToken", "gcp:impersonateServiceAccount", "xmgen:vertexEndpoint")


def units(work: Session, plan: Plan, export: str | None) -> tuple[list[Trial], OperationError | None]:
    """The units as they stand now; as Pulumi knew them last, with the reason, when Vertex AI cannot be asked."""
    known = trials.job_states(export)
    try:
        return trials.custom_jobs(plan, _current(work, known)), None
    except OperationError as error:
        return trials.custom_jobs(plan, known), error


@dataclass(frozen=True, slots=True)
class Again:
    """CustomJobs that an `up` runs again, though for Pulumi they are as good as those that run. reasons: URN -> why.
    unknown: why they cannot be known, in a sentence.
    """

    reasons: Mapping[str, str]
    unknown: str = ""

    def arguments(self) -> list[str]:
        """For Pulumi."""
        return [argument for urn in self.reasons for argument in ("--replace", urn)]

    def said(self) -> list[str]:
        """What is found, in sentences."""
        unknown = [self.unknown] if self.unknown else []
        if not self.reasons:
            return unknown
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(Counter(self.reasons.values()).items()))
        return [
            *unknown,
            f"{len(self.reasons)} CustomJob{'' if len(self.reasons) == 1 else 's'} will run again: {why}.",
        ]


def again(work: Session, plan: Plan) -> Again:
    """What an `up` runs again."""
    known = trials.job_states(work.export())
    try:
        return Again(custom_jobs.to_run_again(plan, _current(work, known)))
    except OperationError as error:
        # The provider runs again those that Pulumi knows of, however that came.
        why = f"Which other jobs have failed cannot be known. {error}"
        return Again(custom_jobs.to_run_again(plan, known), why)


def finish(work: Session, plan: Plan, progress: Progress) -> None:
    """After an `up`: how all units stand. Pulumi has not looked at those that were there before, and tells of what it
    did not wait for that it is created; so they stay where Vertex AI cannot be asked.
    """
    if not progress.result:
        return
    for unit in units(work, plan, work.export())[0]:
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


def _current(work: Session, known: dict[str, StateResource]) -> dict[str, StateResource]:
    return custom_jobs.current(work.stack, known, lambda: settings(work), lambda: set(_secrets(work)))


def _secrets(work: Session) -> Iterator[str]:
    """The texts that are secret in the CustomJobs of the stack."""
    export = work.pulumi.run("stack", "export", "--show-secrets", "--stack", work.stack)
    for job in trials.job_states(export).values():
        yield from _plain(job.inputs)


def _plain(value: Any) -> Iterator[str]:
    """The secret texts in a value of the state, which has each as JSON."""
    match value:
        case {pulumi_values.SIGNATURE: pulumi_values.SECRET, "plaintext": str(content)}:
            yield from wire.secrets(json.loads(content), inside=True)
        case dict():
            for item in cast(dict[str, Any], value).values():
                yield from _plain(item)
        case list():
            for item in cast(list[Any], value):
                yield from _plain(item)
        case _:
            pass
