"""The files of a project as a commit, or the working tree, has them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xmgen.errors import InputError, Problem
from xmgen.experiment import Experiment
from xmgen.project import LOCK_FILE, PULUMI_FILE, STACKS, Project

_LINK = "120000"
"""Git's mode of a symbolic link."""

_SETTINGS = f"{STACKS}/Pulumi."


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared. stacks: those that are compiled. settings: stacks whose settings are committed, or would be.

    read: the text of a file by its path in the project, None where there is none. Raises InputError for a link, and for
    what is no text.
    """

    stacks: frozenset[str]
    settings: frozenset[str]
    read: Callable[[str], str | None]


def of_commit(project: Project, ref: str) -> Side:
    """Raises InputError when there is no such commit, or the project is not in a Git repository."""
    commit = resolved(project, ref)
    listed = _git(project, "ls-tree", "-r", "-z", commit, "--", f"{STACKS}/", PULUMI_FILE) or ""
    modes = {path: entry.split(" ")[0] for entry, _, path in (line.partition("\t") for line in listed.split("\0"))}

    def read(path: str) -> str | None:
        if path not in modes:
            return None
        if modes[path] == _LINK:
            raise _unreadable(f"{ref}, {path}", "a link, which nothing here follows")
        return _git(project, "cat-file", "blob", f"{commit}:./{path}")

    return _side(modes, read)


def of_working_tree(project: Project) -> Side:
    """What is committed of it or would be; files that Git ignores are one user's own."""
    listed = _git(project, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", f"{STACKS}/")
    paths = dict.fromkeys((listed or "").split("\0"), "")

    def read(path: str) -> str | None:
        file = project.root / path
        if any(part.is_symlink() for part in (file, *file.parents) if part.is_relative_to(project.root / STACKS)):
            raise _unreadable(path, "a link, which nothing here follows")
        try:
            # Nor a device, which may never end.
            return file.read_text(encoding="utf-8") if file.is_file() else None
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(path, str(error)) from None

    side = _side(paths, read)
    there = frozenset(stack for stack in side.settings if project.settings(stack).is_file())
    return Side(side.stacks & set(project.stacks()), there, read)


def changed_paths(project: Project, base: str, head: str | None) -> frozenset[str]:
    """Relative to the project's folder: what differs between two commits, or a commit and the working tree."""
    commits = [resolved(project, ref) for ref in (base, head) if ref is not None]
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


def _side(paths: Mapping[str, str], read: Callable[[str], str | None]) -> Side:
    parts = [path.split("/") for path in paths]
    stacks = frozenset(part[1] for part in parts if len(part) == 3 and part[2] == LOCK_FILE)
    ended = [path for path in paths if path.startswith(_SETTINGS) and path.endswith(".yaml")]
    settings = (path.removeprefix(_SETTINGS).removesuffix(".yaml") for path in ended)
    return Side(stacks, frozenset(name for name in settings if name and "/" not in name), read)


def _unreadable(where: str, why: str) -> InputError:
    return InputError(Problem(f"cannot be read: {why}", where=where))


def resolved(project: Project, ref: str) -> str:
    """The hash of a commit. Raises InputError when there is none."""
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
