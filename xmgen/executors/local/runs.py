"""The Local executor: work units as `xmgen:local:Run`, executables as `xmgen:local:Executable`.

docs/architecture.md describes both resources' inputs.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import assert_never

from xmgen import names
from xmgen.errors import Problem
from xmgen.executors.dockerfile import process_command, python_dockerfile
from xmgen.experiment import (
    Arg,
    BazelBinary,
    BazelContainer,
    Binary,
    Container,
    Dockerfile,
    DockerOptions,
    Executable,
    Experiment,
    Job,
    JobRequirements,
    Local,
    PythonContainer,
    WorkUnit,
)
from xmgen.plan.model import Manifest, PlannedExecutable, Value, header


def executable(executable: Executable, name: str, experiment: Experiment) -> PlannedExecutable | Problem:
    """The Executable resource, or why this machine cannot run the executable."""
    match executable:
        case PythonContainer():
            folder = executable.path
            inputs: Manifest = {
                "directory": folder,
                "digest": executable.digest,
                "command": list[Value](process_command(executable.entrypoint)),
                "workingDirectory": posixpath.dirname(folder) or "." if executable.use_deep_module else folder,
                "dockerfile": f"stacks/{experiment.stack}/images/{name}/Dockerfile",
            }
            _exclude(inputs, executable.exclude)
            if executable.docker_instructions is not None:
                inputs["contextPath"] = posixpath.basename(folder)
            return PlannedExecutable(
                name=name, inputs=inputs, dockerfile=python_dockerfile(executable, header(experiment))
            )
        case Dockerfile():
            inputs = {
                "directory": executable.path,
                "digest": executable.digest,
                "dockerfile": executable.dockerfile,
            }
            _exclude(inputs, executable.exclude)
            return PlannedExecutable(name=name, inputs=inputs)
        case Container():
            return PlannedExecutable(name=name, inputs={"image": executable.image})
        case Binary():
            path = executable.path
            return PlannedExecutable(
                name=name,
                inputs={
                    "directory": path,
                    "digest": executable.digest,
                    # A path with a slash is never looked up on PATH.
                    "command": [posixpath.join(".", posixpath.basename(path))],
                    "workingDirectory": posixpath.dirname(path) or ".",
                },
            )
        case BazelBinary() | BazelContainer():
            return Problem(
                f"executable {executable.name!r} is built by Bazel ({executable.label}), which a stack cannot do",
                hint="build it with Bazel and use xm.Binary with the program or xm.Container with the pushed image",
            )
        case _:
            assert_never(executable)


def _exclude(inputs: Manifest, exclude: tuple[str, ...]) -> None:
    if exclude:
        inputs["exclude"] = list(exclude)


def manifest(
    experiment: Experiment,
    unit: WorkUnit,
    name: str,
    identity: str,
    executables: Mapping[str, str],
    depends_on: Sequence[str] = (),
) -> Manifest:
    """One Run: the inputs, and the logical names of those it waits for. executables: names -> logical names."""
    run: Manifest = {
        "name": name,
        "identity": identity,
        "jobs": [_job(experiment, unit, job, executables[job.executable]) for job in unit.jobs],
    }
    if depends_on:
        run["dependsOn"] = list(depends_on)
    return run


def _job(experiment: Experiment, unit: WorkUnit, job: Job, executable: str) -> Manifest:
    executor = job.executor
    assert isinstance(executor, Local)  # noqa: S101 — the planner calls the module of each job's executor
    result: Manifest = {
        "name": job.name,
        "hostname": names.full_job_name(experiment.experiment_id, unit, job.name),
        "executable": executable,
    }
    # What holds its default is left out: a reader should see only what was asked for.
    if job.args:
        result["args"] = [_arg(arg) for arg in job.args]
    if job.env:
        result["env"] = dict(job.env)
    if requirements := _requirements(executor.requirements):
        result["requirements"] = requirements
    if executor.docker_options and (docker := _docker(executor.docker_options)):
        result["docker"] = docker
    if executor.service:
        result["service"] = True
    if not executor.stream_output:
        result["streamOutput"] = False
    return result


def _arg(arg: Arg) -> Value:
    return arg if isinstance(arg, str) else {"shell": arg.shell}


def _requirements(requirements: JobRequirements) -> Manifest:
    result: Manifest = {}
    if requirements.cpu is not None:
        cpu = requirements.cpu
        result["cpu"] = int(cpu) if cpu == int(cpu) else cpu
    accelerator = requirements.accelerator
    if accelerator is not None and accelerator.type == "local_gpu" and accelerator.count:
        result["gpus"] = int(accelerator.count)
    return result


def _docker(options: DockerOptions) -> Manifest:
    result: Manifest = {}
    if options.ports:
        result["ports"] = {str(inside): outside for inside, outside in options.ports.items()}
    if options.volumes:
        result["volumes"] = dict(options.volumes)
    if options.interactive:
        result["interactive"] = True
    if not options.mount_gcs_path:
        result["mountGcsPath"] = False
    return result


def ignored(requirements: JobRequirements) -> list[str]:
    """What a job asked for that has no effect on this machine, as XManager's Local executor has it."""
    asked: dict[str, object] = {
        "ram": requirements.ram,
        "disk": requirements.disk,
        "location": requirements.location,
        "architecture": requirements.architecture,
        "service_tier": requirements.service_tier,
        "replicas": requirements.replicas,
    }
    result = [name for name, value in asked.items() if value is not None]
    if requirements.accelerator is not None and requirements.accelerator.type != "local_gpu":
        result.append(requirements.accelerator.type)
    return result
