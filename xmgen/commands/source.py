"""What commands do with a source: its experiment, its stack, and the compile into that."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from xmgen import compiler
from xmgen.commands import target
from xmgen.commands.output import standard_output_kept_clean
from xmgen.errors import InputError, Problem
from xmgen.experiment import ClusterChoice, Experiment
from xmgen.plan.model import Plan
from xmgen.project import Project
from xmgen.stack import folder as stacks
from xmgen.stack import recompile


def load(project: Project, source: Path, stack: str | None, flags: Sequence[str]) -> Experiment:
    """The experiment of a source; nothing is written."""
    with standard_output_kept_clean():
        return compiler.load(source, root=project.root, stack=target.stack_of(project, source, stack), flags=flags)


def compiled(
    project: Project, source: Path, stack: str, flags: Sequence[str], cluster: ClusterChoice | None = None
) -> tuple[Plan, dict[str, str]]:
    """The plan and the files of a source; nothing is written."""
    with standard_output_kept_clean():
        return compiler.compile_source(source, root=project.root, stack=stack, flags=flags, cluster=cluster)


def write(
    project: Project,
    source: Path,
    stack: str | None,
    flags: Sequence[str],
    cluster: ClusterChoice | None = None,
    *,
    replace: bool = False,
) -> tuple[Plan, bool]:
    """Compile a source into its stack's folder. Returns the plan, and whether the folder changed.

    cluster: what the command line chose; else what it chose when this source was last compiled into this stack.
    replace: whether the stack may be that of another source, which is there still.
    """
    name = target.stack_of(project, source, stack)
    earlier = target.recorded(project, name)
    before = chosen(earlier) if earlier is not None and _is_source_of(project, source, earlier) else None
    plan, files = compiled(project, source, name, flags, cluster or before)
    if not replace:
        refuse_taken(project, source, name, flags)
    return plan, stacks.write(project.root, name, files)


def refuse_taken(project: Project, source: Path, stack: str, flags: Sequence[str] = ()) -> None:
    """Raise InputError for the stack of another source, which is there still."""
    earlier = target.recorded(project, stack)
    if earlier is None or _is_source_of(project, source, earlier):
        return
    place = Path(os.path.relpath(source.absolute(), project.root)).as_posix()
    command = recompile.of_source(place, stack, flags, "--replace")
    raise InputError(
        Problem(
            f"the stack {stack!r} is that of {earlier.source}, all of which the next `up` would remove",
            where=place,
            hint=f"name another with --stack, or give this one to {place} with `{command}`",
        )
    )


def _is_source_of(project: Project, source: Path, experiment: Experiment) -> bool:
    """Whether it is what the experiment was compiled from, or has taken its place: as a renamed file does."""
    before = project.root / experiment.source
    return not before.exists() or target.real(before) == target.real(source)


def recorded_flags(project: Project, source: Path, stack: str | None) -> tuple[str, ...]:
    """With which a source was compiled into its stack the last time; none when it was not."""
    earlier = target.recorded(project, target.stack_of(project, source, stack))
    return earlier.flags if earlier is not None and _is_source_of(project, source, earlier) else ()


def chosen(experiment: Experiment) -> ClusterChoice | None:
    """The cluster that the command line chose when the experiment was compiled."""
    return experiment.cluster if experiment.cluster and experiment.cluster.by_option else None


def cluster_choice(text: str | None) -> ClusterChoice | None:
    """`own`, `stack:NAME`, `existing:NAME` or `existing:NAME@LOCATION`. Raises InputError for anything else."""
    if text is None:
        return None
    kind, _, rest = text.partition(":")
    name, at, location = rest.partition("@")
    match kind:
        case "own" if not rest:
            return ClusterChoice(kind="own", by_option=True)
        case "stack" if name and not at:
            return ClusterChoice(kind="stack", name=name, by_option=True)
        case "existing" if name and bool(at) == bool(location):
            return ClusterChoice(kind="existing", name=name, location=location or None, by_option=True)
        case _:
            hint = "own, stack:NAME or existing:NAME@LOCATION"
            raise InputError(Problem(f"{text!r} chooses no cluster", where="--cluster", hint=hint))
