"""Content hashes of code: changed code is a changed experiment.

The hash covers names, content and the owner's executable bit. Times, owners and other modes are left out, and so is
what no build would send (`.dockerignore`) or what running the code leaves behind: training once must not make the code
look changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from xmgen.errors import InputError, Problem
from xmgen.project import PRIVATE, PULUMI_FILE, STACKS, TOOLS

LEFT_BEHIND = frozenset(
    {
        "__pycache__",
        ".git",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".venv",
        PRIVATE,
    }
)
"""Folders that tools leave in a source tree; never part of the code, never sent to a build."""

OF_A_PROJECT = frozenset({TOOLS, STACKS})
"""Folders beside a `Pulumi.yaml`: what is compiled from the code, and tools, is not the code. Without this a folder of
code that is the project's own would change by being compiled."""

IGNORE_FILE = ".dockerignore"
"""Says what is code; a comment in it is none."""

LEFT_BEHIND_SUFFIXES = (".pyc", ".pyo", ".egg-info")


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


def digest(path: Path, exclude: Collection[str] = ()) -> str:
    """`sha256:<hex>` of a file or of a folder's files.

    exclude: files of the folder that are not its code, relative to it: the launch script beside the training code. A
             trial that is added to a sweep must not look like changed code.

    Raises InputError when the path does not exist or cannot be read.
    """
    sha = hashlib.sha256()
    try:
        if not path.exists():
            raise InputError(Problem("no such file or folder", where=str(path)))
        if path.is_file():
            _add_file(sha, path.name, path)
        else:
            for relative in files(path, exclude):
                _add_file(sha, relative, path / relative)
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror}", where=str(error.filename or path))) from None
    return f"sha256:{sha.hexdigest()}"


def files(folder: Path, exclude: Collection[str] = ()) -> list[str]:
    """The files of a folder that count as its code: POSIX paths relative to it, sorted.

    Raises InputError when a folder in it that counts cannot be read: nobody could say what is in it.
    """
    ignored = ignore_rules(folder)
    unread: list[OSError] = []
    candidates = set(_walk(folder, unread.append)) - {IGNORE_FILE, *exclude}
    problems = [
        Problem(f"cannot be read: {error.strerror}", str(error.filename), f"or name it in {IGNORE_FILE}: it is no code")
        for error in unread
        # Where there is no folder there are no files.
        if not isinstance(error, FileNotFoundError | NotADirectoryError) and counts(folder, Path(error.filename))
    ]
    if problems:
        raise InputError(*problems)
    if not ignored:
        return sorted(candidates)
    # Imported only where a .dockerignore exists: it pulls in an HTTP client.
    from docker.utils.build import exclude_paths

    kept = {Path(kept).as_posix() for kept in exclude_paths(str(folder), ignored)}
    return sorted(candidates & kept)


def counts(folder: Path, file: Path) -> bool:
    """Whether a file, which need not be there, counts as the code of the folder."""
    if not file.resolve().is_relative_to(folder.resolve()):
        return False
    relative = file.resolve().relative_to(folder.resolve())
    if LEFT_BEHIND.intersection(relative.parts) or relative.name.endswith(LEFT_BEHIND_SUFFIXES):
        return False
    if not (ignored := ignore_rules(folder)):
        return True
    from docker.utils.build import PatternMatcher

    return not PatternMatcher(ignored).matches(relative.as_posix())  # pyright: ignore[reportArgumentType] - takes texts


def own_file(folder: Path, source: Path, starts: Iterable[str]) -> tuple[str, ...]:
    """The file of the experiment itself, relative to the folder of code in which it lies: a trial more in it is no
    changed code. Nothing where it lies elsewhere, and where it is code as well: what is started names it, or a program
    of the folder imports or reads it.

    folder, source: absolute, or both relative to the same. starts: texts that say what is started.
    """
    if not source.is_relative_to(folder) or not folder.is_dir():
        return ()
    if source.suffix == ".py":
        name = re.escape(source.stem)
        named, read = re.compile(rf"\b{name}\b"), re.compile(rf"^[ \t]*(?:from|import)\b.*\b{name}\b", re.MULTILINE)
    else:
        named = read = re.compile(re.escape(source.name))
    programs = (folder / name for name in files(folder) if name.endswith((".py", ".sh")))
    if any(map(named.search, starts)) or any(read.search(text(path)) for path in programs if path != source):
        return ()
    return (source.relative_to(folder).as_posix(),)


def text(path: Path) -> str:
    """Of a file that may be none; what is wrong with it the digest reports."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _walk(folder: Path, unread: Callable[[OSError], object]) -> Iterator[str]:
    """unread: gets what keeps a folder from being read."""
    # followlinks stays off: a link is hashed as a link, so that a cycle cannot hang the compile.
    for parent, folders, names in os.walk(folder, onerror=unread):
        unwanted = LEFT_BEHIND | OF_A_PROJECT if PULUMI_FILE in names else LEFT_BEHIND
        folders[:] = [name for name in folders if name not in unwanted and not name.endswith(LEFT_BEHIND_SUFFIXES)]
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in [*names, *links]:
            if not name.endswith(LEFT_BEHIND_SUFFIXES):
                yield (Path(parent) / name).relative_to(folder).as_posix()


def ignore_rules(folder: Path) -> list[str]:
    """The rules of the folder's `.dockerignore`, without comments."""
    try:
        text = (folder / IGNORE_FILE).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return []
    return rules(text)


def rules(text: str) -> list[str]:
    """The rules of a file like a `.dockerignore`, without comments."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _add_file(sha: _Hash, name: str, path: Path) -> None:
    """Every part is preceded by its length, so that no two trees give the same stream."""
    if path.is_symlink():
        kind, content = b"link", os.fsencode(path.readlink())
    else:
        # A FIFO or socket would block for ever; it is not code either.
        if not path.is_file():
            return
        kind = b"exec" if path.stat().st_mode & stat.S_IXUSR else b"file"
        content = path.read_bytes()
    for part in (kind, os.fsencode(name), content):
        sha.update(len(part).to_bytes(8, "big"))
        sha.update(part)
