"""What Git says of a project's folder. Nothing here runs what a repository holds: no hook, filter or external diff."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from xmgen.errors import InputError, OperationError, Problem


def run(folder: Path, *arguments: str, given: bytes = b"") -> bytes | None:
    """Git's output; None when it fails. Raises InputError when there is no Git."""
    try:
        # A fixed program and a list of arguments; a ref comes after --end-of-options.
        done = subprocess.run(  # noqa: S603
            ["git", "--no-optional-locks", *arguments],  # noqa: S607
            cwd=folder,
            capture_output=True,
            input=given,
        )
    except FileNotFoundError:
        raise InputError(
            Problem("Git is not installed", hint="`xmgen review` compares commits of a repository")
        ) from None
    return done.stdout if done.returncode == 0 else None


def paths(output: bytes) -> list[str]:
    """Of what Git prints with `-z`."""
    return [os.fsdecode(path) for path in output.split(b"\0") if path]


def tracked(folder: Path, *below: str) -> frozenset[str] | None:
    """The paths in `folder` that Git tracks, of those at or below some; None where no Git says so."""
    try:
        output = run(folder, "ls-files", "-z", "--", *below)
    except InputError:
        return None
    return None if output is None else frozenset(paths(output))


def is_ignored(folder: Path, path: str) -> bool:
    """Whether Git leaves it out of commits. False also where no Git says so."""
    try:
        return run(folder, "check-ignore", "--quiet", "--", path) is not None
    except InputError:
        return False


def changed(folder: Path, *commits: str) -> frozenset[str]:
    """The paths in `folder` that differ between two commits, or a commit and the working tree."""
    command = ("diff", "--name-only", "--no-renames", "--no-ext-diff", "--relative", "-z")
    return frozenset(paths(run(folder, *command, *commits, "--") or b""))


def entries(folder: Path, commit: str, *below: str) -> list[tuple[int, str, str]]:
    """Of a commit, at or below some paths in `folder`: mode, object id and path of each entry; folders are none."""
    output = run(folder, "ls-tree", "-r", "-z", commit, "--", *below) or b""
    lines = (os.fsdecode(line).partition("\t") for line in output.split(b"\0") if line)
    return [(int(head.split()[0], 8), head.split()[2], path) for head, _, path in lines]


def contents(folder: Path, objects: Sequence[str]) -> Iterator[bytes]:
    """The content of each blob, in the order asked for. Raises OperationError for one that Git does not have."""
    output = run(folder, "cat-file", "--batch", given="".join(f"{name}\n" for name in objects).encode()) or b""
    start = 0
    for name in objects:
        head, _, _ = output[start : start + 200].partition(b"\n")
        if len(words := head.split()) != 3:
            raise OperationError(Problem(f"Git does not have the object {name}", where=str(folder)))
        begin = start + len(head) + 1
        yield output[begin : begin + int(words[2])]
        start = begin + int(words[2]) + 1
