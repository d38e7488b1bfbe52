"""Runs a launch script in a process of its own, for a caller whose verdict the script must not change.

All that comes back is the experiment, as text. A script that patches modules, replaces builtins or ends its process
does so over there; one that ends it before there is an experiment is an error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from pydantic import TypeAdapter, ValidationError

from xmgen.errors import InputError, OperationError, Problem, XmgenError
from xmgen.experiment import Experiment
from xmgen.stack import lock

_EXPERIMENT = TypeAdapter[Experiment](Experiment)
_ORIGINS = TypeAdapter[dict[str, str]](dict[str, str])
_PROBLEMS = TypeAdapter[list[Problem]](list[Problem])


class Unfinished(InputError):
    """A launch script whose process ended before there was an experiment."""


def load(source: Path, *, root: Path, stack: str, flags: Sequence[str] = (), say: Callable[[str], None]) -> Experiment:
    """The experiment of a launch script, as `loader.load` gives it; raises as that does.

    Raises Unfinished where the script's process ends without one. say: takes what the script printed.
    """
    with tempfile.TemporaryFile() as result, tempfile.TemporaryFile() as said:
        # -P: a file in the working directory must not take the place of a module. Files, since what the script leaves
        # running would hold pipes open.
        command = [sys.executable, "-P", "-m", __name__, str(result.fileno()), str(source), str(root), stack, *flags]
        done = subprocess.run(command, stdout=said, stderr=said, pass_fds=(result.fileno(),))  # noqa: S603
        said.seek(0)
        if printed := said.read():
            say(printed.decode(errors="replace"))
        result.seek(0)
        answer = result.read()
    place = Path(os.path.relpath(source.resolve(), root.resolve())).as_posix()
    try:
        return _experiment(json.loads(answer), stack)
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
        how = f"by signal {-done.returncode}" if done.returncode < 0 else f"with exit code {done.returncode}"
        message = f"the launch script's process ended {how} before it gave an experiment"
        raise Unfinished(Problem(message, where=place)) from None


def _experiment(answer: dict[str, Any], stack: str) -> Experiment:
    if "problems" in answer:
        kind = InputError if answer["input"] else OperationError
        raise kind(*_PROBLEMS.validate_python(answer["problems"]))
    experiment = _EXPERIMENT.validate_python(answer["experiment"])
    if experiment.stack != stack or any(lock.faults(experiment)):
        raise ValueError
    return replace(experiment, origins=_ORIGINS.validate_python(answer["origins"]))


def main(result: IO[str], source: str, root: str, stack: str, *flags: str) -> None:
    """In the process of its own."""
    from xmgen.frontends.xmanager import loader

    try:
        experiment = loader.load(Path(source), root=Path(root), stack=stack, flags=flags)
    except XmgenError as error:
        answer: dict[str, Any] = {"problems": list(map(asdict, error.problems)), "input": isinstance(error, InputError)}
    else:
        text = _EXPERIMENT.dump_python(experiment, mode="json", exclude_none=True)
        answer = {"experiment": text, "origins": dict(experiment.origins)}
    json.dump(answer, result)
    result.flush()
    # Threads that the script left must not keep the process.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(os.fdopen(int(sys.argv[1]), "w", encoding="utf-8"), *sys.argv[2:])
