"""Hands out CPUs and GPU slots to work units, first come, first served."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import stat
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xmgen.errors import OperationError, Problem
from xmgen.provider.unit import Unit

_FOREIGN_SLOT_POLL_SECONDS = 1.0
"""How often to try for a GPU that another provider holds: a file lock cannot be awaited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    cpus: float
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """What a unit was given. gpus: ids as in CUDA_VISIBLE_DEVICES. locks: open files whose locks reserve the GPUs
    among all providers of this user; whoever keeps them open keeps the GPUs.
    """

    gpus: tuple[str, ...]
    locks: tuple[int, ...]


@dataclass(slots=True, eq=False)
class _Waiting:
    need: Need
    slots: asyncio.Future[Slots]


def need(unit: Unit, cpus: float, gpus: int) -> Need:
    """What the unit takes, of a machine with so many CPUs and GPU slots.

    A job that does not say takes one CPU, as far as there are any. Raises OperationError when it asks for more than
    the machine has.
    """
    asked = sum(job.cpu for job in unit.jobs if job.cpu is not None)
    unsaid = sum(1 for job in unit.jobs if job.cpu is None)
    asked_gpus = sum(job.gpus for job in unit.jobs)
    problems: list[Problem] = []
    if asked > cpus:
        problems.append(_too_much(unit, f"{asked:g} CPU", f"{cpus:g}", "cpus"))
    if asked_gpus > gpus:
        problems.append(_too_much(unit, f"{asked_gpus} GPU", str(gpus), "gpus"))
    if problems:
        raise OperationError(*problems)
    return Need(cpus=min(asked + unsaid, cpus), gpus=asked_gpus)


def _too_much(unit: Unit, asked: str, has: str, key: str) -> Problem:
    return Problem(
        f"asks for {asked}{'' if asked.startswith('1 ') else 's'}, this machine has {has}",
        where=f"work unit {unit.name}",
        hint=f"ask for less, or say how many there are: `--set xmgen:{key}=NUMBER`",
    )


class Scheduler:
    """cpus: how many to hand out. gpus: ids of the GPU slots. runtime: folder of the GPU locks, shared by all
    providers of this user.
    """

    def __init__(self, cpus: float, gpus: Sequence[str], runtime: Path) -> None:
        self.cpus = cpus
        self.gpus = tuple(gpus)
        self._runtime = runtime
        self._free_cpus = cpus
        self._free_gpus = list(gpus)
        self._queue: list[_Waiting] = []
        self._poll: asyncio.TimerHandle | None = None

    def must_wait(self, need: Need) -> bool:
        """Whether a unit that comes now will probably wait; GPUs that other providers hold are not looked at."""
        return bool(self._queue) or need.cpus > self._free_cpus + 1e-9 or need.gpus > len(self._free_gpus)

    @contextlib.asynccontextmanager
    async def admitted(self, need: Need) -> AsyncGenerator[Slots]:
        """Waits for all of it at once, and gives it back in the end."""
        waiting = _Waiting(need, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._serve()
        try:
            slots = await waiting.slots
            yield slots
        finally:
            self._leave(waiting)

    def _leave(self, waiting: _Waiting) -> None:
        if waiting in self._queue:
            self._queue.remove(waiting)
        elif not waiting.slots.cancelled():
            slots = waiting.slots.result()
            self._free_cpus += waiting.need.cpus
            self._free_gpus = [gpu for gpu in self.gpus if gpu in {*self._free_gpus, *slots.gpus}]
            for lock in slots.locks:
                os.close(lock)
        self._serve()

    def _serve(self) -> None:
        """Admits whom it can, in order. For whoever must wait, what is free of what it needs is kept, so that nobody
        who came later delays it; what it does not need may go to others meanwhile.
        """
        cpus, gpus = self._free_cpus, len(self._free_gpus)
        for waiting in list(self._queue):
            need = waiting.need
            # Sums of fractions such as 0.1 are not exact.
            if need.cpus <= cpus + 1e-9 and need.gpus <= gpus and (locks := self._lock_gpus(need.gpus)) is not None:
                self._admit(waiting, locks)
            cpus, gpus = max(0.0, cpus - need.cpus), max(0, gpus - need.gpus)

    def _admit(self, waiting: _Waiting, locks: dict[str, int]) -> None:
        self._queue.remove(waiting)
        if waiting.slots.cancelled():
            for lock in locks.values():
                os.close(lock)
            return
        self._free_cpus -= waiting.need.cpus
        self._free_gpus = [gpu for gpu in self._free_gpus if gpu not in locks]
        waiting.slots.set_result(Slots(gpus=tuple(locks), locks=tuple(locks.values())))

    def _lock_gpus(self, count: int) -> dict[str, int] | None:
        """Open, locked files of `count` GPUs, or None when other providers hold too many.

        All or none: providers that each kept a part would wait for each other for ever.
        """
        locks: dict[str, int] = {}
        for gpu in self._free_gpus:
            if len(locks) == count:
                break
            file = os.open(self._runtime / f"gpu-{gpu.replace('/', '-')}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
            else:
                locks[gpu] = file
        if len(locks) == count:
            return locks
        for lock in locks.values():
            os.close(lock)
        self._try_again_later()
        return None

    def _try_again_later(self) -> None:
        if self._poll is None:
            self._poll = asyncio.get_running_loop().call_later(_FOREIGN_SLOT_POLL_SECONDS, self._polled)

    def _polled(self) -> None:
        self._poll = None
        self._serve()


def gpu_slots(count: int | None) -> tuple[str, ...]:
    """The ids of the GPU slots: those of CUDA_VISIBLE_DEVICES where it is set, else the driver's. `count` overrides."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    ids = [part.strip() for part in visible.split(",") if part.strip()] if visible else []
    if count is None:
        return tuple(ids) if visible is not None else tuple(str(index) for index in range(_driver_gpus()))
    return tuple((ids or [str(index) for index in range(count)])[:count])


def _driver_gpus() -> int:
    try:
        # The driver's tool is found on PATH wherever the driver is installed.
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=10, check=True)  # noqa: S607
    except (OSError, subprocess.SubprocessError):
        return 0
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def runtime_folder() -> Path:
    """A folder of this user's own, the same for all of the user's providers on this machine.

    XDG_RUNTIME_DIR is not asked: it is set in some of a user's sessions and not in others.
    """
    base = Path(f"/run/user/{os.getuid()}")
    own = base / "xmgen" if os.access(base, os.W_OK) else Path(tempfile.gettempdir()) / f"xmgen-{os.getuid()}"
    folder = Path(os.environ.get("XMGEN_RUNTIME_DIR", own))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = folder.lstat()
    # Below a shared /tmp somebody else may have made it first.
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
        raise OperationError(Problem("belongs to somebody else", where=str(folder), hint="set XMGEN_RUNTIME_DIR"))
    return folder
