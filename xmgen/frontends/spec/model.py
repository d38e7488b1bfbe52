"""The shape of an experiment.yaml: field words are XManager's. Docstrings of fields are what editors show."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from xmgen.errors import did_you_mean
from xmgen.experiment import Role
from xmgen.frontends.spec.base import Model, Name, OneOf, Text, error, exactly_one_of
from xmgen.frontends.spec.context import ExecutableName, WorkUnitName
from xmgen.frontends.spec.executables import Executable
from xmgen.frontends.spec.executors import Executor, Vertex
from xmgen.frontends.spec.sweep import GroupSweep, JobSweep, blocks, check
from xmgen.frontends.spec.values import Arg, Args, EnvVars, Variable, addresses


class Job(Model):
    """One program with its arguments, and where it runs."""

    executable: ExecutableName
    """The name of one of `executables`."""
    executor: Executor
    """Where it runs, and what it needs there."""
    args: Args = Field(default_factory=dict[str, Arg])
    """Arguments: a mapping (`rate: 0.1` is --rate=0.1, true is --rate, false is --norate, null takes a default away,
    a list repeats the argument) or a list of texts that arrive as they are."""
    env_vars: EnvVars = Field(default_factory=dict[str, Variable])
    """Environment variables."""


class _WorkUnit(Model):
    depends_on: list[WorkUnitName] = Field(default_factory=list[str])
    """Names of work units that must have succeeded, every trial of them, before this starts."""
    label: str = ""
    """A name of your own for its resources, instead of one made of the job's name and arguments."""
    role: Role = "work_unit"
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
        if any(addresses([self.job, self.sweep])):
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
        for address in addresses([self.jobs, self.sweep]):
            for job, _ in address.hosts:
                if job not in self.jobs:
                    raise error(f"there is no job {job!r} in this group to address", did_you_mean(job, self.jobs))
            if any(isinstance(job.executor, Vertex) for job in self.jobs.values()):
                raise error("jobs on Vertex AI have no addresses before they run", "let the program read CLUSTER_SPEC")
        return self


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
