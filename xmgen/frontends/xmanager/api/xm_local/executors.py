"""Where jobs run: this machine, Kubernetes, Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs

from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm.problems import AMOUNT, of_type, unsupported

_TEXT = of_type(str, optional=True)
_WHOLE = of_type(int, optional=True)
_AMOUNT = of_type(*AMOUNT, optional=True)
_FLAG = of_type(bool)

GOOGLE_KUBERNETES_ENGINE_CLOUD_PROVIDER = "GOOGLE_KUBERNETES_ENGINE"


@attrs.define(slots=False)
class LocalSpec(xm.ExecutorSpec):
    """Packaged for this machine."""


@attrs.define(slots=False)
class DockerOptions:
    """Options of a local container.

    ports:          port in the container -> port of this machine.
    volumes:        path on this machine -> path in the container.
    mount_gcs_path: whether `~/gcs`, if there is one, appears as `/gcs`.
    interactive:    whether the container gets a terminal.
    """

    ports: dict[Any, Any] | None = attrs.field(default=None, validator=of_type(Mapping, optional=True))
    volumes: dict[str, str] | None = attrs.field(default=None, validator=of_type(Mapping, optional=True))
    mount_gcs_path: bool = attrs.field(default=True, validator=_FLAG)
    interactive: bool = attrs.field(default=False, validator=_FLAG)


@attrs.define(slots=False)
class Local(xm.Executor):
    """This machine.

    experimental_stream_output: whether the job's output also goes to Pulumi's log.
    service:                    (xmgen's own) the job serves the others of its group and never ends by itself, like a
                                database: it is stopped when they have ended.
    """

    requirements: xm.JobRequirements = attrs.field(factory=xm.JobRequirements, validator=of_type(xm.JobRequirements))
    docker_options: DockerOptions | None = attrs.field(default=None, validator=of_type(DockerOptions, optional=True))
    experimental_stream_output: bool = attrs.field(default=True, validator=_FLAG)
    service: bool = attrs.field(default=False, kw_only=True, validator=_FLAG)

    Spec = LocalSpec


@attrs.define(slots=False)
class TpuCapability:
    """The TPU software that a job asks for."""

    tpu_runtime_version: str = attrs.field(validator=of_type(str))


@attrs.define(slots=False)
class TensorboardCapability:
    """The Vertex AI TensorBoard that shows a job.

    base_output_directory: `gs://bucket/folder`; its `logs` are shown. The staging bucket unless given.
    """

    name: str = attrs.field(validator=of_type(str))
    base_output_directory: str | None = attrs.field(default=None, validator=_TEXT)


@attrs.define(slots=False)
class VertexSpec(xm.ExecutorSpec):
    """Packaged for Vertex AI. push_image_tag: `registry/image:tag`; one of the stack's unless given."""

    push_image_tag: str | None = attrs.field(default=None, validator=_TEXT)


@attrs.define(slots=False)
class Vertex(xm.Executor):
    """Vertex AI: one CustomJob for each work unit.

    What can only be given by keyword is xmgen's own. The jobs of a group, being one CustomJob, give the same:

    reservation:     of Compute Engine, for the accelerators: projects/<project>/zones/<zone>/reservations/<name>.
    timeout:         seconds that the job may run (seven days unless given).
    max_wait:        seconds that it may wait for machines of flex-start (a day unless given); 0 for ever.
    restart:         start the whole job again when one of its workers was started again.
    network:         projects/<project number>/global/networks/<network>, peered with Vertex AI.
    web_access:      whether shells in its containers can be opened in a browser.
    service_account: that it acts as, in place of the stack's own.
    """

    requirements: xm.JobRequirements = attrs.field(factory=xm.JobRequirements, validator=of_type(xm.JobRequirements))
    tensorboard: TensorboardCapability | None = attrs.field(
        default=None, validator=of_type(TensorboardCapability, optional=True)
    )

    reservation: str | None = attrs.field(default=None, kw_only=True, validator=_TEXT)
    timeout: float | None = attrs.field(default=None, kw_only=True, validator=_AMOUNT)
    max_wait: float | None = attrs.field(default=None, kw_only=True, validator=_AMOUNT)
    restart: bool = attrs.field(default=False, kw_only=True, validator=_FLAG)
    network: str | None = attrs.field(default=None, kw_only=True, validator=_TEXT)
    web_access: bool = attrs.field(default=True, kw_only=True, validator=_FLAG)
    service_account: str | None = attrs.field(default=None, kw_only=True, validator=_TEXT)

    Spec = VertexSpec


Caip = Vertex
CaipSpec = VertexSpec


@attrs.define(slots=False)
class KubernetesSpec(xm.ExecutorSpec):
    """Packaged for Kubernetes. push_image_tag: `registry/image:tag`; one of the stack's unless given."""

    push_image_tag: str | None = attrs.field(default=None, validator=_TEXT)


@attrs.define(slots=False, kw_only=True)
class Volume:
    """(xmgen's own) Storage that a job's containers see at `path`: a bucket or a PersistentVolumeClaim.

    bucket:        a bucket of Cloud Storage, or `bucket/folder`; the stack lets its jobs use it.
    claim:         the name of a claim. With `size` (bytes) the stack makes it and removes it, else it is there already.
    storage_class: of the stack's claim. shared: whether pods on several nodes use it at once.
    """

    path: str = attrs.field(validator=of_type(str))
    bucket: str | None = attrs.field(default=None, validator=_TEXT)
    claim: str | None = attrs.field(default=None, validator=_TEXT)
    size: float | None = attrs.field(default=None, validator=_AMOUNT)
    storage_class: str | None = attrs.field(default=None, validator=_TEXT)
    shared: bool = attrs.field(default=False, validator=_FLAG)
    read_only: bool = attrs.field(default=False, validator=_FLAG)


def _volumes(instance: object, attribute: Any, value: object) -> None:
    listed = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [None]
    if not all(isinstance(each, Volume) for each in listed):
        raise unsupported(f"{type(instance).__name__}.{attribute.name} must be a list of Volume, got {value!r}")


@attrs.define(slots=False)
class Kubernetes(xm.Executor):
    """Google Kubernetes Engine: one Job for each job. cloud_provider: only GKE is known.

    What can only be given by keyword is xmgen's own:

    reservation:   name of a Compute Engine reservation for the accelerators.
    priority:      of the pods; those with a larger one are scheduled first.
    retries:       how often a pod that failed is started again. One that lost its machine always is.
    shared_memory: bytes of /dev/shm; as much as the job's memory unless given.
    volumes:       storage that the containers see.
    service:       the job serves the others of its group and never ends by itself; it is ended when they have.
    """

    requirements: xm.JobRequirements = attrs.field(factory=xm.JobRequirements, validator=of_type(xm.JobRequirements))
    cloud_provider: str = GOOGLE_KUBERNETES_ENGINE_CLOUD_PROVIDER
    tpu_capability: TpuCapability | None = attrs.field(default=None, validator=of_type(TpuCapability, optional=True))
    reservation: str | None = attrs.field(default=None, kw_only=True, validator=_TEXT)
    priority: int | None = attrs.field(default=None, kw_only=True, validator=_WHOLE)
    retries: int | None = attrs.field(default=None, kw_only=True, validator=_WHOLE)
    shared_memory: float | None = attrs.field(default=None, kw_only=True, validator=_AMOUNT)
    volumes: Sequence[Volume] = attrs.field(default=(), kw_only=True, validator=_volumes)
    service: bool = attrs.field(default=False, kw_only=True, validator=_FLAG)

    Spec = KubernetesSpec
