"""`experiment.lock.json`: the experiment as it was compiled, kept beside what became of it.

One line per executable, per work unit and per file, so that a changed trial is a changed line.
"""

from __future__ import annotations

import hashlib
import json
import math
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from xmgen import __version__
from xmgen.errors import InputError, Problem
from xmgen.experiment import VERSION, CommandList, Executable, Experiment, JobRequirements, WorkUnit

_DIGESTS = TypeAdapter[dict[str, str]](dict[str, str])
_EXPERIMENT = TypeAdapter[Experiment](Experiment)
_EXECUTABLE = TypeAdapter[Executable](Executable)
_UNIT = TypeAdapter[WorkUnit](WorkUnit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """What a lock file says.

    xmgen:   the version that wrote the folder. command: compiles it again, typed in the project's folder.
    digests: SHA-256 in hexadecimal of the folder's other files, by path in it.
    All three are empty where the lock file is from before they were recorded.
    """

    experiment: Experiment
    xmgen: str = ""
    command: str = ""
    digests: Mapping[str, str]


def dumps(
    experiment: Experiment, files: Mapping[str, str] | None = None, command: str = "", version: str = __version__
) -> str:
    """files: the folder's others, by path in it. command: as `Lock` has it. version: of xmgen."""
    digests = {path: digest(text.encode()) for path, text in sorted((files or {}).items())}
    lists = {
        "executables": [_EXECUTABLE.dump_json(each, exclude_none=True).decode() for each in experiment.executables],
        "units": [_UNIT.dump_json(each, exclude_none=True).decode() for each in experiment.units],
    }
    rest = _EXPERIMENT.dump_python(replace(experiment, executables=(), units=()), mode="json", exclude_none=True)
    head = {"version": rest.pop("version"), "xmgen": version, "command": command}
    lines = [
        f"  {_json(key)}: {_one_per_line(lists[key]) if key in lists else _json(value)}"
        for key, value in {**head, **rest}.items()
    ]
    lines.append(
        f'  "files": {_one_per_line([f"{_json(path)}: {_json(hash)}" for path, hash in digests.items()], "{}")}'
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _one_per_line(items: list[str], brackets: str = "[]") -> str:
    lines = ",\n".join(f"    {item}" for item in items)
    return f"{brackets[0]}\n{lines}\n  {brackets[1]}" if items else brackets


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loads(content: str | bytes, where: str, stack: str | None = None) -> Experiment:
    """The experiment in a lock file. Raises as `parse` does."""
    return parse(content, where, stack).experiment


def parse(content: str | bytes, where: str, stack: str | None = None) -> Lock:
    """Raises InputError for a text that no version of xmgen, or a newer one, wrote.

    A lock file may come with somebody's pull request, so nothing in it is believed: the experiment can be planned, and
    names no file outside the project. stack: whose lock file it must be.
    """
    try:
        text = content if isinstance(content, str) else content.decode()
        data: Any = json.loads(text, parse_constant=_finite, parse_float=_finite)
        version: Any = data["version"]
        if version != VERSION:
            raise InputError(
                Problem(
                    f"is version {version!r} of the lock file, this xmgen reads version {VERSION}",
                    where=where,
                    hint="compile the experiment again, or use the xmgen that wrote it",
                )
            )
        if "\\u" in text:
            # An escape may be half of a surrogate pair, which is no text.
            _json(data).encode()
        experiment = _EXPERIMENT.validate_python(data)
        written = Lock(
            experiment=experiment,
            xmgen=str(data.get("xmgen", "")),
            command=str(data.get("command", "")),
            digests=_DIGESTS.validate_python(data.get("files", {})),
        )
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
        raise InputError(
            Problem("is not a lock file that xmgen wrote", where=where, hint="compile the experiment again")
        ) from None
    if stack is not None and experiment.stack != stack:
        raise InputError(
            Problem(
                f"is the lock file of the stack {experiment.stack!r}, in the folder of {stack!r}",
                where=where,
                hint="compile its source with --stack to make another stack of it",
            )
        )
    if wrong := list(faults(experiment)):
        hint = "compile the experiment again"
        raise InputError(
            *(Problem(f"is not a lock file that xmgen wrote: {fault}", where=where, hint=hint) for fault in wrong)
        )
    return written


def read(path: Path, stack: str | None = None) -> Experiment:
    """Raises InputError as `parse` does, and for a file that cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem(f"cannot be read: {error}", where=str(path))) from None
    return loads(text, str(path), stack)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def faults(experiment: Experiment) -> Iterator[str]:
    """What no compile writes, and the planner does not expect."""
    names = [executable.name for executable in experiment.executables]
    if len(names) != len(set(names)):
        yield "two executables have one name"
    paths = [("source", experiment.source)]
    for executable in experiment.executables:
        paths += [
            (f"executable {executable.name!r}", path)
            for key in ("path", "dockerfile")
            if (path := cast("str | None", getattr(executable, key, None))) is not None
        ]
        entrypoint = getattr(executable, "entrypoint", None)
        if isinstance(entrypoint, CommandList) and not entrypoint.commands:
            yield f"executable {executable.name!r} has no command"
    yield from (f"{what}: {path!r} lies outside the project" for what, path in paths if not is_inside(path))
    known = set(names)
    for position, unit in enumerate(experiment.units):
        where = f"unit {position + 1}"
        if not unit.jobs:
            yield f"{where} has no job"
        if len({job.name for job in unit.jobs}) != len(unit.jobs):
            yield f"{where}: two jobs have one name"
        if any(not 0 <= other < position for other in unit.depends_on):
            yield f"{where} depends on a unit that does not come before it"
        yield from (
            f"{where}, job {job.name!r}: an amount is no number"
            for job in unit.jobs
            if not _are_finite(job.executor.requirements)
        )
        yield from (
            f"{where}, job {job.name!r}: no executable is called {job.executable!r}"
            for job in unit.jobs
            if job.executable not in known
        )


def _are_finite(requirements: JobRequirements) -> bool:
    accelerator = requirements.accelerator
    return all(math.isfinite(amount or 0) for amount in (requirements.cpu, accelerator and accelerator.count))


def is_inside(path: str) -> bool:
    """Whether a POSIX path relative to the project's folder stays in it."""
    normal = PurePosixPath(posixpath.normpath(path))
    return not normal.is_absolute() and normal.parts[:1] != ("..",)
