"""The Vertex executor: one CustomJob per work unit, one worker pool per job of its group.

A manifest is the body of the request, so all that the program needs to know of a unit is in its labels. What only the
cloud knows stands as a token in `imageUri`, `serviceAccount`, `baseOutputDirectory`, `tensorboard`, the label `owner`,
and as an experiment's Reference in args and env.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from xmgen import names, shell
from xmgen.catalog.vertex import DISK_GB, VertexMachine
from xmgen.executors.dockerfile import file_instruction
from xmgen.executors.gke.jobs import OUTPUT_BUCKET
from xmgen.executors.images import Image
from xmgen.experiment import Experiment, Job, ShellSafeArg, Vertex, WorkUnit
from xmgen.plan.model import Manifest, PlannedImage, Value
from xmgen.project import OUTPUT_VARIABLE

SERVICE_ACCOUNT = "<xmgen:service-account:jobs>"
OWNER = "<xmgen:config:owner>"
STACK_LABEL = "stack"
UNIT_LABEL = "unit"
"""The logical name of the resource."""

LATE_BINDING = re.compile(r"%objectname\((.*?)\)%")
"""`utils.get_workerpool_address(…)`: known only where the job runs."""
WRAPPER = "/xmgen/late_bindings.py"
"""Where images have `late_bindings.py`."""

_DISPLAY_NAME_LENGTH = 128
_EXPANDED = re.compile(r"\$(?=[$(])")
"""Vertex AI expands `$(NAME)` in values of variables; `$$` stands for a dollar sign."""


def custom_job(
    experiment: Experiment,
    unit: WorkUnit,
    *,
    unit_name: str,
    images: Mapping[str, Image],
    machines: Mapping[str, VertexMachine],
) -> Manifest:
    """The body of the request. images: by executable. machines: by job."""
    executor = unit.jobs[0].executor
    assert isinstance(executor, Vertex)  # noqa: S101 — the planner calls the module of each job's executor
    labels: Manifest = {
        **{key: value for job in unit.jobs for key, value in (job.labels or {}).items()},
        "experiment": names.gcp_label(experiment.title) or experiment.stack,
        "owner": OWNER,
        STACK_LABEL: names.gcp_label(experiment.stack),
        UNIT_LABEL: unit_name,
    }
    title = experiment.title[: _DISPLAY_NAME_LENGTH - len(unit_name) - 1].rstrip()
    return {
        "displayName": f"{title} {unit_name}" if title else unit_name,
        "jobSpec": _job_spec(experiment, unit, unit_name, executor, images, machines),
        "labels": labels,
    }


def job_settings(executor: Vertex) -> Mapping[str, object]:
    """What a CustomJob has once, whatever the number of its jobs."""
    return {
        "tensorboard": executor.tensorboard,
        "timeout": executor.timeout,
        "max_wait": executor.max_wait,
        "restart": executor.restart,
        "network": executor.network,
        "web_access": executor.web_access,
        "service_account": executor.service_account,
    }


def bindable(job: Job) -> list[str]:
    """The texts of a job in which an address may be bound."""
    return [*(arg.shell for arg in job.args if isinstance(arg, ShellSafeArg)), *job.env.values()]


def is_late_bound(job: Job) -> bool:
    return any(LATE_BINDING.search(text) for text in bindable(job))


def with_late_bindings(image: PlannedImage) -> PlannedImage:
    """The image with `late_bindings.py` in it, which is another image."""
    dockerfile = image.files.get("Dockerfile", "")
    head, separator, entrypoint = dockerfile.rpartition("\nENTRYPOINT ")
    if not separator:
        return image
    wrapper = Path(__file__).with_name("late_bindings.py").read_text(encoding="utf-8")
    copied = f"\n{file_instruction(WRAPPER, wrapper, plain_builder=False)}\n"
    content = f"{image.tag}\0{wrapper}"
    return replace(
        image,
        tag=hashlib.sha256(content.encode()).hexdigest()[:16],
        files={**image.files, "Dockerfile": f"{head}{copied}{separator}{entrypoint}"},
    )


def _job_spec(
    experiment: Experiment,
    unit: WorkUnit,
    unit_name: str,
    executor: Vertex,
    images: Mapping[str, Image],
    machines: Mapping[str, VertexMachine],
) -> Manifest:
    output = f"{experiment.stack}/{unit_name}"
    spec: Manifest = {
        "workerPoolSpecs": [
            _worker_pool(
                job,
                machines[job.name],
                images[job.executable],
                # Vertex AI has every bucket mounted there.
                f"/gcs/{OUTPUT_BUCKET}/{output}{_folder(unit, job)}",
            )
            for job in unit.jobs
        ]
    }
    if scheduling := _scheduling(executor, machines[unit.jobs[0].name]):
        spec["scheduling"] = scheduling
    # Jobs on TPUs cannot have an account of their own.
    if not any(is_tpu(machine) for machine in machines.values()):
        spec["serviceAccount"] = executor.service_account or SERVICE_ACCOUNT
    if executor.network is not None:
        spec["network"] = executor.network
    board = executor.tensorboard
    folder = f"gs://{OUTPUT_BUCKET}/{output}"
    if board is not None:
        spec["tensorboard"] = board.name
        if board.base_output_directory:
            folder = f"gs://{board.base_output_directory.removeprefix('gs://')}"
    spec["baseOutputDirectory"] = {"outputUriPrefix": folder}
    if executor.web_access:
        spec["enableWebAccess"] = True
    return spec


def is_tpu(machine: VertexMachine) -> bool:
    return machine.tpu_topology is not None or (machine.accelerator_type or "").startswith("TPU")


def _folder(unit: WorkUnit, job: Job) -> str:
    """Several jobs have a folder each."""
    return f"/{names.slug(job.name) or names.short_hash(job.name)}" if len(unit.jobs) > 1 else ""


def _scheduling(executor: Vertex, machine: VertexMachine) -> Manifest:
    """Without what the API assumes anyway."""
    result: Manifest = {}
    if machine.strategy != "ON_DEMAND":
        result["strategy"] = machine.strategy
    if executor.timeout is not None:
        result["timeout"] = f"{executor.timeout}s"
    if executor.max_wait is not None:
        result["maxWaitDuration"] = f"{executor.max_wait}s"
    if executor.restart:
        result["restartJobOnWorkerRestart"] = True
    return result


def _worker_pool(job: Job, machine: VertexMachine, image: Image, output: str) -> Manifest:
    pool: Manifest = {"machineSpec": _machine(machine), "replicaCount": machine.replicas}
    if machine.boot_disk_gb != DISK_GB:
        pool["diskSpec"] = {"bootDiskSizeGb": machine.boot_disk_gb}
    pool["containerSpec"] = _container(job, image, output)
    return pool


def _machine(machine: VertexMachine) -> Manifest:
    spec: Manifest = {"machineType": machine.machine_type}
    if machine.accelerator_type is not None:
        spec |= {"acceleratorType": machine.accelerator_type, "acceleratorCount": machine.accelerator_count}
    if machine.tpu_topology is not None:
        spec["tpuTopology"] = machine.tpu_topology
    if machine.reservation is not None:
        spec["reservationAffinity"] = {
            "reservationAffinityType": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [machine.reservation],
        }
    return spec


def _container(job: Job, image: Image, output: str) -> Manifest:
    container: Manifest = {"imageUri": image.reference}
    if any(isinstance(arg, ShellSafeArg) for arg in job.args) or is_late_bound(job):
        assert image.entrypoint is not None  # noqa: S101 — the planner refuses such jobs of images we did not build
        command = shell.command(image.entrypoint, job.args)
        if is_late_bound(job):
            [_, _, script, _, *plain] = command
            command = ["python3", WRAPPER, script, *plain]
        container["command"] = list[Value](command)
    elif job.args:
        container["args"] = [arg for arg in job.args if isinstance(arg, str)]
    environment = dict(job.env) if OUTPUT_VARIABLE in job.env else {OUTPUT_VARIABLE: output, **job.env}
    container["env"] = [{"name": name, "value": _EXPANDED.sub("$$", value)} for name, value in environment.items()]
    return container
