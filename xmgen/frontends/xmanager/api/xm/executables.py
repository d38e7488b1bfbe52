"""What can be run: code in a folder, images, programs."""

from __future__ import annotations

import abc
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

import attrs

from xmgen.frontends.xmanager.api.xm import utils
from xmgen.frontends.xmanager.api.xm.job_blocks import ExecutableSpec
from xmgen.frontends.xmanager.api.xm.problems import invalid, of_type, unsupported


def name_from_path(path: str) -> str:
    r"""The last part of a path, label or image, with `_` for everything that is no letter, digit or `_`."""
    return re.sub(r"\W", "_", PurePosixPath(path).name)


class ModuleName(NamedTuple):
    """Entry point `python -m module_name`."""

    module_name: str


class CommandList(NamedTuple):
    """Entry point of shell commands, run in order."""

    commands: list[str]


class BinaryDependency(abc.ABC):  # noqa: B024 - a marker, as in XManager
    """Something that a binary needs beside it. No executor of ours knows one."""


def _list(values: Iterable[Any]) -> list[Any]:
    return list(values)


def _check_entrypoint(instance: object, attribute: Any, value: object) -> None:
    of_type(ModuleName, CommandList)(instance, attribute, value)
    if isinstance(value, ModuleName):
        _check_texts("ModuleName.module_name", [value.module_name])
    elif isinstance(value, CommandList):
        if isinstance(value.commands, str):
            raise unsupported("CommandList.commands must be a list of texts", hint=f"CommandList([{value.commands!r}])")
        if not value.commands:
            raise invalid("CommandList.commands is empty", hint="CommandList(['python train.py'])")
        _check_texts("a command of CommandList", value.commands)


def _check_instructions(instance: object, attribute: Any, value: object) -> None:
    of_type(list, tuple, optional=True)(instance, attribute, value)
    if isinstance(value, list | tuple):
        _check_all_texts(instance, attribute, cast("Iterable[object]", value))


def _check_all_texts(instance: object, attribute: Any, values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise unsupported(
                f"{type(instance).__name__}.{attribute.name} must be a list of texts, got {value!r} in it"
            )


def _check_texts(what: str, values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise unsupported(f"{what} must be a text, got {value!r}")
        if not value.strip():
            raise invalid(f"{what} is empty")


@attrs.define(slots=False)
class Dockerfile(ExecutableSpec):
    """An image built from the user's own Dockerfile.

    path:       the build's folder, relative to the launch script.
    dockerfile: the Dockerfile, relative to the launch script; `Dockerfile` in `path` unless given.
    """

    path: str = attrs.field(default=".", converter=utils.resolve_path_relative_to_launcher)
    dockerfile: str = attrs.field(default=None, converter=lambda path: path or "")  # pyright: ignore

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.dockerfile = utils.resolve_path_relative_to_launcher(
            self.dockerfile or str(Path(self.path) / "Dockerfile")
        )

    @property
    def name(self) -> str:
        return name_from_path(self.path)


@attrs.define(slots=False)
class PythonContainer(ExecutableSpec):
    """Python code in a folder, run in a container.

    entrypoint:          the module or the commands to run.
    path:                the folder, relative to the launch script.
    base_image:          what the image starts from; a default of the executor unless given.
    docker_instructions: replace the default steps, the copying of the folder included.
    use_deep_module:     whether the folder itself is the top-level package (`from folder import models`).
    """

    entrypoint: ModuleName | CommandList = attrs.field(validator=_check_entrypoint)
    path: str = attrs.field(default=".", converter=utils.resolve_path_relative_to_launcher)
    base_image: str | None = attrs.field(default=None, validator=of_type(str, optional=True))
    docker_instructions: list[str] | None = attrs.field(default=None, validator=_check_instructions)
    use_deep_module: bool = attrs.field(default=False, validator=of_type(bool))

    @property
    def name(self) -> str:
        return name_from_path(self.path)


@attrs.define(slots=False)
class Container(ExecutableSpec):
    """A prebuilt image."""

    image_path: str = attrs.field(validator=of_type(str))

    @property
    def name(self) -> str:
        return name_from_path(self.image_path)


@attrs.define(slots=False)
class Binary(ExecutableSpec):
    """A program file, relative to the launch script."""

    path: str = attrs.field(validator=of_type(str))
    dependencies: list[BinaryDependency] = attrs.field(factory=list[BinaryDependency], converter=_list)

    @property
    def name(self) -> str:
        return name_from_path(self.path)


@attrs.define(slots=False)
class BazelContainer(ExecutableSpec):
    """A Bazel target that makes an image archive (`//:server_image.tar`)."""

    label: str = attrs.field(validator=of_type(str))
    bazel_args: list[str] = attrs.field(factory=list[str], converter=_list, validator=_check_all_texts)

    @property
    def name(self) -> str:
        return name_from_path(self.label)


@attrs.define(slots=False)
class BazelBinary(ExecutableSpec):
    """A Bazel target that makes a self-contained program."""

    label: str = attrs.field(validator=of_type(str))
    dependencies: list[BinaryDependency] = attrs.field(factory=list[BinaryDependency], converter=_list)
    bazel_args: list[str] = attrs.field(factory=list[str], converter=_list, validator=_check_all_texts)

    @property
    def name(self) -> str:
        return name_from_path(self.label)
