"""Where things live: the project's folders, in one place.

A project is a folder with a Pulumi.yaml whose `main` is `stacks/`. `xmgen init` makes one.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path

from xmgen.errors import InputError, Problem
from xmgen.setting_rules import PLUGINS

PULUMI_FILE = "Pulumi.yaml"
STACKS = "stacks"
TOOLS = ".tools"
VIRTUALENV = ".venv"
NAME = "experiments"
"""Of a project that has none of its own."""
PRIVATE = ".xmgen"
OUTPUT_VARIABLE = "XMGEN_OUTPUT_DIR"
"""Names the folder of a job's outputs, wherever it runs."""
LOCK_FILE = "experiment.lock.json"
"""The serialised Experiment; a folder below `stacks/` that holds one is a compiled stack."""


@dataclass(frozen=True, slots=True)
class Project:
    """root: the folder of Pulumi.yaml, absolute. name: the Pulumi project's name. backend: the state's URL when
    Pulumi.yaml names one.
    """

    root: Path
    name: str = NAME
    backend: str | None = None

    @property
    def tools(self) -> Path:
        """Where `tools/` puts a Pulumi CLI of its own."""
        return self.root / TOOLS

    @property
    def private(self) -> Path:
        """What belongs to this machine and is never committed: logs, outputs, local state."""
        return self.root / PRIVATE

    @property
    def local_backend(self) -> Path:
        """Pulumi state where the user has no backend of their own."""
        return self.private / "backend"

    def stack(self, stack: str) -> Path:
        """The folder of a compiled stack."""
        return self.root / STACKS / stack

    def lock(self, stack: str) -> Path:
        return self.stack(stack) / LOCK_FILE

    def settings(self, stack: str) -> Path:
        """The user's settings of a stack; Pulumi's own file."""
        return self.root / STACKS / f"Pulumi.{stack}.yaml"

    def runs(self, stack: str) -> Path:
        """Logs, outputs and journals of the trials that ran on this machine, one folder per work unit."""
        return self.private / stack / "runs"

    def stacks(self) -> list[str]:
        """The names of the compiled stacks, sorted. One that may not be read is among them.

        Raises OSError when their folder cannot be read.
        """
        try:
            folders = [path for path in (self.root / STACKS).iterdir() if not path.is_symlink()]
        except FileNotFoundError:
            return []
        return sorted(path.name for path in folders if _is_file(path / LOCK_FILE))


def controllers(stack: str) -> str:
    """Where `contrib.parameter_controller` packages its programs, relative to the project's folder."""
    return f"{PRIVATE}/{stack}/controllers"


def _is_file(path: Path) -> bool:
    """Whether it is one, or nobody says so. No link is: it may lead to a device, or out of the project."""
    try:
        return path.is_file() and not path.is_symlink()
    except PermissionError:
        return True


def find(start: Path | None = None) -> Project:
    """The project that holds `start` (default: the working directory).

    Raises InputError when there is none, or when the nearest Pulumi.yaml is of a project of another kind.
    """
    folder = (start or Path.cwd()).resolve()
    if (root := root_around(folder)) is None:
        hint = "`xmgen init` makes a project"
        raise InputError(Problem(f"no {PULUMI_FILE} here or in a folder above", where=str(folder), hint=hint))
    return read(root)


def root_around(folder: Path) -> Path | None:
    """The nearest folder with a Pulumi.yaml, this one or one above; None when there is none. folder: absolute."""
    return next((each for each in (folder, *folder.parents) if (each / PULUMI_FILE).is_file()), None)


def read(root: Path) -> Project:
    """The project of a folder with a Pulumi.yaml; raises InputError when it is not one of ours."""
    import yaml

    file = root / PULUMI_FILE
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(Problem(f"cannot be read: {' '.join(str(error).split())}", where=str(file))) from None
    if not isinstance(content, dict) or posixpath.normpath(str(content.get("main"))) != STACKS:  # pyright: ignore
        raise InputError(
            Problem(
                "belongs to a Pulumi project of another kind",
                where=str(file),
                hint=f"xmgen's projects have `main: {STACKS}/`; `xmgen init` makes one in a folder of its own",
            )
        )
    name = str(content.get("name", ""))  # pyright: ignore
    if name in PLUGINS:
        raise InputError(
            Problem(
                f"the project is called {name!r}, like a provider of Pulumi's, which would get its settings",
                where=str(file),
                hint=f"`name: {NAME}`",
            )
        )
    return Project(root=root, name=name, backend=_backend(content))  # pyright: ignore


def _backend(content: dict[str, object]) -> str | None:
    backend = content.get("backend")
    return str(backend["url"]) if isinstance(backend, dict) and backend.get("url") else None  # pyright: ignore
