"""What changed that a stack was not compiled from: code in the working tree, and files beside the lock file."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from xmgen import sources
from xmgen.errors import InputError
from xmgen.experiment import Binary, Dockerfile, Experiment, PythonContainer
from xmgen.project import LOCK_FILE, STACKS
from xmgen.stack import recompile


@dataclass(frozen=True, slots=True)
class Stale:
    """executables: those whose code differs. command: what compiles the stack again. files: its source and generated
    files, when they changed and its lock file did not, relative to the project's folder.
    """

    executables: tuple[str, ...]
    command: str
    files: tuple[str, ...] = ()


def beside(experiment: Experiment, changed: Set[str]) -> tuple[str, ...]:
    """The source and the generated files of a stack that changed without its lock file. changed: all paths that did."""
    folder = f"{STACKS}/{experiment.stack}/"
    if f"{folder}{LOCK_FILE}" in changed:
        return ()
    return tuple(sorted(path for path in changed if path.startswith(folder) or path == experiment.source))


def stale(root: Path, experiment: Experiment) -> Stale | None:
    """None for a stack whose code is as it was. `xmgen check` compiles again, and sees all that has changed."""
    changed = tuple(
        executable.name
        for executable in experiment.executables
        if isinstance(executable, PythonContainer | Dockerfile | Binary) and _differs(root, executable)
    )
    return Stale(changed, recompile.of_experiment(root, experiment)) if changed else None


def _differs(root: Path, executable: PythonContainer | Dockerfile | Binary) -> bool:
    exclude = () if isinstance(executable, Binary) else executable.exclude
    try:
        return sources.digest(root / executable.path, exclude) != executable.digest
    except InputError:
        return True
