"""How the CustomJobs of a stack stand, from Vertex AI itself: nothing of it gets into the stack's state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from xmgen import extras, names
from xmgen.errors import OperationError, Problem
from xmgen.executors.vertex.custom_jobs import STACK_LABEL
from xmgen.provider.custom_job import outputs_of, place_of
from xmgen.provider.custom_job_api import Job, JobService
from xmgen.provider.custom_job_states import ENDED, ENDS, FAILED, LOST, word
from xmgen.provider.settings import Settings
from xmgen.pulumi_cli import trials
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_cli.trials import Trial
from xmgen.stack.compiled import CompiledStack

ATTEMPTS = 3
"""Requests until Vertex AI counts as out of reach: somebody waits for the answer."""


def current(
    stack: str,
    known: Mapping[str, StateResource],
    settings: Callable[[], Settings],
    hidden: Callable[[], Collection[str]],
) -> dict[str, StateResource]:
    """The CustomJobs of a stack's state as a refresh would find them now. known: by logical name.

    One that had ended when it was last seen is as it was, whether Vertex AI still knows it or not.
    settings: where credentials are, asked for when a job goes on.
    hidden: the texts that are secret, which a job may print before it fails.
    Raises OperationError when Vertex AI does not say.
    """
    going = {name: each for name, each in known.items() if each.outputs.get("state") not in ENDED}
    if not going:
        return dict(known)
    try:
        found = asyncio.run(_read(stack, [each.id for each in going.values()], settings()))
    except ImportError as error:
        message = f"{error.name} is not installed, which Vertex AI takes"
        raise OperationError(Problem(message, hint=extras.install("gcp"))) from None
    secrets = frozenset(hidden() if any(job and job.get("error") for job in found.values()) else ())
    return {**known, **{name: _seen(stack, each, found[each.id], secrets) for name, each in going.items()}}


def units(stack: CompiledStack, jobs: Mapping[str, StateResource]) -> list[Trial]:
    """The units of an experiment on Vertex AI. jobs: its CustomJobs, by logical name, as they stand."""
    return [_unit(name, varying, jobs.get(name)) for name, varying in trials.rows(stack)]


def _unit(name: str, varying: Mapping[str, str], state: StateResource | None) -> Trial:
    """What a job wrote is where it wrote it: nothing is read from there."""
    status = trials.job_status(state)
    if state is None:
        return Trial(name=name, arguments=varying, status=status)
    outputs: dict[str, Any] = trials.visible(state.outputs)
    inputs: dict[str, Any] = trials.visible(state.inputs)
    reasons = state.errors
    if status == "failed" and not reasons:
        # Nobody waited for it.
        said = [outputs.get("error") or "failed", outputs.get("consoleUrl"), f"logs: {outputs.get('logUrl')}"]
        reasons = ("\n  ".join(str(line) for line in said if line),)
    spec: dict[str, Any] = inputs.get("jobSpec") or {}
    folder: dict[str, Any] = spec.get("baseOutputDirectory") or {}
    return Trial(
        name=name,
        arguments=varying,
        status=status,
        duration=_seconds(outputs.get("startTime"), outputs.get("endTime")),
        output=str(folder.get("outputUriPrefix") or ""),
        reasons=reasons,
    )


def _seconds(start: object, end: object) -> float | None:
    """Between two times as RFC 3339 has them; None when one is not there yet."""
    if not start or not end:
        return None
    return (datetime.fromisoformat(str(end)) - datetime.fromisoformat(str(start))).total_seconds()


def to_run_again(compiled: CompiledStack, jobs: Mapping[str, StateResource]) -> dict[str, str]:
    """The URNs of the stack's CustomJobs that the next `up` runs again, and why. jobs: as they stand."""
    there = [jobs[unit.name] for unit in compiled.units if unit.name in jobs]
    return {
        # What has been deleted for one in its place is made anyway.
        job.urn: ENDS[str(job.outputs["state"])].runs_again
        for job in there
        if job.outputs.get("state") in FAILED and not job.pending_replacement
    }


async def _read(stack: str, ids: Collection[str], settings: Settings) -> dict[str, Job | None]:
    """Each job; None for one that is not there. One list of each region has all that xmgen has submitted."""
    service = JobService(settings, ATTEMPTS)
    places = {place_of({}, id) for id in ids}
    lists = await asyncio.gather(*(service.labelled(each, STACK_LABEL, names.gcp_label(stack)) for each in places))
    # The API names the project by its number, an import as somebody wrote it.
    listed = {_within_project(str(job["name"])): job for jobs in lists for job in jobs}
    found: dict[str, Job | None] = {id: listed.get(_within_project(id)) for id in ids}
    missing = [id for id, job in found.items() if job is None]
    return found | dict(zip(missing, await asyncio.gather(*map(service.get, missing)), strict=True))


def _within_project(name: str) -> str:
    return name.split("/", 2)[2]


def _seen(stack: str, state: StateResource, job: Job | None, hidden: frozenset[str]) -> StateResource:
    before = state.outputs.get("state")
    if job is not None:
        outputs = outputs_of(job, place_of(trials.visible(state.inputs), state.id), hidden)
        # Errors are about the state that it was in.
        return replace(state, outputs=outputs, errors=state.errors if outputs["state"] == before else ())
    if before == LOST:
        return state
    why = f"lost: it was {word(before)} when last seen, and Vertex AI no longer knows it"
    return replace(
        state, outputs={**state.outputs, "state": LOST}, errors=(f"{why}; `xmgen up {stack}` submits it again",)
    )
