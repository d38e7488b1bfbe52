"""Code in the working tree that is not what a stack was compiled from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xmgen import recompile, sources
from xmgen.errors import InputError
from xmgen.experiment import Binary, Dockerfile, Experiment, PythonContainer


@dataclass(frozen=True, slots=True)
class Stale:
    """executables: those whose code differs. command: what compiles the stack again."""

    executables: tuple[str, ...]
    command: str


def stale(root: Path, experiment: Experiment) -> Stale | None:
    """None for a stack whose code is as it was. `xmgen check` compiles again, and sees changes of the source, too."""
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
