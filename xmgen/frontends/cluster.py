"""`<name>.cluster.yaml`: a GKE cluster that experiments share, and the machines that it offers them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from xmgen import names
from xmgen.errors import InputError, Problem
from xmgen.executors.limits import POOL_JOBS
from xmgen.experiment import ClusterChoice, Experiment, PoolRequest
from xmgen.frontends.spec import document, problems
from xmgen.frontends.spec.base import Model, Text
from xmgen.frontends.spec.requirements import Requirements


class Pool(Model):
    """Machines for jobs of one kind."""

    requirements: Requirements
    """What such a job asks for."""
    jobs: Annotated[int, Field(ge=POOL_JOBS.least, le=POOL_JOBS.most)] = 1
    """How many of them can run at once."""
    reservation: Text | None = None
    """The name of a Compute Engine reservation for the accelerators."""


class Cluster(Model):
    """A cluster without jobs of its own."""

    title: Text
    """The cluster's title."""
    location: Text | None = None
    """Its zone or region; the stack's configuration says it when left out."""
    pools: list[Pool] = Field(default_factory=list[Pool])
    """The machines that it offers. An experiment adds those that it needs beside them."""
    filestore: bool = False
    """Whether claims can be on Filestore."""


def load(source: Path, *, root: Path, stack: str, flags: Sequence[str] = ()) -> Experiment:
    """The cluster as an experiment without jobs. root: the project's folder, around the file.

    Raises InputError with everything that is wrong in the file.
    """
    root, source = root.resolve(), source.resolve()
    name = source.relative_to(root).as_posix()
    if flags:
        raise InputError(Problem(f"a cluster takes no flags: {' '.join(flags)}", name))
    return build(document.read(source, name), stack)


def build(read: document.Document, stack: str) -> Experiment:
    """The cluster that a document says, which need not be a file yet. Raises InputError with all that is wrong."""
    try:
        spec = Cluster.model_validate(read.value)
    except ValidationError as failure:
        raise InputError(*problems.from_validation(failure, read, Cluster)) from None
    return Experiment(
        title=spec.title,
        stack=stack,
        source=read.name,
        experiment_id=names.experiment_id(stack),
        executables=(),
        units=(),
        cluster=ClusterChoice(kind="own", location=spec.location) if spec.location else None,
        pools=tuple(
            PoolRequest(requirements=pool.requirements.build(), jobs=pool.jobs, reservation=pool.reservation)
            for pool in spec.pools
        ),
        filestore=spec.filestore or None,
    )
