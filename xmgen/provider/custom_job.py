"""`xmgen:vertex:CustomJob`: one work unit on Vertex AI.

A CustomJob has neither an update nor a name of our choosing: every change replaces it, and what says that a job is ours
is a label, see `custom_job_api`.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterator
from typing import cast

from xmgen import locations
from xmgen.errors import OperationError, Problem, XmgenError, did_you_mean
from xmgen.provider import CUSTOM_JOB_OUTPUTS as OUTPUTS
from xmgen.provider import custom_job_meaning, custom_job_rules, custom_job_shape, faults
from xmgen.provider.custom_job_api import Job, JobService, Place, submission
from xmgen.provider.custom_job_meaning import BODY, body_of
from xmgen.provider.custom_job_states import CANCELLING, ENDED, FAILED, LOST, SUCCEEDED, word
from xmgen.provider.resource import Difference, Request, State, differences
from xmgen.provider.settings import Settings
from xmgen.provider.wire import UNKNOWN, Properties, masked, plain, secrets

INPUTS = (*BODY, "project", "region", "wait", "after")

_REFUSALS = 3
"""After so many, when none was accepted, the job has not just ended: it cannot be cancelled."""

_PLACES = {"project": r"[a-z0-9][a-z0-9.:-]*", "region": locations.REGION}
_NAME = re.compile(rf"projects/{_PLACES['project']}/locations/{_PLACES['region']}/customJobs/[\w-]+", re.ASCII)
"""Strict, because the region is part of the host that access tokens are sent to."""


class CustomJobResource:
    """Nothing is asked of Google Cloud before a job is to be created, read or deleted."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._service = JobService(settings)

    async def check(self, request: Request, news: Properties, olds: Properties | None) -> dict[str, Problem]:
        inputs = cast("Properties", plain(news))
        problems = {
            key: Problem(f"unknown field {key!r}", hint=did_you_mean(key, INPUTS))
            for key in inputs
            if key not in INPUTS
        }
        for key, pattern in _PLACES.items():
            value = inputs.get(key)
            if not isinstance(value, str) or not value:
                stack = request.urn.stack
                hint = f"`xmgen up {stack} --set gcp:{key}=…`, or `pulumi config set gcp:{key} … --stack {stack}`"
                problems[key] = Problem("is missing", hint=hint)
            elif UNKNOWN not in value and not re.fullmatch(pattern, value):
                problems[key] = Problem(f"{value!r} is no {key} of Google Cloud")
        if inputs.get("wait") not in (None, True, False, UNKNOWN):
            problems["wait"] = Problem("must be true or false")
        if not isinstance(inputs.get("after") or {}, dict | str):
            problems["after"] = Problem("must be a mapping of resources' names to jobs' names")
        problems |= custom_job_shape.malformed(body_of(inputs))
        if not problems:
            problems = custom_job_rules.broken(body_of(inputs), str(inputs["region"]))
        hidden = tuple(secrets(news))
        return {
            path: Problem(masked(problem.message, hidden), problem.where, masked(problem.hint, hidden))
            for path, problem in problems.items()
        }

    async def diff(self, request: Request, news: Properties, olds: Properties, state: Properties) -> Difference:
        before, after = custom_job_meaning.meaning(olds), custom_job_meaning.meaning(news)
        changes = differences(before, after)
        replaces = frozenset(path for path in changes if path != "wait")
        if not replaces and state.get("state") in FAILED:
            return Difference(changes={"state": "update"}, replaces=frozenset({"state"}), of_outputs=True)
        return Difference(changes=changes, replaces=replaces)

    async def create(self, request: Request, news: Properties) -> State:
        if request.preview:
            return State(id="", outputs=dict.fromkeys(OUTPUTS, UNKNOWN))
        inputs = cast("Properties", plain(news))
        body, place = body_of(inputs), Place(str(inputs["project"]), str(inputs["region"]))
        label = submission(request.urn.text, place, body)
        job, stopped = await self._service.submit(place, body, label)
        faults.at("submitted")
        state = State(id=str(job["name"]), outputs=outputs_of(job, place, frozenset(secrets(news))))
        if stopped:
            return _still_running(state, "Pulumi was stopped") if inputs.get("wait") else state
        if not inputs.get("wait"):
            return state
        await request.log.info(f"{word(state.outputs['state'])}: {state.outputs['consoleUrl']}")
        return await self._followed(request, news, state, place)

    async def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> State | None:
        matched = _NAME.fullmatch(id)
        if matched is None:
            raise OperationError(
                Problem(f"{id!r} is no CustomJob", hint="projects/<project>/locations/<region>/customJobs/<number>")
            )
        job = await self._service.get(id)
        imported = not state
        if job is not None:
            found = custom_job_meaning.imported(id, job) if imported else inputs
            return State(id=id, outputs=outputs_of(job, place_of(found, id), frozenset(secrets(inputs))), inputs=found)
        if imported:
            return None
        if state.get("state") in ENDED:
            # The record may go; what it says does not change any more.
            return State(id=id, outputs=state, inputs=inputs)
        await request.log.warning(
            f"lost: it was {word(state.get('state'))} when last seen, and Vertex AI no longer knows it. "
            "The next `pulumi up` submits it again"
        )
        return None

    async def update(self, request: Request, id: str, news: Properties, olds: Properties, state: Properties) -> State:
        """Nothing of a job can be changed; here the wait for it goes on, or begins."""
        if request.preview:
            return State(id=id, outputs=state)
        known = State(id=id, outputs=state)
        place = place_of(cast("Properties", plain(news)), id)
        if not news.get("wait"):
            job = await self._service.get(id)
            return State(id=id, outputs=outputs_of(job, place, frozenset(secrets(news)))) if job else known
        return await self._followed(request, news, known, place)

    async def delete(self, request: Request, id: str, inputs: Properties, state: Properties) -> None:
        try:
            await asyncio.wait_for(self._removed(request, id), request.timeout)
        except TimeoutError:
            message = f"{request.timeout:g} s are over, and the job is not deleted yet"
            raise OperationError(Problem(message, hint="`pulumi destroy` goes on from here")) from None

    async def _removed(self, request: Request, id: str) -> None:
        """Cancels a job that runs, and deletes it when it has ended."""
        refusals = 0.0
        pauses = self._pauses()
        job = await self._service.get(id)
        while job is not None and job.get("state") not in ENDED:
            if job.get("state") != CANCELLING:
                await request.log.status("cancelling")
                refusal = await self._service.cancel(id)
                refusals = refusals + 1 if refusal else -math.inf
                if refusal and refusals == _REFUSALS:
                    raise refusal
            await asyncio.sleep(next(pauses))
            job = await self._service.get(id)
        if job is None:
            return
        operation = await self._service.delete(id)
        while operation is not None and not operation.get("done") and operation.get("name"):
            await asyncio.sleep(next(pauses))
            operation = await self._service.get(str(operation["name"]))
        if operation is not None and operation.get("error"):
            message = operation["error"].get("message")
            raise OperationError(Problem(f"Vertex AI cannot delete the job: {message}"))

    async def _followed(self, request: Request, news: Properties, state: State, place: Place) -> State:
        """The state at the job's end. However the wait for it ends, the job is in the state, and runs on."""
        seen: list[State] = [state]
        hidden = frozenset(secrets(news))

        async def follow() -> None:
            while True:
                job = await self._service.get(state.id)
                if job is None:
                    seen.append(State(id=state.id, outputs={**seen[-1].outputs, "state": LOST}))
                    return
                outputs = outputs_of(job, place, hidden)
                if outputs["state"] != seen[-1].outputs.get("state"):
                    await request.log.info(word(outputs["state"]))
                seen.append(State(id=state.id, outputs=outputs))
                if outputs["state"] in ENDED:
                    return
                await request.log.status(word(outputs["state"]))
                await asyncio.sleep(self._settings.vertex_poll_seconds)

        known = state.outputs.get("state")
        if known not in ENDED:
            try:
                await asyncio.wait_for(follow(), request.timeout)
            except TimeoutError:
                return _still_running(seen[-1], f"{request.timeout:g} s are over")
            except asyncio.CancelledError:
                return _still_running(seen[-1], "Pulumi was stopped")
            except XmgenError as error:
                problem = error.problems[0]
                return _still_running(seen[-1], problem.message, problem.hint)
        return _judged(seen[-1])

    def _pauses(self) -> Iterator[float]:
        """Seconds between looks at what is soon over, most of the time."""
        pause = min(1.0, self._settings.vertex_poll_seconds)
        while True:
            yield pause
            pause = min(2 * pause, self._settings.vertex_poll_seconds)


def place_of(inputs: Properties, name: str) -> Place:
    _, project, _, region, *_ = name.split("/")
    return Place(str(inputs.get("project") or project), str(inputs.get("region") or region))


def outputs_of(job: Job, place: Place, hidden: frozenset[str]) -> Properties:
    """What a stack's state has of a job. hidden: secrets, which a job may print before it fails."""
    error = cast("Properties", job.get("error") or {})
    shells = cast("Properties", job.get("webAccessUris") or {})
    number = str(job["name"]).rpartition("/")[2]
    console = "https://console.cloud.google.com"
    return {
        "name": str(job["name"]),
        "state": str(job.get("state", "JOB_STATE_UNSPECIFIED")),
        "createTime": str(job.get("createTime", "")),
        "startTime": str(job.get("startTime", "")),
        "endTime": str(job.get("endTime", "")),
        "error": masked(str(error.get("message", "")), hidden),
        "consoleUrl": f"{console}/vertex-ai/locations/{place.region}/training/{number}?project={place.project}",
        "logUrl": f"{console}/logs/query;query=resource.labels.job_id%3D%22{number}%22?project={place.project}",
        "webAccessUris": shells,
    }


def _judged(state: State) -> State:
    """With the reasons why it failed, if it did."""
    outputs = state.outputs
    if outputs["state"] == SUCCEEDED:
        return state
    if outputs["state"] == LOST:
        reason = "lost: it ran when last seen, and Vertex AI no longer knows it"
    else:
        reason = word(outputs["state"])
        if outputs["error"]:
            reason = f"{reason}: {outputs['error']}"
    reasons = (f"{reason}\n  {outputs['consoleUrl']}\n  logs: {outputs['logUrl']}",)
    return State(id=state.id, outputs=outputs, reasons=reasons)


def _still_running(state: State, why: str, hint: str = "") -> State:
    reason = f"not waited for to the end: {why}. The job goes on, and the next `pulumi up` waits for it"
    lines = filter(None, (reason, hint, str(state.outputs["consoleUrl"])))
    return State(id=state.id, outputs=state.outputs, reasons=("\n  ".join(lines),))
