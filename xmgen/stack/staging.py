"""A compile half-way: where it makes the folder of a stack, and what one that was killed has left there.

Only what writes stacks puts back what was left, and only where no commit can have brought it: else a folder of a pull
request would become a stack that nobody reviewed as one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

from xmgen import git
from xmgen.errors import OperationError, Problem

NEW, OLD = "new", "old"
"""In the staging folder: what is to become the stack's folder, and what was it."""

_STAGING = re.compile(r"\.([a-z0-9-]+)\.[a-z0-9_]{8}")
"""The name of the staging folder; `tempfile` appends the last part."""


def make(target: Path) -> Path:
    """A new staging folder, beside the folder that it is for."""
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))


def recover(stacks: Path) -> list[str]:
    """Put back the folders of stacks whose compile was killed half-way, and remove what else it left.

    stacks: the folder of the stacks' folders. Returns the names of the stacks that were put back. Raises OperationError
    where one cannot be. Waits for a compile that goes on.
    """
    if next(_left(stacks), None) is None:
        return []
    with alone(stacks) as surely:
        return _put_back(stacks) if surely else []


def _put_back(stacks: Path) -> list[str]:
    """No folder is lost: until the new one has its name, the old one is there."""
    names: list[str] = []
    for left, stack in list(_left(stacks)):
        if not _is_ours(left):
            continue
        old, target = left / OLD, stacks / stack
        try:
            if old.is_dir() and not os.path.lexists(target):
                old.rename(target)
                names.append(stack)
        except OSError as error:
            hint = f"a compile was killed; move {old} there"
            raise OperationError(Problem(f"cannot be put back: {error.strerror}", str(target), hint)) from None
        shutil.rmtree(left, ignore_errors=True)
    return names


def of_stack(stacks: Path, stack: str) -> Path | None:
    """What a compile of a stack that was killed has left; None when there is nothing."""
    return next((left for left, name in _left(stacks) if name == stack and _is_ours(left)), None)


def _left(stacks: Path) -> Iterator[tuple[Path, str]]:
    """What compiles left, or work on: the folder, and whose stack it is for."""
    for path in sorted(stacks.glob(".*")):
        if stack := is_staging(path):
            yield path, stack


def is_staging(path: Path) -> str | None:
    """Whose stack the folder is for, where it looks like one that a compile made."""
    name = _STAGING.fullmatch(path.name)
    if name is None or path.is_symlink() or not path.is_dir():
        return None
    return name[1] if {inside.name for inside in path.iterdir()} <= {NEW, OLD} else None


def _is_ours(left: Path) -> bool:
    """Whether this machine made it: Git tracks nothing of it, and leaves it out of commits. Without Git, any is."""
    tracked = git.tracked(left.parent, left.name)
    return tracked is None or (not tracked and git.is_ignored(left.parent, left.name))


@contextlib.contextmanager
def alone(folder: Path) -> Generator[bool]:
    """One compile at a time looks at a project's stacks and replaces one of them. Gives whether it surely is alone."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # A file system without locks is as good as it was before.
        locked = False
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            locked = True
        yield locked
    finally:
        os.close(descriptor)
