"""Source -> stack: the whole pipeline in a few lines."""

from __future__ import annotations

import gc
import stat
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from xmgen import __version__, names
from xmgen.errors import InputError, Problem, did_you_mean
from xmgen.experiment import ClusterChoice, Experiment
from xmgen.plan import planner
from xmgen.plan.model import Plan
from xmgen.program import render as program
from xmgen.project import LOCK_FILE, Project
from xmgen.stack import lock
from xmgen.stack.tree import Tree


def load(
    source: Path, *, root: Path, stack: str, flags: Sequence[str] = (), apart: Callable[[str], None] | None = None
) -> Experiment:
    """The experiment of a launch script (`.py`), an `experiment.yaml`, or a folder with a Caliban project.

    root: the project's folder. flags: of the launch script, or the command of Caliban's. apart: has a launch script run
    in a process of its own, so that nothing it does changes what this one makes of its experiment, and takes what the
    script printed.
    """
    _check_place(source, root)
    if source.is_dir():
        from xmgen.frontends.caliban import source as caliban

        return caliban.load(source, root=root, stack=stack, flags=flags)
    match source.suffix:
        case ".py":
            if apart is not None:
                from xmgen.frontends.xmanager import process

                experiment = process.load(source, root=root, stack=stack, flags=flags, say=apart)
            else:
                from xmgen.frontends.xmanager import loader

                experiment = loader.load(source, root=root, stack=stack, flags=flags)
            # They are recorded so that `xmgen check` can repeat the compile.
            return replace(experiment, flags=tuple(flags))
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


def rendered(experiment: Experiment, others: planner.Stacks, version: str = __version__) -> dict[str, str]:
    """The files of the stack's folder. Pure; raises XmgenError for what cannot be planned. version: as of a render."""
    with _no_collection():
        return program.render(planner.plan(experiment, others), version)


def compiled_stacks(root: Path) -> planner.Stacks:
    """The experiments of the project's other stacks, as they are compiled."""
    project = Project(root=root)
    return _stacks(project.stacks, lambda name: lock.read(project.lock(name), name))


def stacks_in(folders: Mapping[str, Tree], side: str = "") -> planner.Stacks:
    """The same of stacks by what their folders hold. side: where that is, for errors."""
    return _stacks(lambda: folders, lambda name: lock.loads(folders[name][LOCK_FILE][1], f"{side}stack {name}", name))


def _stacks(names: Callable[[], Collection[str]], read: Callable[[str], Experiment]) -> planner.Stacks:
    def checked(name: str) -> Experiment:
        if name not in (known := names()):
            hint = did_you_mean(name, known)
            raise InputError(Problem(f"the cluster is that of the stack {name!r}, which is not compiled", hint=hint))
        return read(name)

    return checked


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
