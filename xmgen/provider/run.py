"""`xmgen:local:Run`: one work unit, run to its end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

from xmgen.errors import OperationError, Problem
from xmgen.provider import RUN_OUTPUTS as OUTPUTS
from xmgen.provider import runs
from xmgen.provider.journal import RunFolder
from xmgen.provider.resource import Difference, Request, State, differences
from xmgen.provider.runs import Runs, Task
from xmgen.provider.settings import Settings
from xmgen.provider.unit import Unit, fingerprint, parse
from xmgen.provider.wire import UNKNOWN, Properties, Value, has_unknown, masked, plain, secrets


class RunResource:
    """root: the project's folder."""

    def __init__(self, root: Path, settings: Settings, runs: Runs) -> None:
        self._root = root
        self._settings = settings
        self._runs = runs

    async def check(self, request: Request, news: Properties, olds: Properties | None) -> dict[str, Problem]:
        inputs = cast("Properties", plain(news))
        return {} if has_unknown(inputs) else parse(inputs)[1]

    async def diff(self, request: Request, news: Properties, olds: Properties, state: Properties) -> Difference:
        before, after = _without_place(olds), _without_place(news)
        rerun = before.get("name") != after.get("name") or fingerprint(before) != fingerprint(after)
        if not rerun and state.get("exitCode") == 0:
            # Only positional names moved: the engine takes the new inputs into its state, and there is nothing to do.
            return Difference()
        changes = differences(before, after)
        return Difference(changes=changes, replaces=frozenset(changes) if rerun else frozenset())

    async def create(self, request: Request, news: Properties) -> State:
        inputs = cast("Properties", plain(news))
        name = str(inputs["name"])
        if request.preview:
            return State(id=name, outputs=self._expected(request, inputs))
        unit, problems = parse(inputs)
        if unit is None:
            raise OperationError(*problems.values())
        return await self._run(request, news, unit)

    async def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> State | None:
        if state:
            # A finished run stays finished, whatever became of its container or its folder.
            return State(id=id, outputs=state, inputs=inputs)
        entry = RunFolder(self._root, request.urn.stack, id).entry()
        if entry is None or entry.state != "succeeded" or entry.outputs is None or entry.inputs is None:
            raise OperationError(
                Problem(f"no finished run {id} to import", hint="the id is the name of a folder in .xmgen/<stack>/runs")
            )
        return State(id=id, outputs=entry.outputs, inputs=entry.inputs)

    async def update(self, request: Request, id: str, news: Properties, olds: Properties, state: Properties) -> State:
        return await self.create(request, news)

    async def delete(self, request: Request, id: str, inputs: Properties, state: Properties) -> None:
        keep = self._settings.keep_outputs
        try:
            await asyncio.to_thread(runs.delete, self._root, request.urn.stack, id, keep_outputs=keep)
        except OperationError as error:
            # Not an error of the resource: the run is gone, only files are left. And when the deletion before a
            # replacement fails, an engine that goes on after errors never answers the program, and `up` never ends.
            await request.log.warning(str(error))

    def _expected(self, request: Request, inputs: Properties) -> Properties:
        """What a preview can say."""
        outputs: Properties = dict.fromkeys(OUTPUTS, UNKNOWN)
        unit = None if has_unknown(inputs) else parse(inputs)[0]
        if unit is not None:
            outputs |= runs.paths(RunFolder(self._root, request.urn.stack, unit.name), unit)
            outputs["runner"] = unit.runner
        return outputs

    async def _run(self, request: Request, news: Properties, unit: Unit) -> State:
        inputs = cast("Properties", plain(news))
        hidden = frozenset(secrets(news))
        task = Task(
            stack=request.urn.stack,
            unit=unit,
            fingerprint=fingerprint(inputs),
            inputs=None if hidden else inputs,
            hidden=hidden,
            timeout=request.timeout,
        )
        if unresolved := unit.unresolved():
            await request.log.warning(
                f"{', '.join(unresolved)} in args or env: processes have no names that resolve, as containers have; "
                "run the jobs in containers, or let them use localhost"
            )
        result = await self._runs.run(task, request.log)
        return State(
            id=unit.name, outputs=result.outputs, reasons=tuple(masked(reason, hidden) for reason in result.reasons)
        )


def _without_place(values: Properties) -> Properties:
    """The inputs without where they run: that is no change of a run."""
    inputs = cast("Properties", plain(values))
    jobs = inputs.get("jobs")
    if not isinstance(jobs, list):
        return inputs
    return {**inputs, "jobs": [_job_without_place(job) for job in jobs]}


def _job_without_place(job: Value) -> Value:
    if not isinstance(job, dict) or not isinstance(executable := job.get("executable"), dict):
        return job
    return {**job, "executable": {key: value for key, value in executable.items() if key != "runner"}}
