"""`xmgen review`."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from xmgen.commands import output
from xmgen.errors import InputError
from xmgen.experiment import Experiment
from xmgen.project import LOCK_FILE, STACKS, Project
from xmgen.review import commits
from xmgen.review.commits import Side
from xmgen.review.compare import Comparer
from xmgen.review.document import document
from xmgen.review.report import report
from xmgen.review.stale import Stale, changed_code, uncompiled
from xmgen.stack import lock, recompile, tree, verification
from xmgen.stack.tree import Tree


def review(project: Project, base: str, head: str | None, *, json: bool) -> None:
    """head: None for the working tree."""
    before = commits.of_commit(project, base)
    after = commits.of_working_tree(project) if head is None else commits.of_commit(project, head)
    paths = commits.changed_paths(project, base, head)
    comparer = Comparer(before, after, paths)
    verifier = _Verifier(project, tree.stacks(before.files), tree.stacks(after.files), after, paths, head is None)
    changes = [replace(change, stale=verifier.stale(change.stack)) for change in comparer.stacks()]
    beside = verification.of_project(after.files)
    if json:
        output.print_json(document(comparer.project(), changes, beside))
    else:
        print(report(comparer.project(), changes, beside), end="")


@dataclass(frozen=True, slots=True)
class _Verifier:
    """What of the stacks is not what their lock files say.

    before, folders: the stacks' folders on each side. working_tree: whether the code there is compared, too.
    """

    project: Project
    before: Mapping[str, Tree]
    folders: Mapping[str, Tree]
    after: Side
    changed: Set[str]
    working_tree: bool

    def stale(self, stack: str) -> Stale | None:
        if (folder := self.folders.get(stack)) is None:
            return None
        # What is told is read of what is committed; the verdict alone takes what plans and renders.
        from xmgen import compiler

        stacks = compiler.stacks_in(self.folders, "")
        verdict = verification.of_stack(stack, folder, lambda experiment: compiler.rendered(experiment, stacks))
        is_weaker = verdict.proof == "digests" and self.before.get(stack) != folder
        stale = Stale((), "", "", verdict.findings, verdict.version if is_weaker else "")
        if (experiment := _experiment(self.after, stack)) is not None:
            root = self.project.root
            stale = replace(
                stale,
                executables=changed_code(root, experiment) if self.working_tree else (),
                command=recompile.of_experiment(root, experiment),
                source=uncompiled(experiment, self.changed),
            )
        return stale or None


def _experiment(side: Side, stack: str) -> Experiment | None:
    where = f"{STACKS}/{stack}/{LOCK_FILE}"
    try:
        text = side.read(where)
        return lock.loads(text, where, stack) if text is not None else None
    except InputError:
        # Which the comparison says.
        return None
