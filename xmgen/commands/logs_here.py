"""What trials on this machine printed: the files that the provider keeps of them, as they grow."""

from __future__ import annotations

import codecs
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from xmgen.commands import output
from xmgen.errors import InputError, OperationError, Problem
from xmgen.executors.gke.pod_logs import Window
from xmgen.project import Project
from xmgen.provider.journal import RunFolder
from xmgen.pulumi_cli import backend, session
from xmgen.stack.compiled import CompiledStack

POLL_SECONDS = 0.2


def show(project: Project, compiled: CompiledStack, units: Sequence[str], window: Window, *, follow: bool) -> None:
    """Raises OperationError where there is nothing to show, InputError for a window of time: nobody keeps when a line
    was printed.
    """
    if window.since is not None:
        raise InputError(Problem("what trials on this machine print has no times", where="--since", hint="use --tail"))
    stack = compiled.name
    files = _files(project, compiled, units)
    tails = [_Tail(file, title if len(files) > 1 else "", window.tail) for title, file in files]
    found = [tail.more() for tail in tails]
    work = session.begin(project, stack) if follow else None
    while work is not None and not _ended(project, stack, units):
        # A journal cannot tell that its attempt was killed; that nobody works on the stack can.
        if backend.is_locked(work.backend, project, stack) is False and not _ended(project, stack, units):
            output.say(f"Nothing is at work on {stack}; `xmgen up {stack}` runs what has not ended.", error=True)
            break
        time.sleep(POLL_SECONDS)
        found = [tail.more() for tail in tails]
    if work is not None:
        found = [tail.more() for tail in tails]
    for tail in tails:
        tail.end()
    if any(found) and all(tail.is_empty for tail in tails):
        output.say("Nothing has been printed.", error=True)
    if not any(found):
        folders = {file.parent for _, file in files}
        where = next(iter(folders)) if len(folders) == 1 else project.runs(stack)
        raise OperationError(
            Problem(
                "no log yet" if len(folders) == 1 else "no trial has left a log yet",
                where=where.relative_to(project.root).as_posix(),
                hint=f"`xmgen status {stack}` says how the trials stand",
            )
        )


def _files(project: Project, compiled: CompiledStack, units: Sequence[str]) -> list[tuple[str, Path]]:
    """The log of every job, under its unit's name."""
    files: list[tuple[str, Path]] = []
    for name in units:
        folder = RunFolder(project.root, compiled.name, name)
        planned = next(planned for planned in compiled.units if planned.name == name)
        jobs = compiled.experiment.units[planned.position].jobs
        files += [(f"{name}/{job.name}" if len(jobs) > 1 else name, folder.log(job.name)) for job in jobs]
    return files


def _ended(project: Project, stack: str, units: Sequence[str]) -> bool:
    entries = [RunFolder(project.root, stack, name).entry() for name in units]
    return all(entry is not None and entry.state in ("succeeded", "failed") for entry in entries)


class _Tail:
    """Prints a file as it grows. title: begins its lines, since those of others are between them; empty for a file
    that is printed alone, and as it is. last: with how many lines of what there is to begin; None for all of them.
    """

    def __init__(self, file: Path, title: str, last: int | None) -> None:
        self._file = file
        self._title = title
        self._last = last
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been read of the file."""
        return self._position == 0

    def more(self) -> bool:
        """Print what is new. Returns whether the file exists."""
        try:
            with self._file.open("rb") as stream:
                # A new attempt starts a new file.
                if stream.seek(0, 2) < self._position:
                    self._position = 0
                stream.seek(self._position)
                content = stream.read()
        except FileNotFoundError:
            return False
        self._position += len(content)
        if self._last is not None:
            content = _last_lines(content, self._last)
            self._last = None
        self._print(self._decoder.decode(content))
        return True

    def end(self) -> None:
        if self._unfinished:
            self._print("\n")

    def _print(self, text: str) -> None:
        if self._title:
            *lines, self._unfinished = (self._unfinished + text).split("\n")
            text = "".join(f"{self._title} | {line}\n" for line in lines)
        elif text:
            # A line that goes on, such as a progress bar, is shown as it comes.
            self._unfinished = text.rpartition("\n")[2]
        sys.stdout.write(text)
        sys.stdout.flush()


def _last_lines(content: bytes, count: int) -> bytes:
    lines = content.split(b"\n")
    # Behind the last end of a line there is none yet.
    kept = count + (lines[-1] == b"")
    return b"\n".join(lines[-kept:]) if count else b""
