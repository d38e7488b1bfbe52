"""A stack's folder on disk: replaced as a whole or not at all, and only if xmgen wrote it."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from xmgen.errors import OperationError, Problem
from xmgen.plan.model import HEADER
from xmgen.project import LOCK_FILE, STACKS, Project
from xmgen.stack import staging, tree


def folder(root: Path, stack: str) -> Path:
    return Project(root=root).stack(stack)


def write(root: Path, stack: str, files: Mapping[str, str]) -> bool:
    """Make the folder hold exactly `files`. Returns whether anything changed.

    Raises OperationError for a folder, or a file in it, that xmgen did not write: nothing of the user's is lost.
    """
    target = folder(root, stack)
    target.parent.mkdir(parents=True, exist_ok=True)
    with staging.alone(target.parent):
        if os.path.lexists(target):
            refuse_foreign(root, stack)
            if tree.regular(tree.of_folder(target)) == {path: text.encode() for path, text in files.items()}:
                return False
        _replace(target, files)
    return True


def _replace(target: Path, files: Mapping[str, str]) -> None:
    place = staging.make(target)
    try:
        new = place / staging.NEW
        for path, text in files.items():
            file = new / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        if target.exists():
            target.rename(place / staging.OLD)
        try:
            new.rename(target)
        except OSError:
            (place / staging.OLD).rename(target)
            raise
    except OSError as error:
        raise OperationError(Problem(f"cannot be written: {error.strerror}", where=str(target))) from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def difference(stack: str, present: Mapping[str, bytes], files: Mapping[str, str]) -> str:
    """A unified diff from what the stack's folder holds to what it should hold; empty when they are equal."""
    lines: list[str] = []
    for path in sorted(present.keys() | files.keys()):
        old = present.get(path, b"").decode(errors="replace")
        new = files.get(path, "")
        if old != new or path not in present or path not in files:
            name = f"{STACKS}/{stack}/{path}"
            lines += difflib.unified_diff(
                _lines(old),
                _lines(new),
                f"a/{name}" if path in present else os.devnull,
                f"b/{name}" if path in files else os.devnull,
            )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """With their ends. `str.splitlines` takes more for an end than a terminal and a diff do."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def refuse_foreign(root: Path, stack: str) -> None:
    """Raise OperationError where something that xmgen did not write is in the way of a stack's folder."""
    target = folder(root, stack)
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir() or (any(target.iterdir()) and not (target / LOCK_FILE).is_file()):
        raise OperationError(
            Problem(
                "xmgen did not write this, and leaves it alone",
                where=str(target),
                hint="compile to another stack with --stack, or move it away",
            )
        )
    foreign = [path for path, (_, content) in tree.of_folder(target).items() if not _is_generated(path, content)]
    if foreign:
        raise OperationError(
            *(
                Problem(
                    "xmgen did not write this file, and a compile would remove it",
                    where=str(target / path),
                    hint="move it out of the stack's folder",
                )
                for path in foreign
            )
        )


def _is_generated(path: str, content: bytes) -> bool:
    return path == LOCK_FILE or tree.is_bytecode(path) or HEADER.encode() in content.split(b"\n", 1)[0]
