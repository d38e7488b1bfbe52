"""The files of a project as a commit, or the working tree, has them."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from xmgen import git
from xmgen.errors import InputError, Problem
from xmgen.project import LOCK_FILE, STACKS, Project
from xmgen.stack import tree
from xmgen.stack.tree import File, Tree

_SETTINGS = f"{STACKS}/Pulumi."


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared. stacks: those that are compiled. settings: stacks whose settings are committed, or would be.

    read: the text of a file by its path in the project, None where there is none. Raises InputError for a link, and for
    what is no text. files: all of it, as `tree` gives them.
    """

    stacks: frozenset[str]
    settings: frozenset[str]
    read: Callable[[str], str | None]
    files: Tree = field(default_factory=dict[str, File])


def of_commit(project: Project, ref: str) -> Side:
    """Raises InputError when there is no such commit, or the project is not in a Git repository."""
    files = tree.of_commit(project.root, _commit(project, ref))
    return _side(files, files, f"{ref}, ")


def of_working_tree(project: Project) -> Side:
    """What is committed of it or would be; stacks and settings that Git ignores are one user's own."""
    files = tree.of_working_tree(project.root)
    listed = git.run(project.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", STACKS)
    return _side(files, set(git.paths(listed or b"")) & tree.regular(files).keys(), "")


def changed_paths(project: Project, base: str, head: str | None) -> frozenset[str]:
    """Relative to the project's folder: what differs between two commits, or a commit and the working tree."""
    return git.changed(project.root, *(_commit(project, ref) for ref in (base, head) if ref is not None))


def _side(files: Tree, paths: Collection[str], where: str) -> Side:
    """paths: of the files that are compared. where: of which side, for errors."""

    def read(path: str) -> str | None:
        if path not in files:
            return None
        mode, content = files[path]
        if not stat.S_ISREG(mode):
            what = "a link, which nothing here follows" if stat.S_ISLNK(mode) else "no file"
            raise InputError(Problem(f"cannot be read: {what}", where=f"{where}{path}"))
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise InputError(Problem(f"cannot be read: {error}", where=f"{where}{path}")) from None

    parts = [path.split("/") for path in paths]
    stacks = frozenset(part[1] for part in parts if len(part) == 3 and part[2] == LOCK_FILE)
    ended = (path for path in paths if path.startswith(_SETTINGS) and path.endswith(".yaml"))
    settings = (path.removeprefix(_SETTINGS).removesuffix(".yaml") for path in ended)
    return Side(stacks, frozenset(name for name in settings if name and "/" not in name), read, files)


def _commit(project: Project, ref: str) -> str:
    root = project.root
    commit = git.run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if commit is not None:
        return commit.decode().strip()
    where = str(root)
    if git.run(root, "rev-parse", "--git-dir") is None:
        raise InputError(Problem("is in no Git repository", where=where, hint="`git init` makes it one"))
    if git.run(root, "rev-list", "--max-count=1", "--all") == b"":
        raise InputError(Problem("nothing is committed yet", where=where, hint="commit what is to be compared with"))
    raise InputError(Problem(f"Git knows no commit {ref!r} here", where=where, hint="`git fetch` may bring it"))
