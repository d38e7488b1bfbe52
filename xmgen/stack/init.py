"""`xmgen init`: makes any folder a project.

What exists is never overwritten: a file that differs from what would be written is kept and listed. The one reason to
refuse is a Pulumi.yaml of a project of another kind.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from xmgen import names, setting_rules
from xmgen.errors import InputError, OperationError, Problem
from xmgen.project import NAME, PULUMI_FILE, STACKS, read, root_around

PLUGIN = "stacks/.plugin/pulumi-resource-xmgen"


@dataclass(frozen=True, slots=True)
class InitFile:
    """path: POSIX path in the project."""

    path: str
    text: str
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Initialised:
    """Paths in the project: what was written, what was there with the same content, and what was there and differs.

    around: the folder of a project that this one is made in, and hides from commands here.
    """

    root: Path
    around: Path | None
    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    kept: tuple[str, ...]


def files(*, virtualenv: bool, name: str = NAME) -> tuple[InitFile, ...]:
    """The files of a new project. virtualenv: whether it has a `.venv`, which Pulumi then uses."""
    from xmgen.templating import render, templates_folder

    folder = templates_folder() / "init"

    def text(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    return (
        InitFile(
            PULUMI_FILE,
            render("init/Pulumi.yaml.j2", virtualenv=virtualenv, name=name, settings=setting_rules.SETTINGS),
        ),
        InitFile("stacks/__main__.py", text("stacks.py")),
        InitFile(PLUGIN, text("pulumi-resource-xmgen"), executable=True),
        InitFile(".gitignore", text("gitignore")),
        InitFile("first/experiment.yaml", text("first/experiment.yaml")),
        InitFile("first/train.py", text("first/train.py")),
    )


def project_name(root: Path) -> str:
    """What the project in a folder is to be called: projects with one backend know their stacks by it.

    The folder's name, as far as it can be one.
    """
    name = names.slug(Path(os.path.realpath(root)).name) or NAME
    return f"{name}-{NAME}" if name in setting_rules.NAMESPACES else name


def init(root: Path, name: str = NAME) -> Initialised:
    """Write a project into `root`, which is created when it does not exist. One that is there keeps its name.

    Raises InputError, having written nothing, when the folder is another kind of Pulumi project or cannot become one,
    and when it is where a project has its stacks.
    """
    root = Path(os.path.realpath(root))
    _refuse_stacks(root)
    if (root / PULUMI_FILE).exists():
        name = read(root).name
    wanted = files(virtualenv=(root / ".venv").is_dir(), name=name)
    problems = [
        Problem("is not a folder", where=str(folder))
        for folder in sorted({root, *((root / file.path).parent for file in wanted)})
        if os.path.lexists(folder) and not folder.is_dir()
    ]
    if problems:
        raise InputError(*problems)
    present = {file.path: _present(root / file.path) for file in wanted}
    for file in wanted:
        if present[file.path] is None:
            _write(root / file.path, file)
    return Initialised(
        root=root,
        around=root_around(root.parent),
        written=tuple(file.path for file in wanted if present[file.path] is None),
        unchanged=tuple(file.path for file in wanted if present[file.path] == file.text),
        kept=tuple(file.path for file in wanted if present[file.path] not in (None, file.text)),
    )


def _refuse_stacks(root: Path) -> None:
    """A project among generated stacks would be in the way of the next compile, and hide the project around it."""
    for around in root.parents:
        if root.is_relative_to(around / STACKS) and (around / PULUMI_FILE).is_file():
            try:
                read(around)
            except InputError:
                # Of another kind: its folder of that name is its own affair.
                continue
            hint = "name a folder beside it"
            raise InputError(Problem(f"belongs to the stacks of the project {around}", where=str(root), hint=hint))


def _present(path: Path) -> str | None:
    """The text that stands at `path`; None when nothing does. A link that leads nowhere or a folder is something."""
    if not os.path.lexists(path):
        return None
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _write(path: Path, file: InitFile) -> None:
    """Write a file that appears whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(file.text)
        Path(temporary).chmod(0o755 if file.executable else 0o644)
        Path(temporary).replace(path)
    except OSError as error:
        raise OperationError(Problem(f"cannot be written: {error.strerror}", where=str(path))) from None
