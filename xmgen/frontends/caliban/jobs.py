"""The jobs of a Caliban command as plain dictionaries: a `docker run` command, a training job, a Kubernetes Job."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xmgen.catalog.placement import GPU_LABEL, GPU_RESOURCE, MACHINE_LABEL, SPOT_LABEL, TPU_LABEL, TPU_TOPOLOGY_LABEL
from xmgen.catalog.placement import TPU_RESOURCE as TPU
from xmgen.catalog.selection import select
from xmgen.errors import InputError, Problem
from xmgen.executors.texts import escaped
from xmgen.experiment import JobRequirements
from xmgen.frontends.caliban import labels as label_rules
from xmgen.frontends.caliban.expansion import Experiment
from xmgen.frontends.caliban.flags import experiment_to_args
from xmgen.frontends.caliban.machines import Spec, with_accelerator
from xmgen.frontends.caliban.mlflow import mlflow_args
from xmgen.frontends.caliban.settings import JobMode

JOB_NAME_LENGTH = 57
"""Of the readable part: Kubernetes adds a hyphen and five characters, and 63 is the limit."""

EXTENSIONS = (".yaml", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One experiment to run. args: of the command line, before the flags. group: the MLflow experiment's name.
    run_name: of the MLflow run, where the position among the others must not name it.
    """

    experiment: Experiment
    args: Sequence[str] = ()
    group: str
    run_name: str | None = None

    def argv(self, index: int, tags: Mapping[str, object], *, mlflow: bool) -> list[str]:
        """What the image's entry point gets: the launcher's own arguments, then the program's. tags: of the MLflow run.
        mlflow: whether the project has MLflow.
        """
        own = mlflow_args(self.group, index, tags, self.run_name) if mlflow else []
        return [*own, *experiment_to_args(dict(sorted(self.experiment.items())), self.args)]


def window_size(columns: int, lines: int) -> list[str]:
    """Options of `docker run` by which a program knows the terminal's size."""
    return ["-e", f"COLUMNS={columns}", "-e", f"LINES={lines}"]


def local_job(
    run: Run,
    mode: JobMode,
    image: str,
    index: int,
    run_args: Sequence[str] | None = None,
    terminal: Sequence[str] = (),
    *,
    mlflow: bool = False,
) -> dict[str, Any]:
    """A job on this machine: the `docker run` command and its image. The program's arguments come last."""
    runtime = ["--runtime", "nvidia"] if mode == "GPU" else []
    # Without PYTHONUNBUFFERED the lines of stdout and stderr come out of order.
    options = [*runtime, "--ipc", "host", *(run_args or ()), "-e", "PYTHONUNBUFFERED=1", *terminal]
    tags = {
        "gpu_enabled": _lower(mode == "GPU"),
        "tpu_enabled": "false",
        "docker_image": image,
        "platform": "LOCAL",
    }
    command = ["docker", "run", "--platform", "linux/amd64", *options, image, *run.argv(index, tags, mlflow=mlflow)]
    return {"command": command, "container": image}


def job_specs(
    job_name: str,
    training_input: Mapping[str, Any],
    labels: Mapping[str, str],
    runs: Iterable[Run],
    *,
    mlflow: bool = False,
) -> Iterator[dict[str, Any]]:
    """A training job per run, counted from 1: name, labels and what it runs on are the same but for arguments.

    labels: tags of the MLflow run as they are; as labels they are made valid, and the program's flags are labels too,
    which win.
    """
    for index, run in enumerate(runs, start=1):
        argv = run.argv(index, {"platform": "CAIP", **labels}, mlflow=mlflow)
        own = experiment_to_args(dict(sorted(run.experiment.items())), run.args)
        yield {
            "jobId": f"{job_name}_{index}",
            "labels": {**label_rules.sanitize_labels(labels), **label_rules.script_args_to_labels(own)},
            "trainingInput": {**training_input, "args": argv},
        }


def job_labels(
    job_name: str, image: str, gpu: Spec | None, tpu: Spec | None, user: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """The labels that all jobs of a command have; the user's own win."""
    return {
        "gpu_enabled": _lower(gpu is not None),
        "tpu_enabled": _lower(tpu is not None),
        "job_name": job_name,
        "docker_image": image,
        **dict(user),
    }


def image_tag(project: str, image_id: str) -> str:
    """The name of an image in the project's registry. A project of a domain, `example.com:name`, is a path there."""
    return f"gcr.io/{project.replace(':', '/')}/{image_id.removeprefix('sha256:')}:latest"


def sanitize_job_name(name: str) -> str:
    """A Job's name: lower-case letters, digits, hyphens, single full stops between these; at most 57 characters."""
    if not name:
        return "job"
    name = name.lower()
    name = name if re.match("[a-z0-9]", name) else f"job-{name}"
    name = name if re.search(r"[a-z0-9]\Z", name) else f"{name}-0"
    name = re.sub("[^a-z0-9.-]", "-", name)
    # The parts between full stops are names of DNS themselves, which neither begin nor end with a hyphen.
    name = re.sub(r"(?<![a-z0-9])\.|\.(?![a-z0-9])", "-", name)
    return name[:JOB_NAME_LENGTH].rstrip("-.")


def container_name(job_name: str) -> str:
    """A container's name has no full stop."""
    return sanitize_job_name(job_name).replace(".", "-")


def container_requests(min_cpu: int, min_mem: int) -> dict[str, str]:
    """min_cpu: thousandths of a CPU. min_mem: MB."""
    return {"cpu": f"{min_cpu}m", "memory": f"{min_mem}M"}


def container_limits(accelerator: Spec | None) -> dict[str, int] | None:
    """What a container must have of an extended resource. Raises InputError for what GKE does not have."""
    if accelerator is None:
        return None
    if accelerator.kind == "gpu":
        return {GPU_RESOURCE: accelerator.count}
    return {TPU: _slice(accelerator).chips_per_host}


def node_selector(
    *, preemptible: bool, machine_type: str | None = None, accelerator: Spec | None = None
) -> dict[str, str] | None:
    """The nodes that a Job wants: Spot machines, a machine type, an accelerator; None when any will do."""
    selector: dict[str, str] = {}
    if preemptible:
        selector[SPOT_LABEL] = "true"
    if machine_type is not None:
        selector[MACHINE_LABEL] = machine_type
    if accelerator is not None and accelerator.kind == "gpu":
        selector[GPU_LABEL] = gpu_label(accelerator)
    elif accelerator is not None:
        found = _slice(accelerator)
        selector |= {TPU_LABEL: found.label, TPU_TOPOLOGY_LABEL: found.topology}
    return selector or None


def tolerations(*, preemptible: bool) -> list[dict[str, str]]:
    spot = {"key": SPOT_LABEL, "operator": "Equal", "value": "true", "effect": "NoSchedule"}
    return [spot] if preemptible else []


def simple_job(
    run: Run,
    *,
    name: str,
    image: str,
    min_cpu: int,
    min_mem: int,
    index: int,
    mlflow: bool = False,
    labels: Mapping[str, str] | None = None,
    command: Sequence[str] | None = None,
    env: Sequence[Mapping[str, Any]] = (),
    accelerator: Spec | None = None,
    machine_type: str | None = None,
    preemptible: bool = True,
) -> dict[str, Any]:
    """A Kubernetes Job of one pod with one container, for any cluster of GKE.

    min_cpu: thousandths of a CPU. min_mem: MB. command: None for the image's entry point. labels: tags of the MLflow
    run. Raises InputError for an accelerator that one pod cannot have.
    """
    limits = container_limits(accelerator)
    selector = node_selector(preemptible=preemptible, machine_type=machine_type, accelerator=accelerator)
    container: dict[str, Any] = {
        "name": container_name(name),
        "image": image,
        "imagePullPolicy": "Always",
        **({} if command is None else {"command": list(command)}),
        "args": [escaped(arg) for arg in run.argv(index, {"platform": "GKE", **(labels or {})}, mlflow=mlflow)],
        "env": [dict(each) for each in env],
        "resources": {
            "requests": container_requests(min_cpu, min_mem),
            **({} if limits is None else {"limits": limits}),
        },
    }
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "containers": [container],
        "tolerations": tolerations(preemptible=preemptible),
        **({} if selector is None else {"nodeSelector": selector}),
        "hostIPC": True,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": f"{sanitize_job_name(name)}-"},
        "spec": {"backoffLimit": 4, "template": {"spec": pod}},
    }


def check_job_filename(name: str) -> str:
    """The name of a file for Jobs. Raises InputError unless it ends in `.yaml` or `.json`."""
    if posixpath.splitext(name)[1] not in EXTENSIONS:
        raise InputError(Problem(f"{name!r} is no file for Jobs", "--export", "it ends in .yaml or .json"))
    return name


def gpu_label(accelerator: Spec) -> str:
    """The value of GKE's node label for these GPUs. Raises InputError when no machine has so many."""
    found = _placement(accelerator).gpu
    assert found is not None  # noqa: S101 — of a GPU
    return found.label


def _slice(accelerator: Spec) -> Any:
    found = _placement(accelerator).tpu
    assert found is not None  # noqa: S101 — of a TPU
    if found.hosts > 1:
        hint = "compile it into a stack: there the slice's hosts are pods of one Job"
        size = f"{accelerator.count}x{accelerator.type}"
        raise InputError(Problem(f"{size} is a slice of {found.hosts} hosts, and this Job has one pod", hint=hint))
    return found


def _placement(accelerator: Spec) -> Any:
    found = select(with_accelerator(JobRequirements(), accelerator), where=f"--{accelerator.kind}_spec")
    if isinstance(found, Problem):
        raise InputError(found)
    return found


def _lower(value: bool) -> str:
    return str(value).lower()
