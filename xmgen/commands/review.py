"""`xmgen review`."""

from __future__ import annotations

from dataclasses import replace

from xmgen.commands import output
from xmgen.errors import XmgenError
from xmgen.plan import Plan
from xmgen.project import Project
from xmgen.review import commits, report
from xmgen.review.commits import Plans
from xmgen.review.compare import StackChange, compare
from xmgen.review.stale import Stale, stale


def review(project: Project, base: str, head: str | None, *, json: bool) -> None:
    """head: None for the working tree."""
    before = commits.of_commit(project, base)
    after = commits.of_working_tree(project) if head is None else commits.of_commit(project, head)
    changes = [_change(stack, before, after) for stack in sorted(before.keys() | after.keys())]
    if head is None:
        changes = [replace(change, stale=_stale(project, after.get(change.stack))) for change in changes]
    if json:
        output.print_json(report.as_json(changes))
    else:
        print(report.markdown(changes), end="")


def _stale(project: Project, plan: Plan | XmgenError | None) -> Stale | None:
    return stale(project.root, plan.experiment) if isinstance(plan, Plan) else None


def _change(stack: str, before: Plans, after: Plans) -> StackChange:
    old, new = before.get(stack), after.get(stack)
    for side in (old, new):
        # One stack that cannot be read is no reason to say nothing of the others.
        if isinstance(side, XmgenError):
            return StackChange(stack=stack, change="changed", problem=str(side))
    assert not isinstance(old, XmgenError) and not isinstance(new, XmgenError)  # noqa: S101 (for the type checker)
    return compare(stack, old, new)
