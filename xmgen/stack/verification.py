"""Whether what would run is what it should be: the files of a stack, and those of the project that every stack uses.

Pure, and runs nothing: a mapping of paths to modes and contents, of a commit or of the working tree, is held against
what xmgen writes for the experiment in the lock file. Where another version of xmgen wrote it, the digests in the lock
file take the place of that. They are the weaker proof: whoever changed a file could change its digest, too.
"""

from __future__ import annotations

import posixpath
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from xmgen import __version__
from xmgen.errors import InputError, XmgenError
from xmgen.experiment import Experiment
from xmgen.project import LOCK_FILE, PULUMI_FILE, STACKS, VIRTUALENV
from xmgen.stack import init, lock, tree
from xmgen.stack.tree import File, Tree

Render = Callable[[Experiment], Mapping[str, str]]
"""The files of a stack's folder, of its experiment. Raises XmgenError for one that cannot be planned."""

Proof = Literal["rendered", "digests", "none"]
"""Against what the files were held: what this xmgen writes, digests in the lock file, or nothing at all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """path: in the project. fault: of it, the rest of a sentence that begins with the path."""

    path: str
    fault: str

    def __str__(self) -> str:
        return f"{self.path} {self.fault}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """version: of the xmgen that wrote the stack, as its lock file says; empty where it says nothing."""

    proof: Proof
    version: str
    findings: tuple[Finding, ...]


def of_stack(stack: str, files: Tree, render: Render) -> Verdict:
    """files: what its folder holds, by path in it."""
    foreign = {path: fault for path, file in sorted(files.items()) if (fault := _foreign(path, file))}
    present = {path: content for path, content in tree.regular(files).items() if path not in foreign}
    proof, version, faults = _held(stack, present, render)
    found = [Finding(f"{STACKS}/{stack}/{path}", fault) for path, fault in sorted({**faults, **foreign}.items())]
    return Verdict(proof, version, tuple(found))


def _foreign(path: str, file: File) -> str:
    """What is wrong with a file whatever it holds."""
    mode, _ = file
    if stat.S_ISLNK(mode):
        return "is a link, which was not read"
    if not stat.S_ISREG(mode):
        return "is no file, and was not read"
    if tree.is_bytecode(path):
        return "is bytecode, which Python may run in place of the source"
    return ""


def _held(stack: str, present: Mapping[str, bytes], render: Render) -> tuple[Proof, str, dict[str, str]]:
    """The proof, the version, and what is wrong by path."""
    try:
        written = lock.parse(present.get(LOCK_FILE, b""), LOCK_FILE, stack)
    except InputError:
        return "none", "", {LOCK_FILE: "cannot be read, and nothing else says what the stack's files should be"}
    faults: dict[str, str] = {}
    if written.xmgen == __version__:
        try:
            expected = {path: text.encode() for path, text in render(written.experiment).items()}
        except XmgenError as error:
            faults = {LOCK_FILE: f"is of an experiment that cannot be planned: {error.problems[0].message}"}
        else:
            fault = f"is not what xmgen {__version__} writes for the experiment in its lock file"
            return "rendered", written.xmgen, _differing(present, expected, fault)
    if not written.digests:
        return "none", written.xmgen, faults or {LOCK_FILE: "records no digests of its stack's files"}
    digests = {path: lock.digest(content) for path, content in present.items() if path != LOCK_FILE}
    return "digests", written.xmgen, _differing(digests, written.digests, "is not what its lock file records") | faults


def _differing(present: Mapping[str, object], expected: Mapping[str, object], fault: str) -> dict[str, str]:
    return {
        path: "is missing" if path not in present else fault if path in expected else "was not written by xmgen"
        for path in present.keys() | expected.keys()
        if present.get(path) != expected.get(path)
    }


_HARMLESS = frozenset(f"{STACKS}/{name}" for name in (".gitattributes", ".gitignore", "README.md"))


def of_project(files: Tree) -> tuple[Finding, ...]:
    """What stands beside the stacks. files: by path in the project, as `tree` gives them.

    What is missing is no finding: nothing runs then.
    """
    texts = {file.path: file.text.encode() for file in init.files(virtualenv=True) if file.path.startswith(STACKS)}
    stacks = tree.stacks(files)
    found: list[Finding] = []
    for path, (mode, content) in sorted(files.items()):
        first, _, rest = path.partition("/")
        if first in tree.NEVER_COMMITTED:
            if not any(finding.path == first for finding in found):
                found.append(Finding(first, "is committed, and what is in it would run here or stand for what was run"))
        elif (first == STACKS and rest.partition("/")[0] in stacks) or path in _HARMLESS:
            continue
        elif fault := _foreign(path, (mode, content)):
            found.append(Finding(path, fault))
        elif path == PULUMI_FILE:
            found += (Finding(path, fault) for fault in _of_pulumi_file(content))
        elif first != STACKS:
            found.append(Finding(path, f"is what Pulumi may read in place of {PULUMI_FILE}"))
        elif path in texts and content != texts[path]:
            found.append(Finding(path, "is not what `xmgen init` writes; it writes one where there is none"))
        elif path not in texts and not _is_settings(path):
            found.append(Finding(path, "is of no compiled stack"))
    return tuple(found)


def _is_settings(path: str) -> bool:
    name = path.removeprefix(f"{STACKS}/")
    return "/" not in name and name.startswith("Pulumi.") and name.endswith(".yaml") and name != PULUMI_FILE


_USUAL: Mapping[str, object] = {
    "main": STACKS,
    "plugins.providers": [{"name": "xmgen", "path": posixpath.dirname(init.PLUGIN)}],
    "runtime.name": "python",
    "runtime.options.toolchain": "pip",
    "runtime.options.virtualenv": VIRTUALENV,
    "stackConfigDir": STACKS,
}
"""What `xmgen init` writes, of the keys of Pulumi.yaml that say what Pulumi runs and which settings it reads."""


def _of_pulumi_file(content: bytes) -> Iterator[str]:
    """What it says of `_USUAL` and is something else."""
    import yaml

    try:
        said: object = yaml.safe_load(content.decode())
    except (UnicodeDecodeError, yaml.YAMLError):
        said = None
    if not isinstance(said, dict):
        yield "cannot be read"
        return
    for key, value in _flat(cast("dict[object, object]", said)):
        is_path = key in ("main", "stackConfigDir")
        if (posixpath.normpath(str(value)) if is_path else value) != _USUAL.get(key):
            usual = f"writes {_USUAL[key]}" if key in _USUAL else "writes none"
            yield f"has {key}: {value}, where `xmgen init` {usual}"


def _flat(said: Mapping[object, object], above: str = "") -> Iterator[tuple[str, object]]:
    """The values below the keys that `_USUAL` is of, and `packages`, by their keys with dots."""
    for name, value in said.items():
        key = f"{above}{name}"
        if not above and key not in ("main", "packages", "plugins", "runtime", "stackConfigDir"):
            continue
        if key == "runtime" and isinstance(value, str):
            yield "runtime.name", value
        elif isinstance(value, dict) and value:
            yield from _flat(cast("dict[object, object]", value), f"{key}.")
        elif value not in (None, {}):
            yield key, value
