"""The plans of the stacks as a commit, or the working tree, has them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from errno import ENOENT
from os import strerror

from xmgen.errors import InputError, Problem, XmgenError
from xmgen.experiment import Experiment
from xmgen.plan.model import Plan
from xmgen.project import LOCK_FILE, STACKS, Project
from xmgen.review.settings import Read
from xmgen.stack import lock

Plans = dict[str, Plan | XmgenError]
"""By stack; the error of one whose lock file this xmgen cannot read or plan."""


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared. read: the text of its files."""

    plans: Plans
    read: Read


def of_commit(project: Project, ref: str) -> Side:
    """Raises InputError when there is no such commit, or the project is not in a Git repository."""
    commit = _commit(project, ref)
    paths = (_git(project, "ls-tree", "-r", "-z", "--name-only", commit, "--", f"{STACKS}/") or "").split("\0")
    found = [path.split("/") for path in paths]
    stacks = [parts[1] for parts in found if len(parts) == 3 and parts[2] == LOCK_FILE]

    def read(path: str) -> str:
        return _git(project, "show", f"{commit}:./{path}") or ""

    return Side({stack: _plan(read, stack, f"{ref}, ") for stack in stacks}, read)


def of_working_tree(project: Project) -> Side:
    def read(path: str) -> str:
        file = project.root / path
        if not file.is_file():
            # Nor a device, which may never end.
            raise FileNotFoundError(ENOENT, strerror(ENOENT), str(file))
        return file.read_text(encoding="utf-8")

    return Side({stack: _plan(read, stack, "") for stack in project.stacks()}, read)


def changed_paths(project: Project, base: str, head: str | None) -> frozenset[str]:
    """Relative to the project's folder: what differs between two commits, or a commit and the working tree."""
    commits = [_commit(project, ref) for ref in (base, head) if ref is not None]
    paths = _git(project, "diff", "--name-only", "--no-renames", "--no-ext-diff", "--relative", "-z", *commits, "--")
    return frozenset((paths or "").split("\0")) - {""}


def is_not_compiled(project: Project, experiment: Experiment) -> bool:
    """Whether the source differs from its last commit, while what is compiled of it, which is committed, does not.

    As far as Git says: False where there is none, or no commit.
    """
    lock_file = f"{STACKS}/{experiment.stack}/{LOCK_FILE}"
    try:
        if not _git(project, "ls-files", "-z", "--", lock_file):
            return False
        changed = changed_paths(project, "HEAD", None)
    except InputError:
        return False
    return experiment.source in changed and lock_file not in changed


def _plan(read: Read, stack: str, side: str) -> Plan | XmgenError:
    # `is_not_compiled` is for commands that do without it.
    from xmgen.plan import planner

    where = f"{side}stack {stack}"

    def experiment(name: str) -> Experiment:
        """Of any stack, whose cluster others may share."""
        return lock.loads(read(f"{STACKS}/{name}/{LOCK_FILE}"), f"{side}stack {name}", name)

    try:
        return planner.plan(experiment(stack), experiment)
    except XmgenError as error:
        return error
    except (OSError, UnicodeDecodeError) as error:
        return InputError(Problem(f"cannot be read: {error}", where=where))


def _commit(project: Project, ref: str) -> str:
    commit = _git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if commit is not None:
        return commit.strip()
    where = str(project.root)
    if _git(project, "rev-parse", "--git-dir") is None:
        raise InputError(Problem("is in no Git repository", where=where, hint="`git init` makes it one"))
    if _git(project, "rev-list", "--max-count=1", "--all") == "":
        raise InputError(Problem("nothing is committed yet", where=where, hint="commit what is to be compared with"))
    raise InputError(Problem(f"Git knows no commit {ref!r} here", where=where, hint="`git fetch` may bring it"))


def _git(project: Project, *arguments: str) -> str | None:
    """Git's output; None when it fails. Raises InputError when there is no Git."""
    try:
        # A fixed program and a list of arguments; a ref comes after --end-of-options.
        done = subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            cwd=project.root,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError:
        raise InputError(
            Problem("Git is not installed", hint="`xmgen review` compares commits of a repository")
        ) from None
    return done.stdout if done.returncode == 0 else None
