"""The folder of a run on disk, and the journal in it that makes killing safe."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from xmgen.project import Project
from xmgen.provider.unit import Unit
from xmgen.provider.wire import Properties

State = Literal["running", "stopped", "succeeded", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One attempt. fingerprint: of what was run. jobs: those that the unit waits for.
    state: of one whose provider was killed `running` is left; `stopped` is one that was cancelled.
    inputs: for `pulumi import`; None when they hold secrets. outputs: set by the end.
    """

    attempt: str
    fingerprint: str
    state: State
    started_at: str
    runner: str
    jobs: tuple[str, ...]
    inputs: Properties | None = None
    outputs: Properties | None = None


class RunFolder:
    """`.xmgen/<stack>/runs/<name>/`: logs, outputs and the journal of one work unit."""

    def __init__(self, root: Path, stack: str, name: str) -> None:
        self.root = root
        self.path = Project(root=root).runs(stack) / file_name(name)
        self._attempt = self.path / "attempt"
        self._journal = self._attempt / "journal.json"

    @property
    def output(self) -> Path:
        return self.path / "output"

    def relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def log(self, job: str) -> Path:
        return self.path / f"{file_name(job)}.log"

    def exit_record(self, job: str) -> Path:
        """Where the watchdog notes a job's own exit, before it tells anybody."""
        return self._attempt / f"{file_name(job)}.exit"

    def lock(self) -> int:
        """An open file whose lock says that somebody works here. Raises BlockingIOError when somebody else does."""
        if self.path.is_symlink():
            # A job may do anything in its folder, but what is written and removed here must be here.
            self.path.unlink()
        self.path.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise
        return lock

    def entry(self) -> Entry | None:
        """The last attempt; None when there was none or the journal cannot be read."""
        try:
            fields: dict[str, Any] = json.loads(self._journal.read_text(encoding="utf-8"))
            return Entry(**{**fields, "jobs": tuple[str, ...](fields["jobs"])})  # pyright: ignore[reportArgumentType]
        except (OSError, ValueError, TypeError, KeyError):
            # Journals are written atomically: an unreadable one was damaged by hand and says nothing.
            return None

    def output_of(self, job: str, unit: Unit) -> Path:
        """The job's output folder: a unit's only job has `output/` for itself."""
        return self.output / file_name(job) if len(unit.jobs) > 1 else self.output

    def last_exit(self, entry: Entry) -> float:
        """When the last of the unit's jobs ended, as a timestamp."""
        return max(self.exit_record(job).stat().st_mtime for job in entry.jobs)

    def exit_codes(self, entry: Entry) -> dict[str, int]:
        """The exit codes on record, of the jobs that the unit waits for."""
        codes: dict[str, int] = {}
        for job in entry.jobs:
            record = self.exit_record(job)
            if record.exists():
                codes[job] = int(record.read_text(encoding="ascii"))
        return codes

    def begin(self, entry: Entry) -> None:
        """Makes room for a new attempt: earlier outputs move aside, logs and exit records go."""
        self._set_output_aside()
        shutil.rmtree(self._attempt, ignore_errors=True)
        self._remove_logs()
        self.output.mkdir(parents=True)
        self._attempt.mkdir()
        self.write(entry)

    def write(self, entry: Entry) -> None:
        """On disk when this returns."""
        temporary = self._journal.with_suffix(".new")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(dataclasses.asdict(entry), file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._journal)
        folder = os.open(self._attempt, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def remove(self, *, keep_outputs: bool) -> None:
        """Removes journal and logs, and the outputs unless they are to be kept. Raises OSError when that fails."""
        if self.path.is_symlink():
            self.path.unlink()
            return
        shutil.rmtree(self._attempt, ignore_errors=True)
        self._remove_logs()
        (self.path / ".lock").unlink(missing_ok=True)
        if not keep_outputs:
            for folder in (self.output, self.path / "earlier"):
                _remove(folder)
        elif _is_folder(self.output) and not any(self.output.rglob("*")):
            self.output.rmdir()
        for folder in (self.path, self.path.parent, self.path.parent.parent):
            if not folder.exists() or any(folder.iterdir()):
                break
            folder.rmdir()

    def _set_output_aside(self) -> None:
        """`output/` holds what one attempt wrote, and never mixes two."""
        if not os.path.lexists(self.output):
            return
        if _is_folder(self.output) and not any(path for path in self.output.rglob("*") if not path.is_dir()):
            shutil.rmtree(self.output)
            return
        earlier = self.path / "earlier"
        if not _is_folder(earlier):
            earlier.unlink(missing_ok=True)
        earlier.mkdir(exist_ok=True)
        taken = [int(folder.name) for folder in earlier.iterdir() if folder.name.isdecimal()]
        self.output.rename(earlier / str(max(taken, default=0) + 1))

    def _remove_logs(self) -> None:
        for log in self.path.glob("*.log"):
            _remove(log)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove(path: Path) -> None:
    """A folder with all that is in it; of a file or link that a job left in its place, that alone."""
    if _is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def file_name(name: str) -> str:
    """A name as a file name: names of jobs are free text. The usual ones stay as they are."""
    safe = "".join("-" if char in "/\\" or not char.isprintable() else char for char in name)
    if not safe or safe != name or safe.startswith(".") or len(os.fsencode(safe)) > 120:
        return f"{safe.lstrip('.')[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return safe
