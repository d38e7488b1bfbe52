"""Source -> stack: the whole pipeline in a few lines."""

from __future__ import annotations

import gc
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from xmgen import planner, program
from xmgen.errors import InputError, Problem
from xmgen.experiment import Experiment
from xmgen.plan import Plan


def load(source: Path, *, root: Path, stack: str, flags: Sequence[str] = ()) -> Experiment:
    """The experiment that a launch script (`.py`) or an `experiment.yaml` describes. `root`: the project's folder."""
    if not source.is_file():
        raise InputError(Problem("no such file", where=str(source)))
    match source.suffix:
        case ".py":
            from xmgen.frontends import xmanager

            # They are recorded so that `xmgen check` can repeat the compile.
            return replace(xmanager.load(source, root=root, stack=stack, flags=flags), flags=tuple(flags))
        case ".yaml" | ".yml":
            from xmgen.frontends import spec

            return spec.load(source, root=root, stack=stack, flags=flags)
        case _:
            raise InputError(
                Problem(
                    "is neither an XManager launch script nor an experiment in YAML",
                    where=str(source),
                    hint="a launch script ends in .py, an experiment in .yaml",
                )
            )


def compile_source(source: Path, *, root: Path, stack: str, flags: Sequence[str] = ()) -> tuple[Plan, dict[str, str]]:
    """The plan, and the files of the stack's folder. Writes nothing."""
    with _no_collection():
        plan = planner.plan(load(source, root=root, stack=stack, flags=flags))
        return plan, program.render(plan)


@contextmanager
def _no_collection() -> Generator[None]:
    """A compile makes many objects and drops few: looking for cycles among them takes a third of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
