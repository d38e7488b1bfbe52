"""`xmgen review`."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from xmgen.commands import output
from xmgen.errors import XmgenError
from xmgen.plan.model import Plan
from xmgen.project import Project
from xmgen.review import commits, report
from xmgen.review.commits import Side
from xmgen.review.compare import StackChange, compare
from xmgen.review.settings import placed
from xmgen.review.stale import Stale, beside, stale
from xmgen.stack import recompile


def review(project: Project, base: str, head: str | None, *, json: bool) -> None:
    """head: None for the working tree."""
    before = commits.of_commit(project, base)
    after = commits.of_working_tree(project) if head is None else commits.of_commit(project, head)
    changes = [_change(project, stack, before, after) for stack in sorted(before.plans.keys() | after.plans.keys())]
    paths = commits.changed_paths(project, base, head)
    changes = [
        replace(change, stale=_stale(project, plan, paths, working_tree=head is None))
        if isinstance(plan := after.plans.get(change.stack), Plan)
        else change
        for change in changes
    ]
    if json:
        output.print_json(report.as_json(changes))
    else:
        print(report.markdown(changes), end="")


def _stale(project: Project, plan: Plan, changed: Set[str], *, working_tree: bool) -> Stale | None:
    """working_tree: whether the code that is there belongs to the comparison."""
    experiment = plan.experiment
    found = stale(project.root, experiment) if working_tree else None
    if not (files := beside(experiment, changed)):
        return found
    return replace(found or Stale((), recompile.of_experiment(project.root, experiment)), files=files)


def _change(project: Project, stack: str, before: Side, after: Side) -> StackChange:
    old, new = before.plans.get(stack), after.plans.get(stack)
    for side in (old, new):
        # One stack that cannot be read is no reason to say nothing of the others.
        if isinstance(side, XmgenError):
            return StackChange(stack=stack, change="changed", problem=str(side))
    assert not isinstance(old, XmgenError) and not isinstance(new, XmgenError)  # noqa: S101 (for the type checker)
    if old is not None and new is not None:
        old, new = placed(old, new, (before.read, after.read), project.name)
    return compare(stack, old, new)
