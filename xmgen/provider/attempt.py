"""One attempt to run a work unit: its jobs start together, are watched, and end together."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from xmgen.provider import containers, daemon
from xmgen.provider.journal import RunFolder
from xmgen.provider.output import JobOutput
from xmgen.provider.processes import CannotStart, Process, Watchdog, process_environment
from xmgen.provider.unit import Job, Unit
from xmgen.provider.watchdog import write_record

CANNOT_START = 127
"""Exit code of a job whose program cannot be started, as a shell has it."""

TIMED_OUT = 124
"""Exit code of a job that was stopped because its time was over, as `timeout` has it."""

_KILLED = 137

T = TypeVar("T")


class Log(Protocol):
    """Pulumi's log, for one resource. `status` is shown while it lasts and not kept."""

    async def info(self, text: str) -> None: ...
    async def warning(self, text: str) -> None: ...
    async def status(self, text: str) -> None: ...


class Running(Protocol):
    """A job on its way; `Process` and `Container` are. `start` raises CannotStart."""

    async def start(self) -> None: ...
    def output(self) -> AsyncIterator[bytes]: ...
    async def ended(self) -> int: ...
    async def stop(self) -> None: ...


async def undisturbed(work: Awaitable[T]) -> T:
    """Waits for the work to be done even when cancelled meanwhile: half of it would leave something behind."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """codes: exit codes in job order, without jobs that were stopped because the unit was decided.
    reasons: why it failed, if it did.
    """

    codes: dict[str, int]
    reasons: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Attempt:
    """gpus: ids of the unit's GPUs; None on a machine without GPU slots.
    hidden: secrets, not to be shown. timeout: seconds; None for as long as it takes.
    """

    root: Path
    stack: str
    unit: Unit
    folder: RunFolder
    log: Log
    watchdog: Watchdog
    gpus: tuple[str, ...] | None = None
    hidden: Collection[str] = ()
    timeout: float | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    _network: str = ""
    _supervisors: dict[asyncio.Task[int], Job] = field(default_factory=dict[asyncio.Task[int], Job])
    _running: dict[str, Running] = field(default_factory=dict[str, Running])
    _outputs: dict[str, JobOutput] = field(default_factory=dict[str, JobOutput])

    @property
    def has_containers(self) -> bool:
        return self.unit.runner != "process"

    @property
    def _labels(self) -> dict[str, str]:
        return {
            daemon.LABEL_STACK: self.stack,
            daemon.LABEL_RUN: self.unit.name,
            daemon.LABEL_ATTEMPT: self.id,
        }

    async def run(self, locks: Collection[int]) -> Outcome:
        """Runs the jobs; when it returns or raises, nothing of them is left.

        locks: open files that are held until then, even if the provider is killed.
        """
        await undisturbed(self.watchdog.begin(self.id, list(locks), containers=self.has_containers))
        try:
            if self.has_containers:
                network = asyncio.to_thread(containers.create_network, self.id, self._labels)
                self._network = await undisturbed(network)
            return await self._run_jobs()
        finally:
            await undisturbed(self._clean_up())

    async def _clean_up(self) -> None:
        try:
            if self.has_containers:
                await asyncio.to_thread(containers.remove_all, f"{daemon.LABEL_ATTEMPT}={self.id}")
        finally:
            await self.watchdog.end(self.id)

    async def _run_jobs(self) -> Outcome:
        reasons: list[str] = []
        codes: dict[str, int] = {}
        job = self.unit.jobs[0]
        try:
            for index, job in enumerate(self.unit.jobs):
                await undisturbed(self._start(index, job))
            async with asyncio.timeout(self.timeout):
                codes = await self._until_decided()
            reasons += [self._reason(job, codes[job.name]) for job in self.unit.jobs if codes.get(job.name)]
        except CannotStart as error:
            codes[job.name] = CANNOT_START
            reasons.append(f"job {job.name} cannot be started: {error}")
        except TimeoutError:
            codes = {job.name: TIMED_OUT for job in self.unit.jobs if not job.service}
            reasons.append(f"stopped after its timeout of {self.timeout:g} seconds")
        finally:
            await undisturbed(self._stop())
        in_order = {job.name: codes[job.name] for job in self.unit.jobs if job.name in codes}
        return Outcome(codes=in_order, reasons=tuple(reasons))

    async def _start(self, index: int, job: Job) -> None:
        running = self._job(index, job)
        await running.start()
        self._running[job.name] = running
        self._supervisors[asyncio.create_task(self._supervise(job, running))] = job

    async def _supervise(self, job: Job, running: Running) -> int:
        await self._outputs[job.name].consume(running.output())
        return await running.ended()

    async def _until_decided(self) -> dict[str, int]:
        """The exit codes once a job has failed, or all that are no services have ended."""
        codes: dict[str, int] = {}
        pending = set(self._supervisors)
        while any(not self._supervisors[task].service for task in pending):
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            codes |= {self._supervisors[task].name: task.result() for task in done}
            if any(codes.values()):
                break
        return codes

    async def _stop(self) -> None:
        """Stops what still runs, and waits for it."""
        await asyncio.gather(
            *(self._running[job.name].stop() for task, job in self._supervisors.items() if not task.done())
        )
        await asyncio.gather(*self._supervisors, return_exceptions=True)

    def _job(self, index: int, job: Job) -> Running:
        """The job as process or container, with its output folder made."""
        output = self.folder.output_of(job.name, self.unit)
        output.mkdir(exist_ok=True)
        record = self.folder.exit_record(job.name)
        gpus = self._gpus_of(index)
        self._outputs[job.name] = JobOutput(
            self.folder.log(job.name),
            prefix=f"{job.name}: " if len(self.unit.jobs) > 1 else "",
            tell=self.log.info if job.stream_output else None,
            hidden=self.hidden,
        )
        if job.executable.runner == "container":
            place = containers.Place(
                root=self.root,
                labels=self._labels,
                name=f"{self.unit.name}-{job.name}-{self.id[:8]}",
                network=self._network,
                output=output,
            )
            return containers.Container(job, place, gpus or (), lambda code: write_record(record, code))
        return Process(
            self.watchdog,
            f"{self.id}/{index}/",
            job,
            root=self.root,
            environment=process_environment(job, output, gpus),
            record=record,
        )

    def _gpus_of(self, index: int) -> tuple[str, ...] | None:
        """The job's share of the unit's GPUs."""
        if self.gpus is None:
            return None
        first = sum(job.gpus for job in self.unit.jobs[:index])
        return self.gpus[first : first + self.unit.jobs[index].gpus]

    def _reason(self, job: Job, code: int) -> str:
        how = f"job {job.name} ended with exit code {code}"
        if code > 128:
            how += f" (signal {code - 128}{', possibly for want of memory' if code == _KILLED else ''})"
        lines = self._outputs[job.name].last_lines()
        log = self.folder.relative(self.folder.log(job.name))
        return "\n".join([f"{how}; log: {log}", *(f"  {line}" for line in lines)])
