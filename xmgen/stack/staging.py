"""A compile half-way: where it makes the folder of a stack, and what one that was killed has left there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

from xmgen.errors import OperationError, Problem

NEW, OLD = "new", "old"
"""In the staging folder: what is to become the stack's folder, and what was it."""

_STAGING = re.compile(r"\.([a-z0-9-]+)\.[a-z0-9_]{8}")
"""The name of the staging folder; `tempfile` appends the last part."""


def make(target: Path) -> Path:
    """A new staging folder, beside the folder that it is for."""
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))


def recover(stacks: Path) -> None:
    """Put back the folder of a stack whose compile was killed half-way, and remove what else it left.

    stacks: the folder of the stacks' folders. Raises OperationError where one cannot be put back. Waits for a compile
    that goes on.
    """
    if next(_left(stacks), None) is None:
        return
    with alone(stacks) as surely:
        if surely:
            put_back(stacks)


def put_back(stacks: Path) -> None:
    """No folder is lost: until the new one has its name, the old one is there."""
    for left, stack in list(_left(stacks)):
        old, target = left / OLD, stacks / stack
        try:
            if old.is_dir() and not os.path.lexists(target):
                old.rename(target)
        except OSError as error:
            hint = f"a compile was killed; move {old} there"
            raise OperationError(Problem(f"cannot be put back: {error.strerror}", str(target), hint)) from None
        shutil.rmtree(left, ignore_errors=True)


def _left(stacks: Path) -> Iterator[tuple[Path, str]]:
    """What compiles left, or work on: the folder, and whose stack it is for."""
    for path in sorted(stacks.glob(".*")):
        found = _STAGING.fullmatch(path.name)
        if found and path.is_dir() and not path.is_symlink() and {each.name for each in path.iterdir()} <= {NEW, OLD}:
            yield path, found[1]


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
