"""What of a stack is not what its lock file says: code in the working tree, its source, the files that run."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from xmgen import sources
from xmgen.errors import InputError
from xmgen.experiment import Binary, Dockerfile, Experiment, PythonContainer
from xmgen.project import LOCK_FILE, STACKS
from xmgen.stack.verification import Finding


@dataclass(frozen=True, slots=True)
class Stale:
    """executables: those whose code differs. command: what compiles the stack again. source: it, where it changed and
    the lock file did not; else empty. findings: files that are not what they should be.
    weaker: the version of xmgen that wrote the stack, where only the digests in its lock file say what they should be.
    """

    executables: tuple[str, ...]
    command: str
    source: str = ""
    findings: tuple[Finding, ...] = ()
    weaker: str = ""

    def __bool__(self) -> bool:
        return bool(self.executables or self.source or self.findings or self.weaker)


def uncompiled(experiment: Experiment, changed: Set[str]) -> str:
    """The source of a stack that changed without its lock file, or nothing. changed: all paths that did."""
    lock_file = f"{STACKS}/{experiment.stack}/{LOCK_FILE}"
    return experiment.source if experiment.source in changed and lock_file not in changed else ""


def changed_code(root: Path, experiment: Experiment) -> tuple[str, ...]:
    """The executables whose code is not as it was. `xmgen check` compiles again, and sees all that has changed."""
    return tuple(
        executable.name
        for executable in experiment.executables
        if isinstance(executable, PythonContainer | Dockerfile | Binary) and _differs(root, executable)
    )


def _differs(root: Path, executable: PythonContainer | Dockerfile | Binary) -> bool:
    exclude = () if isinstance(executable, Binary) else executable.exclude
    try:
        return sources.digest(root / executable.path, exclude) != executable.digest
    except InputError:
        return True
