"""Source -> stack: the whole pipeline in a few lines."""

from __future__ import annotations

import gc
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from xmgen import names
from xmgen.errors import InputError, Problem, did_you_mean
from xmgen.experiment import ClusterChoice, Experiment
from xmgen.plan import planner
from xmgen.plan.model import Plan
from xmgen.program import render as program
from xmgen.project import Project
from xmgen.stack import lock


def load(source: Path, *, root: Path, stack: str, flags: Sequence[str] = ()) -> Experiment:
    """The experiment of a launch script (`.py`), an `experiment.yaml`, or a folder with a Caliban project.

    root: the project's folder. flags: of the launch script, or the command of Caliban's.
    """
    _check_place(source, root)
    if source.is_dir():
        from xmgen.frontends.caliban import source as caliban

        return caliban.load(source, root=root, stack=stack, flags=flags)
    match source.suffix:
        case ".py":
            from xmgen.frontends.xmanager import loader as xmanager

            # They are recorded so that `xmgen check` can repeat the compile.
            return replace(xmanager.load(source, root=root, stack=stack, flags=flags), flags=tuple(flags))
        case suffix if suffix in names.YAML_SUFFIXES and source.stem.endswith(".cluster"):
            from xmgen.frontends import cluster

            return cluster.load(source, root=root, stack=stack, flags=flags)
        case suffix if suffix in names.YAML_SUFFIXES:
            from xmgen.frontends import spec

            return spec.load(source, root=root, stack=stack, flags=flags)
        case _:
            raise InputError(
                Problem(
                    "is no XManager launch script, experiment in YAML or Caliban project",
                    where=str(source),
                    hint="a launch script ends in .py, an experiment in .yaml; a Caliban project is a folder",
                )
            )


def _check_place(source: Path, root: Path) -> None:
    """A source lies in the project: its stack is committed, and `xmgen check` compiles it again."""
    try:
        kind = source.stat().st_mode
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise InputError(
            Problem("no such file" if missing else f"cannot be read: {error.strerror}", where=str(source))
        ) from None
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise InputError(Problem("is neither a file nor a folder", where=str(source)))
    if not source.resolve().is_relative_to(root.resolve()):
        raise InputError(Problem("lies outside the project", where=str(source), hint=f"the project is {root}"))


def compile_source(
    source: Path, *, root: Path, stack: str, flags: Sequence[str] = (), cluster: ClusterChoice | None = None
) -> tuple[Plan, dict[str, str]]:
    """The plan, and the files of the stack's folder. Writes nothing. cluster: chosen instead of the source's."""
    with _no_collection():
        experiment = load(source, root=root, stack=stack, flags=flags)
        if cluster is not None:
            experiment = replace(experiment, cluster=cluster)
        plan = planner.plan(experiment, compiled_stacks(root))
        return plan, program.render(plan)


def compiled_stacks(root: Path) -> planner.Stacks:
    """The experiments of the project's other stacks, as they are compiled."""

    def read(name: str) -> Experiment:
        project = Project(root=root)
        if name not in project.stacks():
            hint = did_you_mean(name, project.stacks())
            raise InputError(Problem(f"the cluster is that of the stack {name!r}, which is not compiled", hint=hint))
        return lock.read(project.lock(name), name)

    return read


@contextmanager
def _no_collection() -> Generator[None]:
    """A compile makes many objects and drops few: looking for cycles among them takes a third of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # They count as old from now on; else the next allocation would go through them all.
            gc.freeze()
            gc.unfreeze()
            gc.enable()
