"""What an experiment.yaml may refer to: the names it defines, and the files of the project.

It comes to the models as pydantic's validation context, so that a wrong reference is reported together with everything
else. Without it, as for the JSON Schema, any text will do.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Self, cast

from pydantic import AfterValidator, Field, ValidationInfo

from xmgen.errors import did_you_mean
from xmgen.experiment import Reference
from xmgen.frontends.spec.base import Text, error


@dataclass(frozen=True, slots=True)
class Context:
    """root: the project's folder. here: the file's folder. Both absolute."""

    root: Path
    here: Path
    executables: frozenset[str]
    work_units: frozenset[str]
    references: dict[Reference, None] = field(default_factory=dict["Reference", None])
    """What the file leaves to the stack's configuration, as it is found."""

    @classmethod
    def of(cls, raw: object, *, root: Path, here: Path) -> Self:
        """Of an unchecked file: the names that stand where names belong."""
        return cls(
            root=root,
            here=here,
            executables=frozenset(section(raw, "executables")),
            work_units=frozenset(section(raw, "work_units")),
        )

    def folder(self, path: str) -> str:
        """A folder beside the file, as a POSIX path relative to the project."""
        found = self._path(path)
        if not found.is_dir():
            raise error(f"{path!r} is a file, not a folder" if found.exists() else f"there is no folder {path!r}")
        return self._relative(found)

    def file(self, path: str) -> str:
        """A file beside the file, as a POSIX path relative to the project."""
        found = self._path(path)
        if not found.is_file():
            raise error(f"{path!r} is a folder, not a file" if found.exists() else f"there is no file {path!r}")
        return self._relative(found)

    def in_project(self, path: str) -> None:
        """Refuses a path, relative to the project, where there is no file."""
        if not (self.root / path).is_file():
            raise error(f"there is no file {path!r}")

    def volume(self, path: str) -> str:
        """A path on this machine; `./data` and `../data` are relative to the file, and become so to the project."""
        if path.split("/", 1)[0] not in (".", ".."):
            return path
        relative = self._relative(self._path(path))
        return relative if relative == "." else f"./{relative}"

    def _path(self, path: str) -> Path:
        if "\0" in path or PurePosixPath(path).is_absolute():
            raise error(f"{path!r} is not a relative path", "write it relative to this file")
        found = Path(os.path.normpath(self.here / path))
        if not found.is_relative_to(self.root):
            raise error(f"{path!r} lies outside the project")
        try:
            # Whether there must be something is the caller's to say.
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                found.stat()
        except OSError as problem:
            raise error(f"{path[:40]!r} cannot be read: {problem.strerror}") from None
        return found

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def section(raw: object, key: str) -> dict[str, object]:
    """A mapping in an unchecked mapping; empty when there is none."""
    value = cast("dict[str, object]", raw).get(key) if isinstance(raw, dict) else None
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _known(value: str, names: Iterable[str], what: str) -> str:
    if value not in names:
        raise error(f"there is no {what} {value!r}", did_you_mean(value, names))
    return value


def _executable(value: str, info: ValidationInfo) -> str:
    around = info.context
    return _known(value, around.executables, "executable") if isinstance(around, Context) else value


def _work_unit(value: str, info: ValidationInfo) -> str:
    around = info.context
    return _known(value, around.work_units, "work unit") if isinstance(around, Context) else value


def _folder(value: str, info: ValidationInfo) -> str:
    return info.context.folder(value) if isinstance(info.context, Context) else value


def _file(value: str, info: ValidationInfo) -> str:
    return info.context.file(value) if isinstance(info.context, Context) else value


def _volume(value: str, info: ValidationInfo) -> str:
    return info.context.volume(value) if isinstance(info.context, Context) else value


ExecutableName = Annotated[str, AfterValidator(_executable)]
WorkUnitName = Annotated[str, AfterValidator(_work_unit)]
# Defaults are validated as well: `.` becomes the folder's path in the project.
Folder = Annotated[Text, AfterValidator(_folder), Field(validate_default=True)]
File = Annotated[Text, AfterValidator(_file)]
HostPath = Annotated[Text, AfterValidator(_volume)]
