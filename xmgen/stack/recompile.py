"""The command that compiles a stack again, for the messages that ask for it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from xmgen import names
from xmgen.errors import InputError
from xmgen.experiment import Experiment
from xmgen.project import Project
from xmgen.stack import lock


def of_stack(root: Path, stack: str) -> str:
    """Of a stack by its lock file; as much of the command as is known where that cannot be read."""
    try:
        return of_experiment(root, lock.read(Project(root=root).lock(stack), stack))
    except InputError:
        return f"xmgen compile SOURCE --stack {shlex.quote(stack)}"


def of_experiment(root: Path, experiment: Experiment) -> str:
    """To be typed in the project's folder, which is `root`. Whose cluster it uses, the lock file remembers."""
    if experiment.source.endswith(names.SOURCE_SUFFIXES):
        # One that was renamed: only its user knows its name now.
        source = experiment.source if (root / experiment.source).exists() else "NEW"
        return of_source(source, experiment.stack, experiment.flags)
    return _of_caliban(experiment)


def recorded(experiment: Experiment) -> str:
    """As the lock file has it: of the experiment alone, wherever the project lies and whatever is there."""
    if experiment.source.endswith(names.SOURCE_SUFFIXES):
        return of_source(experiment.source, experiment.stack, experiment.flags)
    return _of_caliban(experiment)


def of_source(source: str, stack: str, flags: Sequence[str], *options: str) -> str:
    """source: relative to the project's folder, where the command is typed. The default name of a stack is left out."""
    path = PurePosixPath(source)
    usual = source.endswith(names.SOURCE_SUFFIXES) and names.stack_of_source(path.name, path.parent.name) == stack
    words = ["xmgen", "compile", source, *([] if usual else ["--stack", stack]), *options]
    return shlex.join([*words, "--", *flags] if flags else words)


def _of_caliban(experiment: Experiment) -> str:
    change = "" if experiment.source == "." else f"cd {shlex.quote(experiment.source)} && "
    return change + shlex.join(["xmgen", "caliban", "--stack", experiment.stack, *experiment.flags])
