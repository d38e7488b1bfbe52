"""What the user asked for: frozen data without behaviour.

Every front end produces an `Experiment`, the planner is its only reader, and a stack folder keeps it as
`experiment.lock.json`. Names are XManager's. Paths are POSIX paths relative to the project root (the folder
of Pulumi.yaml), so that the same experiment gives the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from xmgen.shell import ShellSafeArg

VERSION = 1
"""Version of the serialised form. Raise it when a field changes meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A value that only the cloud knows, such as the project or the name of a TensorBoard.

    Front ends put `token` into the strings they record (alone or inside a longer text); the generated program
    replaces it with stack configuration or another resource's output. A text that merely looks like a token
    and is not listed in `Experiment.references` is the user's own and passes through untouched.
    """

    kind: Literal["config", "secret", "tensorboard", "bucket"]
    name: str

    @property
    def token(self) -> str:
        return f"<xmgen:{self.kind}:{self.name}>"


Arg = str | ShellSafeArg


@dataclass(frozen=True, slots=True)
class ModuleName:
    """Entry point `python -m module`."""

    module: str


@dataclass(frozen=True, slots=True)
class CommandList:
    """Entry point of shell commands, run in order; the job's arguments go to the last one."""

    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argv:
    """Entry point of an image, and of the same program as a process of this machine: argv, to which arguments are
    appended."""

    container: tuple[str, ...]
    process: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonContainer:
    """Python code in a folder, with its entry point.

    path:         the folder.
    digest:       content hash of the folder (`xmgen.sources.digest`), so that changed code is a changed experiment.
    exclude:      files of the folder that are not its code: the experiment's own source.
    ignore:       the lines of the folder's `.dockerignore`.
    requirements: whether the folder has a `requirements.txt`, which lists what the image installs.
    elsewhere:    of an entry point that is none of the folder's modules, the one that is called most like it, or empty.
    """

    kind: Literal["python_container"] = "python_container"
    name: str
    path: str
    entrypoint: ModuleName | CommandList | Argv
    digest: str
    exclude: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    requirements: bool = False
    elsewhere: str | None = None
    base_image: str | None = None
    docker_instructions: tuple[str, ...] | None = None
    use_deep_module: bool = False
    push_image_tag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dockerfile:
    """A folder with the user's own Dockerfile (`dockerfile`, also relative to the project root).

    digest and exclude as for a PythonContainer.
    """

    kind: Literal["dockerfile"] = "dockerfile"
    name: str
    path: str
    dockerfile: str
    digest: str
    exclude: tuple[str, ...] = ()
    push_image_tag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A prebuilt image, by tag or digest."""

    kind: Literal["container"] = "container"
    name: str
    image: str
    push_image_tag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """A program file. It runs as a process on this machine only."""

    kind: Literal["binary"] = "binary"
    name: str
    path: str
    digest: str
    dependencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BazelBinary:
    kind: Literal["bazel_binary"] = "bazel_binary"
    name: str
    label: str
    dependencies: tuple[str, ...] = ()
    bazel_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BazelContainer:
    kind: Literal["bazel_container"] = "bazel_container"
    name: str
    label: str
    bazel_args: tuple[str, ...] = ()
    push_image_tag: str | None = None


Executable = Annotated[
    PythonContainer | Dockerfile | Container | Binary | BazelBinary | BazelContainer, Field(discriminator="kind")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """type: XManager's name in lower case (`t4`, `a100_80gib`, `tpu_v5e`, `local_gpu`).
    count: chips per replica; None when only a topology was given. topology: `4x4`. slices: independent slices.
    """

    type: str
    count: float | None = None
    topology: str | None = None
    slices: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequirements:
    """cpu: vCPUs. ram, disk: bytes. None where the user left the choice to us."""

    cpu: float | None = None
    ram: int | None = None
    disk: int | None = None
    accelerator: Accelerator | None = None
    architecture: str | None = None
    location: str | None = None
    replicas: int | None = None
    service_tier: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerOptions:
    """ports: port in the container -> port on the host. volumes: path on the host -> path in the container."""

    ports: Mapping[int, int] = field(default_factory=dict[int, int])
    volumes: Mapping[str, str] = field(default_factory=dict[str, str])
    mount_gcs_path: bool = True
    interactive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """service: the job serves the others of its group and never ends by itself (a database); it does not hold
    the work unit and is stopped with it. stream_output: whether the output also goes to Pulumi's log.
    """

    kind: Literal["local"] = "local"
    requirements: JobRequirements = JobRequirements()
    docker_options: DockerOptions | None = None
    stream_output: bool = True
    service: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """Storage of a job's containers: a bucket of Cloud Storage, or a PersistentVolumeClaim of the stack's namespace.

    path:          where the containers have it.
    bucket:        the bucket; `bucket/folder` is only that folder of it.
    claim:         name of the claim. size: bytes; with it the stack makes the claim, else somebody else has.
    storage_class: of a claim that the stack makes; None for the cluster's default.
    shared:        whether pods on several nodes use the claim at once, which not every storage class can.
    """

    path: str
    bucket: str | None = None
    claim: str | None = None
    size: int | None = None
    storage_class: str | None = None
    shared: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubernetes:
    """reservation: name of a Compute Engine reservation for the accelerators.
    priority:      of the pods; a larger one is scheduled first. retries: how often a failed pod is started again.
    shared_memory: bytes of /dev/shm; None: as much as the job's memory.
    service:       as of `Local`; it ends when the other jobs of its group have. None: it is no service.
    """

    kind: Literal["kubernetes"] = "kubernetes"
    requirements: JobRequirements = JobRequirements()
    tpu_runtime_version: str | None = None
    reservation: str | None = None
    priority: int | None = None
    retries: int | None = None
    shared_memory: int | None = None
    volumes: tuple[Volume, ...] | None = None
    service: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorboardCapability:
    name: str
    base_output_directory: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """All but the requirements is the CustomJob's: jobs of a group have the same.

    reservation:     full name of a Compute Engine reservation, projects/…/zones/…/reservations/….
    timeout:         seconds that the job may run. max_wait: that it may wait for machines of flex-start; 0 for ever.
    restart:         whether the whole job starts again when one of its workers does.
    network:         full name of a VPC network that is peered with Vertex AI.
    web_access:      whether shells in its containers can be opened in a browser.
    service_account: that it acts as, in place of the stack's own.
    """

    kind: Literal["vertex"] = "vertex"
    requirements: JobRequirements = JobRequirements()
    tensorboard: TensorboardCapability | None = None
    reservation: str | None = None
    timeout: int | None = None
    max_wait: int | None = None
    restart: bool = False
    network: str | None = None
    web_access: bool = True
    service_account: str | None = None


Executor = Annotated[Local | Kubernetes | Vertex, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One process or container (times `replicas`).

    name:       unique in its work unit.
    executable: the `name` of one of the experiment's executables.
    args, env:  complete: the executable's own are already merged with the job's.
    labels:     of the job's resource in Google Cloud (Vertex only), valid as they are.
    cloud_sql:  connection name of a Cloud SQL instance; its socket is below /tmp/cloudsql (Kubernetes only).
    """

    name: str
    executable: str
    executor: Executor
    args: tuple[Arg, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    labels: Mapping[str, str] | None = None
    cloud_sql: str | None = None


Role = Literal["work_unit", "auxiliary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkUnit:
    """Jobs that run together: a Job, or a JobGroup flattened depth-first.

    id:         XManager's positional id: work units count from 1; an auxiliary unit has 0.
    depends_on: positions in `Experiment.units` (from 0) of the units that must have succeeded before this starts.
    label:      the user's own name for the unit; empty when it has none.
    """

    id: int
    jobs: tuple[Job, ...]
    role: Role = "work_unit"
    depends_on: tuple[int, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterChoice:
    """The cluster that Kubernetes jobs run on: the stack's own, another stack's, or one that exists by that name.

    location:  of an existing cluster; None leaves it to the stack's configuration.
    by_option: whether the command line chose it, so that `xmgen check` has to choose it again.
    """

    kind: Literal["own", "stack", "existing"]
    name: str = ""
    location: str | None = None
    by_option: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRequest:
    """Machines that a cluster offers to the experiments which share it. jobs: how many such jobs can run at once."""

    requirements: JobRequirements
    jobs: int = 1
    reservation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """source: what it was compiled from, with `flags` for a launch script. experiment_id: XManager's `xid`, stable for
    the stack (`names.experiment_id`); it is here because args and env may contain it. cluster: None for the stack's
    own. pools: of a stack that is nothing but a cluster; it has no units. filestore: whether such a cluster has the
    driver of Filestore.
    """

    version: int = VERSION
    title: str
    stack: str
    source: str
    flags: tuple[str, ...] = ()
    experiment_id: int
    executables: tuple[Executable, ...]
    units: tuple[WorkUnit, ...]
    references: tuple[Reference, ...] = ()
    cluster: ClusterChoice | None = None
    pools: tuple[PoolRequest, ...] | None = None
    filestore: bool | None = None
    origins: Annotated[Mapping[str, str], Field(exclude=True)] = field(
        default_factory=dict[str, str], compare=False, repr=False
    )
