"""From what a launch script packaged to the experiment's executables."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import replace
from pathlib import Path

from xmgen import experiment as ir
from xmgen import sources
from xmgen.errors import InputError, Problem
from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm_local.executables import (
    GoogleContainerRegistryImage,
    LoadedContainerImage,
    LocalBinary,
    PackagedExecutable,
)
from xmgen.frontends.xmanager.recording import Recording
from xmgen.plan import entrypoints, places
from xmgen.stack import lock


class Executables:
    """defined: the experiment's executables. Equal ones are one; different ones of one name get `-2`, `-3`.

    origins: where the script describes them, see `xmgen.plan.places`.
    """

    def __init__(self, recording: Recording, problems: list[Problem]) -> None:
        self.defined: list[ir.Executable] = []
        self.origins: dict[str, str] = {}
        self._recording = recording
        self._problems = problems
        self._names: dict[Hashable, tuple[object, str]] = {}

    def name(self, executable: xm.Executable, where: str) -> str:
        """The name under which a job's executable is defined. where: of the job."""
        if isinstance(executable, PackagedExecutable):
            return self.define(executable.spec, executable.executor_spec)
        if id(executable) not in self._names:
            self._names[id(executable)] = (executable, self._add(self._prebuilt(executable, where)))
        return self._names[id(executable)][1]

    def define(self, spec: xm.ExecutableSpec, executor_spec: xm.ExecutorSpec) -> str:
        """The name of what `spec` describes. A tag belongs to the executor that it is packaged for."""
        tag: str | None = getattr(executor_spec, "push_image_tag", None)
        # The object is kept beside the name: an id is only unique while its object lives.
        key = (id(spec), tag)
        if key not in self._names:
            before, origin = len(self._problems), xm.ExecutableSpec.origin_of(spec)
            name = self._add(self._convert(spec, tag))
            self._problems[before:] = [_at(origin, problem) for problem in self._problems[before:]]
            self.origins.setdefault(places.of_executable(name), origin)
            self._names[key] = (spec, name)
        return self._names[key][1]

    def _add(self, executable: ir.Executable | None) -> str:
        if executable is None:
            return ""
        for other in self.defined:
            if replace(executable, name=other.name) == other:
                return other.name
        taken = {other.name for other in self.defined}
        name, number = executable.name, 1
        while name in taken:
            number += 1
            name = f"{executable.name}-{number}"
        self.defined.append(replace(executable, name=name))
        return name

    def _convert(self, spec: xm.ExecutableSpec, tag: str | None) -> ir.Executable | None:
        match spec:
            case xm.PythonContainer():
                return self._python_container(spec, tag)
            case xm.Dockerfile():
                return self._dockerfile(spec, tag)
            case xm.Container():
                return ir.Container(name=spec.name, image=spec.image_path, push_image_tag=tag)
            case xm.Binary():
                return self._binary(spec.name, spec.path, spec.dependencies)
            case xm.BazelBinary():
                return ir.BazelBinary(
                    name=spec.name,
                    label=spec.label,
                    dependencies=tuple(map(str, spec.dependencies)),
                    bazel_args=tuple(spec.bazel_args),
                )
            case xm.BazelContainer():
                return ir.BazelContainer(
                    name=spec.name, label=spec.label, bazel_args=tuple(spec.bazel_args), push_image_tag=tag
                )
            case _:
                self._problems.append(
                    Problem(f"{spec!r} is no kind of executable that can be compiled", hint="xm.python_container(…)")
                )
                return None

    def _prebuilt(self, executable: xm.Executable, where: str) -> ir.Executable | None:
        """What a script made itself, without packaging."""
        match executable:
            case GoogleContainerRegistryImage():
                return ir.Container(name=executable.name, image=executable.image_path)
            case LoadedContainerImage():
                return ir.Container(name=executable.name, image=executable.image_id)
            case LocalBinary():
                return self._binary(executable.name, executable.command, ())
            case _:
                self._problems.append(
                    Problem(
                        f"{executable!r} was not packaged",
                        where,
                        "[executable] = experiment.package([xm.python_container(…)])",
                    )
                )
                return None

    def _python_container(self, spec: xm.PythonContainer, tag: str | None) -> ir.PythonContainer:
        steps = spec.docker_instructions
        entrypoint = _entrypoint(spec.entrypoint)
        started = [entrypoint.module] if isinstance(entrypoint, ir.ModuleName) else entrypoint.commands
        exclude = self._exclude(spec.path, [*started, *map(str, steps or ())])
        path = self._inside(spec.path)
        return ir.PythonContainer(
            name=spec.name,
            path=path,
            elsewhere=self._elsewhere(spec, path),
            entrypoint=entrypoint,
            digest=self._folder_digest(spec.path, exclude),
            exclude=exclude,
            ignore=tuple(sources.ignore_rules(Path(spec.path))) if os.path.isdir(spec.path) else (),  # noqa: PTH112
            requirements="requirements.txt" in _files(spec.path),
            base_image=spec.base_image,
            docker_instructions=None if steps is None else tuple(map(str, steps)),
            use_deep_module=spec.use_deep_module,
            push_image_tag=tag,
        )

    def _elsewhere(self, spec: xm.PythonContainer, path: str) -> str | None:
        """Where there are instructions of the user's own, they say what is where."""
        if not isinstance(spec.entrypoint, xm.ModuleName) or spec.docker_instructions or not os.path.isdir(spec.path):  # noqa: PTH112
            return None
        files = _files(spec.path)
        close, problem = entrypoints.elsewhere(
            spec.entrypoint.module_name,
            files,
            path=path,
            deep=spec.use_deep_module,
            installs="requirements.txt" in files or spec.base_image is not None,
        )
        if problem is not None:
            self._problems.append(problem)
        return close

    def _dockerfile(self, spec: xm.Dockerfile, tag: str | None) -> ir.Dockerfile:
        try:
            text = Path(spec.dockerfile).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            text = ""
            self._problems.append(Problem(f"cannot be read: {error.strerror}", self._relative(spec.dockerfile)))
        exclude = self._exclude(spec.path, [text])
        return ir.Dockerfile(
            name=spec.name,
            path=self._inside(spec.path),
            dockerfile=self._inside(spec.dockerfile),
            digest=self._folder_digest(spec.path, exclude),
            exclude=exclude,
            push_image_tag=tag,
        )

    def _binary(self, name: str, path: str, dependencies: Iterable[object]) -> ir.Binary:
        if "\0" in path:
            self._problems.append(Problem(f"the path of a program contains a NUL character: {path!a}"))
            return ir.Binary(name=name, path="", digest="")
        absolute = self._absolute(path)
        digest = ""
        if absolute.is_dir():
            self._problems.append(Problem("is a folder, not a program", self._relative(absolute)))
        else:
            digest = self._digest(absolute)
        return ir.Binary(
            name=name, path=self._inside(absolute), digest=digest, dependencies=tuple(map(str, dependencies))
        )

    def _exclude(self, folder: str, starts: Iterable[str]) -> tuple[str, ...]:
        script = self._recording.script
        return sources.own_file(Path(folder), script, starts) if script is not None else ()

    def _folder_digest(self, path: str, exclude: tuple[str, ...]) -> str:
        if os.path.isfile(path):  # noqa: PTH113 - never raises
            self._problems.append(Problem("is a file, not a folder", self._relative(path)))
            return ""
        return self._digest(Path(path), exclude)

    def _digest(self, path: Path, exclude: tuple[str, ...] = ()) -> str:
        if not lock.is_inside(self._relative(path)):
            return ""
        try:
            return sources.digest(path, exclude)
        except InputError as error:
            self._problems += [replace(each, where=self._relative(each.where or path)) for each in error.problems]
            return ""

    def _absolute(self, path: str) -> Path:
        """A program's path is relative to the launch script, as every other is."""
        script = self._recording.script
        return ((script.parent if script else Path.cwd()) / path).resolve()

    def _relative(self, path: str | Path) -> str:
        return Path(os.path.relpath(path, self._recording.root)).as_posix()

    def _inside(self, path: str | Path) -> str:
        """The path relative to the project, in which everything lies that a stack is built from."""
        relative = self._relative(path)
        if not lock.is_inside(relative):
            self._problems.append(
                Problem("lies outside the project", relative, f"the project is {self._recording.root}")
            )
        return relative


def _at(origin: str, problem: Problem) -> Problem:
    """The problem, with the line of the script that describes the executable before its own place."""
    return replace(problem, where=f"{origin} {problem.where}".strip())


def _entrypoint(entrypoint: xm.ModuleName | xm.CommandList) -> ir.ModuleName | ir.CommandList:
    if isinstance(entrypoint, xm.ModuleName):
        return ir.ModuleName(entrypoint.module_name)
    return ir.CommandList(tuple(map(str, entrypoint.commands)))


def _files(folder: str) -> list[str]:
    """Of a folder that exists; the digest reports one that does not."""
    return sources.files(Path(folder)) if os.path.isdir(folder) else []  # noqa: PTH112 - never raises
