"""What trials on this machine printed: the files that the provider keeps of them, as they grow."""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from xmgen.errors import InputError, OperationError, Problem
from xmgen.executors.base import LogWindow
from xmgen.project import Project
from xmgen.provider.journal import RunFolder
from xmgen.pulumi_cli import backend, session
from xmgen.stack.compiled import CompiledStack

POLL_SECONDS = 0.2


def of_units(
    project: Project, compiled: CompiledStack, units: Sequence[str], window: LogWindow, *, follow: bool
) -> Iterator[str | Problem]:
    """Raises InputError for a window of time: nobody keeps when a line was printed."""
    if window.since is not None:
        raise InputError(Problem("what trials on this machine print has no times", where="--since", hint="use --tail"))
    stack = compiled.name
    files = _files(project, compiled, units)
    tails = [_Tail(file, title if len(files) > 1 else "", window.tail) for title, file in files]
    yield from _more(tails)
    work = session.begin(project, stack) if follow else None
    while work is not None and not _ended(project, stack, units):
        # A journal cannot tell that its attempt was killed; that nobody works on the stack can.
        if backend.is_locked(work.backend, project, stack) is False and not _ended(project, stack, units):
            yield Problem(f"Nothing is at work on {stack}; `xmgen up {stack}` runs what has not ended.")
            break
        time.sleep(POLL_SECONDS)
        yield from _more(tails)
    if work is not None:
        yield from _more(tails)
    for tail in tails:
        yield tail.end()
    if not any(tail.exists for tail in tails):
        folders = {file.parent for _, file in files}
        where = next(iter(folders)) if len(folders) == 1 else project.runs(stack)
        raise OperationError(
            Problem(
                "no log yet" if len(folders) == 1 else "no trial has left a log yet",
                where=where.relative_to(project.root).as_posix(),
                hint=f"`xmgen status {stack}` says how the trials stand",
            )
        )
    if all(tail.is_empty for tail in tails):
        yield Problem("Nothing has been printed.")


def _more(tails: Sequence[_Tail]) -> Iterator[str]:
    for tail in tails:
        yield tail.more()


def _files(project: Project, compiled: CompiledStack, units: Sequence[str]) -> list[tuple[str, Path]]:
    """The log of every job, under its unit's name."""
    files: list[tuple[str, Path]] = []
    positions = {unit.name: unit.position for unit in compiled.units}
    for name in units:
        folder = RunFolder(project.root, compiled.name, name)
        jobs = compiled.experiment.units[positions[name]].jobs
        files += [(f"{name}/{job.name}" if len(jobs) > 1 else name, folder.log(job.name)) for job in jobs]
    return files


def _ended(project: Project, stack: str, units: Sequence[str]) -> bool:
    entries = [RunFolder(project.root, stack, name).entry() for name in units]
    return all(entry is not None and entry.state in ("succeeded", "failed") for entry in entries)


class _Tail:
    """Reads a file as it grows. title: begins its lines, since those of others are between them; empty for a file that
    is shown alone, and as it is. last: with how many lines of what there is to begin; None for all of them.
    """

    def __init__(self, file: Path, title: str, last: int | None) -> None:
        self._file = file
        self._title = title
        self._last = last
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished = ""
        self.exists = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been read of the file."""
        return self._position == 0

    def more(self) -> str:
        """What is new."""
        try:
            with self._file.open("rb") as stream:
                # A new attempt starts a new file.
                if stream.seek(0, 2) < self._position:
                    self._position = 0
                stream.seek(self._position)
                content = stream.read()
        except FileNotFoundError:
            self.exists = False
            return ""
        self.exists = True
        self._position += len(content)
        if self._last is not None:
            content = _last_lines(content, self._last)
            self._last = None
        return self._shown(self._decoder.decode(content))

    def end(self) -> str:
        """What completes the last line."""
        return self._shown("\n") if self._unfinished else ""

    def _shown(self, text: str) -> str:
        if self._title:
            *lines, self._unfinished = (self._unfinished + text).split("\n")
            return "".join(f"{self._title} | {line}\n" for line in lines)
        if text:
            # A line that goes on, such as a progress bar, is shown as it comes.
            self._unfinished = text.rpartition("\n")[2]
        return text


def _last_lines(content: bytes, count: int) -> bytes:
    lines = content.split(b"\n")
    # Behind the last end of a line there is none yet.
    kept = count + (lines[-1] == b"")
    return b"\n".join(lines[-kept:]) if count else b""
