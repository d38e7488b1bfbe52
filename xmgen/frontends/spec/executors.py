"""`executor` of a job in an experiment.yaml: where it runs. Docstrings of fields are what editors show."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from xmgen.executors.limits import MAX_WAIT, PORT, PRIORITY, RETRIES, TIMEOUT
from xmgen.frontends.spec.base import Model, Name, OneOf, Text, exactly_one_of
from xmgen.frontends.spec.context import HostPath
from xmgen.frontends.spec.requirements import Bytes, Requirements


class DockerOptions(Model):
    """Options of a container on this machine."""

    ports: dict[
        Annotated[int, Field(strict=False, ge=PORT.least, le=PORT.most)],
        Annotated[int, Field(ge=PORT.least, le=PORT.most)],
    ] = Field(default_factory=dict[int, int])
    """Port in the container: port on this machine."""
    volumes: dict[HostPath, Text] = Field(default_factory=dict[str, str])
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
    service: bool = False
    """Whether the job serves the others of its group and never ends by itself; it is ended when they have."""


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
