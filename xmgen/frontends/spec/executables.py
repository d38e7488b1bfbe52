"""`executables` of an experiment.yaml: what a job runs. Docstrings of fields are what editors show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, ValidationInfo, model_validator

from xmgen import sources
from xmgen.errors import Problem
from xmgen.frontends.spec.base import Model, OneOf, Text, error, exactly_one_of
from xmgen.frontends.spec.context import Context, File, Folder
from xmgen.frontends.spec.values import Arg, Args, EnvVars, Variable, addresses
from xmgen.plan import entrypoints


class Entrypoint(OneOf):
    """What starts the program: a module or commands."""

    choices: ClassVar = ("module_name", "commands")
    model_config = ConfigDict(json_schema_extra=exactly_one_of("module_name", "commands"))

    module_name: Text | None = None
    """Runs `python -m module_name`."""
    commands: Annotated[list[Text], Field(min_length=1)] | None = None
    """Shell commands, run in order; the job's arguments go to the last one."""


class _Executable(Model):
    args: Args = Field(default_factory=dict[str, Arg])
    """Arguments of every job that runs this; a job's own override them."""
    env_vars: EnvVars = Field(default_factory=dict[str, Variable])
    """Environment variables of every job that runs this; a job's own override them."""

    @model_validator(mode="after")
    def _no_addresses(self) -> Self:
        if any(addresses([self.args, self.env_vars])):
            raise error(
                "an address stands in a job's own args and env_vars", "the groups of an executable's jobs differ"
            )
        return self


class PythonContainer(_Executable):
    """Python code in a folder."""

    kind: Literal["python_container"]
    entrypoint: Entrypoint
    """What starts the program."""
    path: Folder = "."
    """The folder, relative to this file. `requirements.txt` in it lists what the image installs."""
    base_image: Text | None = None
    """The image to start from."""
    docker_instructions: list[Text] | None = None
    """Dockerfile lines that take the place of the usual ones; they copy the code themselves."""
    use_deep_module: bool = False
    """Whether modules are imported from above the folder: `from folder import model`."""
    push_image_tag: Text | None = None
    """The full tag under which the image is pushed."""

    @model_validator(mode="after")
    def _has_module(self, info: ValidationInfo) -> Self:
        if isinstance(info.context, Context) and (problem := self.module(info.context.root)[1]) is not None:
            raise error(problem.message, problem.hint)
        return self

    def module(self, root: Path) -> tuple[str | None, Problem | None]:
        """What `entrypoints.elsewhere` says of the module. Own instructions say themselves what is where."""
        module = self.entrypoint.module_name
        if module is None or self.docker_instructions is not None:
            return None, None
        files = sources.files(root / self.path)
        installs = "requirements.txt" in files or self.base_image is not None
        return entrypoints.elsewhere(module, files, path=self.path, deep=self.use_deep_module, installs=installs)


class Dockerfile(_Executable):
    """A folder with a Dockerfile of your own."""

    kind: Literal["dockerfile"]
    path: Folder = "."
    """The folder that is sent to the build, relative to this file."""
    dockerfile: File | None = None
    """The Dockerfile, relative to this file; `Dockerfile` in the folder when left out."""
    push_image_tag: Text | None = None
    """The full tag under which the image is pushed."""

    @model_validator(mode="after")
    def _has_dockerfile(self, info: ValidationInfo) -> Self:
        if self.dockerfile is None and isinstance(info.context, Context):
            info.context.in_project(f"{self.path}/Dockerfile")
        return self


class Container(_Executable):
    """A prebuilt image."""

    kind: Literal["container"]
    image_path: Text
    """The image, by tag or digest."""
    push_image_tag: Text | None = None
    """The full tag under which the image is pushed."""


class Binary(_Executable):
    """A program file, run as a process on this machine."""

    kind: Literal["binary"]
    path: File
    """The file, relative to this file."""
    dependencies: list[File] = Field(default_factory=list[str])
    """Files that the program needs, relative to this file."""


Executable = Annotated[PythonContainer | Dockerfile | Container | Binary, Field(discriminator="kind")]
