"""Runs work units on this machine: from the queue to the result on disk, once, whoever is killed in between."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from xmgen.errors import OperationError, Problem
from xmgen.provider import containers, daemon, faults, metrics, watchdog
from xmgen.provider.attempt import Attempt, Log, Outcome, undisturbed
from xmgen.provider.images import Images, check_code
from xmgen.provider.journal import Entry, RunFolder
from xmgen.provider.processes import Watchdog
from xmgen.provider.scheduler import Need, Scheduler, Slots, gpu_slots, need, runtime_folder
from xmgen.provider.settings import Settings
from xmgen.provider.unit import Unit
from xmgen.provider.wire import Properties, Value

_LOCK_POLL_SECONDS = 0.1
_LOCK_PATIENCE_SECONDS = 30.0
"""How long to wait for the watchdog of a provider that was killed to finish its work in the same run folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One request to run a unit. inputs: as they came, for `pulumi import`; None when they hold secrets.
    hidden: the secrets among them. timeout: seconds; None for as long as it takes.
    """

    stack: str
    unit: Unit
    fingerprint: str
    inputs: Properties | None
    hidden: Collection[str] = ()
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """reasons: why it failed; empty for a success."""

    outputs: Properties
    reasons: tuple[str, ...] = ()


class Runs:
    """root: the project's folder."""

    def __init__(self, root: Path, settings: Settings, images: Images) -> None:
        self._root = root
        self._images = images
        self._settings = settings
        self._watchdog = Watchdog()
        self._scheduler: Scheduler | None = None
        self._preparing = asyncio.Lock()

    async def run(self, task: Task, log: Log) -> Result:
        """Runs the unit to its end, unless it is found to have succeeded already. Cancelled, it leaves nothing behind.

        Raises OperationError when it could not be begun.
        """
        folder = RunFolder(self._root, task.stack, task.unit.name)
        async with _locked(folder, log):
            if (finished := await self._take_over(task, folder)) is not None:
                await log.info(f"taken over: the attempt of {finished.started_at} had succeeded")
                return Result(outputs=finished.outputs or {})
        scheduler = await self._prepared()
        needed = need(task.unit, scheduler.cpus, len(scheduler.gpus))
        await self._ensure_images(task, log)
        if scheduler.must_wait(needed):
            await log.status(f"waiting for {_described(needed)}")
        async with scheduler.admitted(needed) as slots, _locked(folder, log) as lock:
            # The command line tells by this word a trial that runs from one that still waits.
            await log.status("running")
            return await self._attempt(task, folder, log, slots, lock)

    async def _take_over(self, task: Task, folder: RunFolder) -> Entry | None:
        """The success that a killed provider could not report any more. What else it left behind is cleared."""
        entry = folder.entry()
        if entry is None:
            return None
        if entry.state == "running":
            await undisturbed(asyncio.to_thread(clear, entry))
            codes = folder.exit_codes(entry)
            if entry.fingerprint == task.fingerprint and codes.keys() == set(entry.jobs) and not any(codes.values()):
                measured, _ = _metrics(folder, task.unit)
                seconds = folder.last_exit(entry) - datetime.fromisoformat(entry.started_at).timestamp()
                outputs = _outputs(folder, task.unit, entry, codes, seconds, measured)
                entry = replace(entry, state="succeeded", outputs=outputs)
                folder.write(entry)
        return entry if entry.state == "succeeded" and entry.fingerprint == task.fingerprint else None

    async def _prepared(self) -> Scheduler:
        async with self._preparing:
            if self._scheduler is None:
                gpus = await asyncio.to_thread(gpu_slots, self._settings.gpus)
                self._scheduler = Scheduler(self._settings.cpu_slots, gpus, runtime_folder())
            return self._scheduler

    async def _ensure_images(self, task: Task, log: Log) -> None:
        for packaged in dict.fromkeys(job.executable for job in task.unit.jobs):
            if packaged.runner == "container":
                await self._images.ensure(packaged, task.stack, log)

    async def _attempt(self, task: Task, folder: RunFolder, log: Log, slots: Slots, lock: int) -> Result:
        for packaged in dict.fromkeys(job.executable for job in task.unit.jobs):
            if packaged.runner == "process":
                await asyncio.to_thread(check_code, self._root, packaged, task.stack)
        attempt = Attempt(
            root=self._root,
            stack=task.stack,
            unit=task.unit,
            folder=folder,
            log=log,
            watchdog=self._watchdog,
            gpus=slots.gpus if self._scheduler and self._scheduler.gpus else None,
            hidden=task.hidden,
            timeout=task.timeout,
        )
        entry = Entry(
            attempt=attempt.id,
            fingerprint=task.fingerprint,
            state="running",
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            runner=task.unit.runner,
            jobs=tuple(job.name for job in task.unit.jobs if not job.service),
            inputs=task.inputs,
        )
        started = time.monotonic()
        folder.begin(entry)
        faults.at("before_start")
        try:
            outcome = await attempt.run([lock, *slots.locks])
        except asyncio.CancelledError:
            # A job may have removed its folder; then nothing says that it ran.
            with contextlib.suppress(OSError):
                folder.write(replace(entry, state="stopped"))
            raise
        return await self._finish(attempt, entry, outcome, time.monotonic() - started)

    async def _finish(self, attempt: Attempt, entry: Entry, outcome: Outcome, seconds: float) -> Result:
        measured, problems = await asyncio.to_thread(_metrics, attempt.folder, attempt.unit)
        outputs = _outputs(attempt.folder, attempt.unit, entry, outcome.codes, seconds, measured)
        state = "failed" if outcome.reasons else "succeeded"
        attempt.folder.write(replace(entry, state=state, outputs=outputs))
        faults.at("after_end")
        for problem in problems:
            await attempt.log.warning(problem)
        return Result(outputs=outputs, reasons=outcome.reasons)


@contextlib.asynccontextmanager
async def _locked(folder: RunFolder, log: Log) -> AsyncGenerator[int]:
    """The open file of the folder's lock. Raises OperationError when somebody else keeps working there."""
    patience = time.monotonic() + _LOCK_PATIENCE_SECONDS
    told = False
    while True:
        try:
            lock = folder.lock()
            break
        except BlockingIOError:
            if time.monotonic() > patience:
                raise OperationError(
                    Problem("is being run by another process", where=folder.relative(folder.path))
                ) from None
        if not told:
            await log.status("waiting for an earlier attempt to be cleared")
            told = True
        await asyncio.sleep(_LOCK_POLL_SECONDS)
    try:
        yield lock
    finally:
        os.close(lock)


def clear(entry: Entry) -> None:
    """Ends what a half-run attempt left behind. Its watchdog has done so, unless it was killed too. Blocks."""
    watchdog.kill_job(f"{entry.attempt}/")
    if entry.runner != "process" and not daemon.unreachable():
        containers.remove_all(f"{daemon.LABEL_ATTEMPT}={entry.attempt}")


def delete(root: Path, stack: str, name: str, *, keep_outputs: bool) -> None:
    """Ends what still runs of the unit and removes its journal and logs; the outputs only when they are not to be kept.

    What is gone already is no error. Raises OperationError when outputs cannot be removed. Blocks.
    """
    folder = RunFolder(root, stack, name)
    entry = folder.entry()
    if entry is not None and entry.state == "running":
        clear(entry)
    try:
        folder.remove(keep_outputs=keep_outputs)
    except OSError as error:
        # A container's user, often root, may own what it wrote.
        raise OperationError(Problem(f"cannot be removed: {error.strerror}", where=str(error.filename))) from None


def _metrics(folder: RunFolder, unit: Unit) -> tuple[Properties, list[str]]:
    return metrics.collect([folder.output_of(job.name, unit) for job in unit.jobs])


def _outputs(
    folder: RunFolder, unit: Unit, entry: Entry, codes: Mapping[str, int], seconds: float, measured: Properties
) -> Properties:
    return {
        "attempt": entry.attempt,
        "exitCode": next((code for code in codes.values() if code), 0),
        "exitCodes": dict[str, Value](codes),
        **paths(folder, unit),
        "startedAt": entry.started_at,
        "durationSeconds": round(seconds, 3),
        "metrics": measured,
        "runner": entry.runner,
    }


def paths(folder: RunFolder, unit: Unit) -> Properties:
    """Where log and outputs will be: the only job's log, or the folder of all logs."""
    jobs = unit.jobs
    return {
        "logPath": folder.relative(folder.log(jobs[0].name) if len(jobs) == 1 else folder.path),
        "outputPath": folder.relative(folder.output),
    }


def _described(needed: Need) -> str:
    cpus = f"{needed.cpus:g} CPU{'s' * (needed.cpus != 1)}"
    return cpus if not needed.gpus else f"{cpus} and {needed.gpus} GPU{'s' * (needed.gpus != 1)}"
