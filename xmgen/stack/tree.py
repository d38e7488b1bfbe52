"""The files that a project's stacks are made of, as a commit or the working tree has them. No link is followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from xmgen import git
from xmgen.project import LOCK_FILE, PRIVATE, PULUMI_FILE, STACKS, TOOLS, VIRTUALENV
from xmgen.stack import staging

File = tuple[int, bytes]
"""Git's mode, and the content. Only of a regular file (0o100644, 0o100755) is there one, as nothing else is read."""

Tree = Mapping[str, File]
"""By POSIX path: in the project, or in a stack's folder."""

PROJECT_FILES = ("Pulumi.json", PULUMI_FILE, "Pulumi.yml")
"""What Pulumi takes for a project's file, the first there is: `encoding.Exts` of pulumi/sdk/go/common, v3.274.1."""

NEVER_COMMITTED = (VIRTUALENV, TOOLS, PRIVATE)
"""Folders that belong to one machine, and hold what xmgen and Pulumi run, or Pulumi's state."""


def of_commit(root: Path, commit: str) -> dict[str, File]:
    """At and below `stacks/`, the project's file, and what there should not be (`NEVER_COMMITTED`, without content)."""
    found = git.entries(root, commit, STACKS, *PROJECT_FILES, *NEVER_COMMITTED)
    read = [stat.S_ISREG(mode) and path.split("/")[0] not in NEVER_COMMITTED for mode, _, path in found]
    texts = git.contents(root, [name for (_, name, _), wanted in zip(found, read, strict=True) if wanted])
    return {path: (mode, next(texts) if wanted else b"") for (mode, _, path), wanted in zip(found, read, strict=True)}


def of_working_tree(root: Path) -> dict[str, File]:
    """The same of what is there, but what this machine made and no commit brought: caches of Python's, a compile that
    goes on, and `NEVER_COMMITTED` as far as Git does not track it.

    Raises OSError for what cannot be read.
    """
    tracked = git.tracked(root, STACKS, *NEVER_COMMITTED) or frozenset[str]()
    tree = {path: (stat.S_IFREG | 0o644, b"") for path in sorted(tracked) if path.split("/")[0] in NEVER_COMMITTED}
    for name in PROJECT_FILES:
        if os.path.lexists(root / name):
            tree[name] = _file(root / name)
    tree |= {f"{STACKS}/{path}": file for path, file in _below(root / STACKS, root, tracked)}
    return tree


def of_folder(folder: Path) -> dict[str, File]:
    """What a stack's folder holds but caches of Python's; the paths are relative to it."""
    return dict(_below(folder, folder, frozenset()))


def stacks(tree: Tree) -> dict[str, dict[str, File]]:
    """The folders of the compiled stacks by their names, sorted; the paths are relative to them."""
    names = {
        path.split("/")[1]
        for path, (mode, _) in tree.items()
        if path.count("/") == 2
        and path.startswith(f"{STACKS}/")
        and path.endswith(f"/{LOCK_FILE}")
        and stat.S_ISREG(mode)
    }
    result: dict[str, dict[str, File]] = {name: {} for name in sorted(names)}
    for path, file in tree.items():
        first, _, rest = path.removeprefix(f"{STACKS}/").partition("/")
        if first in result and path.startswith(f"{STACKS}/"):
            result[first][rest] = file
    return result


def regular(tree: Tree) -> dict[str, bytes]:
    """The content of what is a file."""
    return {path: content for path, (mode, content) in tree.items() if stat.S_ISREG(mode)}


def is_bytecode(path: str) -> bool:
    return "__pycache__" in path.split("/") or path.endswith((".pyc", ".pyo"))


def _below(folder: Path, root: Path, tracked: frozenset[str]) -> Iterator[tuple[str, File]]:
    """Of `folder`, whatever it is. tracked: paths in `root`."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink():
        yield "", _file(folder)
    pending = [folder]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            place = path.relative_to(root).as_posix()
            if not path.is_symlink() and path.is_dir():
                if staging.is_staging(path) and not any(name.startswith(f"{place}/") for name in tracked):
                    continue
                pending.append(path)
            elif place in tracked or not _is_own_cache(path):
                yield path.relative_to(folder).as_posix(), _file(path)


def _file(path: Path) -> File:
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        # Neither where a link leads, nor a device, which may never end.
        return stat.S_IFMT(mode), b""
    return stat.S_IFREG | (0o755 if mode & stat.S_IXUSR else 0o644), path.read_bytes()


def _is_own_cache(path: Path) -> bool:
    """Whether it is a cache that Python writes by itself: it is checked against its source whenever it is used.

    The first 16 bytes of such a file are a magic number, flags (0: the rest are the time and the size of the source,
    PEP 552) and those two. A checkout sets the time anew, so that none which a commit brought is ever used.
    """
    if path.parent.name != "__pycache__" or path.suffix != ".pyc" or path.is_symlink() or not path.is_file():
        return False
    source = path.parent.parent / f"{path.name.split('.')[0]}.py"
    with path.open("rb") as file:
        return file.read(8)[4:] == bytes(4) and not source.is_symlink() and source.is_file()
