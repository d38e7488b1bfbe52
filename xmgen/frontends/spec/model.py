"""The shape of an experiment.yaml: field words are XManager's.

What a file refers to (names that it defines, files beside it) comes with the validation context, so that a wrong
reference is reported together with everything else. Docstrings of fields are what editors show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, cast

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, ValidationInfo, model_validator

from xmgen import entrypoints, sources
from xmgen.errors import Problem, did_you_mean
from xmgen.frontends.spec.base import Model, Name, OneOf, error, exactly_one_of
from xmgen.frontends.spec.requirements import Bytes, Requirements
from xmgen.frontends.spec.surroundings import Surroundings
from xmgen.frontends.spec.sweep import GroupSweep, JobSweep, blocks, check
from xmgen.frontends.spec.values import Address, Arg, ArgName, ArgValue, EnvName, EnvValue, Token, Variable
from xmgen.limits import MAX_WAIT, PORT, PRIORITY, RETRIES, TIMEOUT


def _known(value: str, names: Iterable[str], what: str) -> str:
    if value not in names:
        raise error(f"there is no {what} {value!r}", did_you_mean(value, names))
    return value


def _executable(value: str, info: ValidationInfo) -> str:
    around = info.context
    return _known(value, around.executables, "executable") if isinstance(around, Surroundings) else value


def _work_unit(value: str, info: ValidationInfo) -> str:
    around = info.context
    return _known(value, around.work_units, "work unit") if isinstance(around, Surroundings) else value


def _folder(value: str, info: ValidationInfo) -> str:
    return info.context.folder(value) if isinstance(info.context, Surroundings) else value


def _file(value: str, info: ValidationInfo) -> str:
    return info.context.file(value) if isinstance(info.context, Surroundings) else value


def _volume(value: str, info: ValidationInfo) -> str:
    return info.context.volume(value) if isinstance(info.context, Surroundings) else value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise error("must not be empty")
    return value


Text = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
# Defaults are validated as well: `.` becomes the folder's path in the project.
Folder = Annotated[Text, AfterValidator(_folder), Field(validate_default=True)]
File = Annotated[Text, AfterValidator(_file)]

Args = Annotated[
    Annotated[dict[ArgName, ArgValue], Tag("<mapping>")] | Annotated[list[Token], Tag("<list>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list) else "<mapping>"),
]
EnvVars = dict[EnvName, EnvValue]


# Executables


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
        if any(_addresses([self.args, self.env_vars])):
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
        if isinstance(info.context, Surroundings) and (problem := self.module(info.context.root)[1]) is not None:
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
        if self.dockerfile is None and isinstance(info.context, Surroundings):
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


# Executors


class DockerOptions(Model):
    """Options of a container on this machine."""

    ports: dict[
        Annotated[int, Field(strict=False, ge=PORT.least, le=PORT.most)],
        Annotated[int, Field(ge=PORT.least, le=PORT.most)],
    ] = Field(default_factory=dict[int, int])
    """Port in the container: port on this machine."""
    volumes: dict[Annotated[Text, AfterValidator(_volume)], Text] = Field(default_factory=dict[str, str])
    """Path on this machine: path in the container. A path that begins with ./ or ../ is relative to this file."""
    mount_gcs_path: bool = True
    """Whether `~/gcs` is there as `/gcs`, when it exists."""
    interactive: bool = False
    """Whether standard input stays open."""


class _Executor(Model):
    requirements: Requirements = Field(default_factory=Requirements)
    """What each replica needs."""


class Local(_Executor):
    """This machine: a container, or a process."""

    kind: Literal["local"]
    docker_options: DockerOptions | None = None
    """Options of the container."""
    stream_output: bool = True
    """Whether the output is also shown while the job runs."""
    service: bool = False
    """Whether the job serves the others of its group and never ends by itself; it is stopped with them."""


class Volume(OneOf):
    """A bucket, or a PersistentVolumeClaim, that a job's containers see as a folder."""

    choices: ClassVar = ("bucket", "claim")
    model_config = ConfigDict(json_schema_extra=exactly_one_of("bucket", "claim"))

    path: Text
    """The folder in the containers."""
    bucket: Text | None = None
    """A bucket of Cloud Storage, or a folder of one: bucket/folder."""
    claim: Name | None = None
    """The name of a claim in the stack's namespace."""
    size: Bytes | None = None
    """Makes the claim, of this size, with the stack; without it the claim has to be there."""
    storage_class: Text | None = None
    """The class of a claim that the stack makes."""
    shared: bool = False
    """Whether pods on several nodes use the claim at once."""
    read_only: bool = False
    """Whether the containers can only read it."""


class Kubernetes(_Executor):
    """A Job on Google Kubernetes Engine."""

    kind: Literal["kubernetes"]
    tpu_runtime_version: Text | None = None
    """Version of the TPU's runtime."""
    reservation: Text | None = None
    """The name of a Compute Engine reservation for the accelerators."""
    priority: Annotated[int, Field(ge=PRIORITY.least, le=PRIORITY.most)] | None = None
    """Of the pods: those with a larger one are scheduled first."""
    retries: Annotated[int, Field(ge=RETRIES.least, le=RETRIES.most)] | None = None
    """How often a pod that failed is started again; one that lost its machine always is."""
    shared_memory: Bytes | None = None
    """The size of /dev/shm; as much as the job's memory when left out."""
    volumes: list[Volume] = Field(default_factory=list["Volume"])
    """Storage that the containers see."""


class TensorboardCapability(Model):
    """A Vertex AI TensorBoard that the job writes to."""

    name: Text
    """Its resource name: projects/…/locations/…/tensorboards/…"""
    base_output_directory: Text | None = None
    """Where the job writes, a path of Cloud Storage."""


class Vertex(_Executor):
    """A CustomJob on Vertex AI."""

    kind: Literal["vertex"]
    tensorboard: TensorboardCapability | None = None
    """The TensorBoard that the job writes to."""
    reservation: Text | None = None
    """A Compute Engine reservation for the accelerators: projects/…/zones/…/reservations/…"""
    timeout: Annotated[int, Field(ge=TIMEOUT.least, le=TIMEOUT.most)] | None = None
    """Seconds that the job may run; seven days when left out."""
    max_wait: Annotated[int, Field(ge=MAX_WAIT.least, le=MAX_WAIT.most)] | None = None
    """Seconds that the job may wait for machines of flex-start; a day when left out, 0 for ever."""
    restart: bool = False
    """Whether the whole job starts again when one of its workers does."""
    network: Text | None = None
    """A VPC network that is peered with Vertex AI: projects/<project number>/global/networks/<network>"""
    web_access: bool = True
    """Whether shells in its containers can be opened in a browser."""
    service_account: Text | None = None
    """The service account that the job acts as; the stack's own when left out."""


Executor = Annotated[Local | Kubernetes | Vertex, Field(discriminator="kind")]


# Work units


class Job(Model):
    """One program with its arguments, and where it runs."""

    executable: Annotated[str, AfterValidator(_executable)]
    """The name of one of `executables`."""
    executor: Executor
    """Where it runs, and what it needs there."""
    args: Args = Field(default_factory=dict[str, Arg])
    """Arguments: a mapping (`rate: 0.1` is --rate=0.1, true is --rate, false is --norate, null takes a default away,
    a list repeats the argument) or a list of texts that arrive as they are."""
    env_vars: EnvVars = Field(default_factory=dict[str, Variable])
    """Environment variables."""


class _WorkUnit(Model):
    depends_on: list[Annotated[str, AfterValidator(_work_unit)]] = Field(default_factory=list[str])
    """Names of work units that must have succeeded, every trial of them, before this starts."""
    label: str = ""
    """A name of your own for its resources, instead of one made of the job's name and arguments."""
    role: Literal["work_unit", "auxiliary"] = "work_unit"
    """An auxiliary unit accompanies the experiment, such as a TensorBoard."""


class SingleJob(_WorkUnit):
    """One job, or one for each trial of a sweep."""

    job: Job
    """The job; its name is the work unit's."""
    sweep: JobSweep | None = None
    """The trials: a block, or a list of blocks whose product is taken."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        check(blocks(self.sweep), ())
        if any(_addresses([self.job, self.sweep])):
            raise error("a job alone has nobody to find at an address", "jobs that start together stand under `jobs`")
        return self


class JobGroup(_WorkUnit):
    """Jobs that run together, or one such group for each trial of a sweep."""

    jobs: Annotated[dict[Name, Job], Field(min_length=1)]
    """The jobs by name."""
    sweep: GroupSweep | None = None
    """The trials: a block, or a list of blocks whose product is taken."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        check(blocks(self.sweep), tuple(self.jobs))
        for address in _addresses([self.jobs, self.sweep]):
            for job, _ in address.hosts:
                if job not in self.jobs:
                    raise error(f"there is no job {job!r} in this group to address", did_you_mean(job, self.jobs))
            if any(isinstance(job.executor, Vertex) for job in self.jobs.values()):
                raise error("jobs on Vertex AI have no addresses before they run", "let the program read CLUSTER_SPEC")
        return self


def _addresses(value: object) -> Iterator[Address]:
    """Those that stand anywhere in it."""
    match value:
        case Address():
            yield value
        case dict():
            yield from _addresses(list(cast("dict[str, object]", value).values()))
        case list():
            for item in cast("list[object]", value):
                yield from _addresses(item)
        case Model():
            yield from _addresses([getattr(value, name) for name in value.model_fields_set])
        case _:
            return


def _job_or_jobs(value: object) -> str:
    return "<jobs>" if isinstance(value, dict) and "jobs" in value else "<job>"


WorkUnit = Annotated[
    Annotated[SingleJob, Tag("<job>")] | Annotated[JobGroup, Tag("<jobs>")], Discriminator(_job_or_jobs)
]


class Cluster(OneOf):
    """A cluster that the jobs of the kubernetes executor share with others, instead of the stack's own."""

    choices: ClassVar = ("stack", "existing")
    model_config = ConfigDict(json_schema_extra=exactly_one_of("stack", "existing"))

    stack: Text | None = None
    """The stack of this project whose cluster it is."""
    existing: Text | None = None
    """The name of a cluster that no stack of this project made."""
    location: Text | None = None
    """Its zone or region; the stack's configuration says it when left out."""


class Spec(Model):
    """An experiment for xmgen."""

    model_config = ConfigDict(
        title="xmgen experiment", json_schema_extra={"patternProperties": {"^x-": {"description": "Yours; not read."}}}
    )

    title: Text
    """The experiment's title."""
    executables: Annotated[dict[Name, Executable], Field(min_length=1)]
    """The programs by name."""
    work_units: Annotated[dict[Name, WorkUnit], Field(min_length=1)]
    """What runs, by name, in this order."""
    cluster: Cluster | None = None
    """The cluster for jobs of the kubernetes executor; the stack's own when left out."""


def jobs(unit: SingleJob | JobGroup, name: str) -> dict[str, Job]:
    """The jobs of a work unit by name."""
    return unit.jobs if isinstance(unit, JobGroup) else {name: unit.job}
