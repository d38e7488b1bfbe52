"""`xmgen review`."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from xmgen.commands import output
from xmgen.errors import InputError
from xmgen.experiment import Experiment
from xmgen.project import LOCK_FILE, STACKS, Project
from xmgen.review import commits
from xmgen.review.commits import Side
from xmgen.review.compare import Comparer
from xmgen.review.document import document
from xmgen.review.report import report
from xmgen.review.stale import Stale, beside, stale
from xmgen.stack import lock, recompile


def review(project: Project, base: str, head: str | None, *, json: bool) -> None:
    """head: None for the working tree."""
    before = commits.of_commit(project, base)
    after = commits.of_working_tree(project) if head is None else commits.of_commit(project, head)
    paths = commits.changed_paths(project, base, head)
    comparer = Comparer(before, after, paths)
    changes = [
        replace(change, stale=_stale(project, experiment, paths, working_tree=head is None))
        if (experiment := _experiment(after, change.stack)) is not None
        else change
        for change in comparer.stacks()
    ]
    if json:
        output.print_json(document(comparer.project(), changes))
    else:
        print(report(comparer.project(), changes), end="")


def _stale(project: Project, experiment: Experiment, changed: Set[str], *, working_tree: bool) -> Stale | None:
    """working_tree: whether the code that is there belongs to the comparison."""
    found = stale(project.root, experiment) if working_tree else None
    if not (files := beside(experiment, changed)):
        return found
    return replace(found or Stale((), recompile.of_experiment(project.root, experiment)), files=files)


def _experiment(side: Side, stack: str) -> Experiment | None:
    where = f"{STACKS}/{stack}/{LOCK_FILE}"
    try:
        text = side.read(where)
        return lock.loads(text, where, stack) if text is not None else None
    except InputError:
        # Which the comparison says.
        return None
