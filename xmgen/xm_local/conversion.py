"""From a recording to the experiment that the planner reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from xmgen import experiment as ir
from xmgen import sources, xm
from xmgen.errors import InputError, Problem
from xmgen.recording import RecordedJob, RecordedUnit, Recording
from xmgen.xm_local import executables, executors
from xmgen.xm_local.order import in_order


def convert(recording: Recording, *, title: str | None, stack: str, source: str) -> ir.Experiment:
    """See `xmgen.recording.to_experiment`."""
    return _Conversion(recording).experiment(title, stack, source)


def tokens(args: xm.UserArgs | None) -> tuple[ir.Arg, ...]:
    """What a program receives for `args`."""
    return xm.SequentialArgs.from_collection(args).to_argv()


class _Conversion:
    """Collects the problems of one recording instead of stopping at the first."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._problems = list(recording.problems)
        self._executables: list[ir.Executable] = []
        self._names: dict[int, str] = {}
        self._converted: dict[int, tuple[object, ir.Executor]] = {}
        self._requirements: dict[int, tuple[object, ir.JobRequirements]] = {}

    def experiment(self, title: str | None, stack: str, source: str) -> ir.Experiment:
        title = self._title() if title is None else title
        self._check_text(title, "the title", "")
        for packageable in self._recording.packageables:
            self._define(packageable.executable_spec, packageable.executor_spec)
        units = [self._unit(unit, after) for unit, after in in_order(self._recording.units)]
        if self._problems:
            raise InputError(*self._problems)
        return ir.Experiment(
            title=title,
            stack=stack,
            source=source,
            experiment_id=self._recording.experiment_id,
            executables=tuple(self._executables),
            units=tuple(units),
            references=tuple(self._recording.references),
        )

    def _title(self) -> str:
        with_units = [experiment.title for experiment in self._recording.experiments if experiment.units]
        if len(with_units) > 1:
            self._problems.append(
                Problem(
                    f"the script adds to {len(with_units)} experiments: {', '.join(map(repr, with_units))}",
                    hint="a stack holds one: write one launch script for each, or choose one with a flag",
                )
            )
        return next(iter(with_units or self._recording.titles), "")

    def _unit(self, unit: RecordedUnit, after: Sequence[int]) -> ir.WorkUnit:
        self._check_text(unit.identity, "the identity", unit.description)
        names: set[str] = set()
        for job in unit.jobs:
            if job.name in names:
                self._problems.append(
                    Problem(f"two jobs are called {job.name!r}", unit.description, "give each a name of its own")
                )
            names.add(job.name)
        return ir.WorkUnit(
            id=unit.id,
            jobs=tuple(self._job(unit, job) for job in unit.jobs),
            role=unit.role,
            depends_on=tuple(after),
            label=unit.identity,
        )

    def _job(self, unit: RecordedUnit, job: RecordedJob) -> ir.Job:
        self._check_job(unit, job)
        return ir.Job(
            name=job.name,
            executable=self._executable(job.executable),
            executor=self._executor(job.executor, f"{unit.description}, job {job.name}"),
            args=job.args,
            env=job.env,
        )

    def _check_job(self, unit: RecordedUnit, job: RecordedJob) -> None:
        """Every text must survive a file, a command line and an environment."""
        bad = [f"argument {number}" for number, arg in enumerate(job.args, start=1) if not _is_text(arg)]
        bad += [f"environment variable {name}" for name, value in job.env.items() if not _is_text(value)]
        bad += [] if _is_text(job.name) and job.name else ["its name"]
        if bad:
            where = f"{unit.description}, job {job.name!a}"
            self._problems += [_bad_text(what, where) for what in bad]

    def _check_text(self, text: str, what: str, where: str) -> None:
        if not _is_text(text):
            self._problems.append(_bad_text(what, where))

    # Executables

    def _executable(self, executable: xm.Executable) -> str:
        """The name under which a job's executable is defined."""
        if isinstance(executable, executables.PackagedExecutable):
            return self._define(executable.spec, executable.executor_spec)
        known = self._names.get(id(executable))
        if known is None:
            known = self._names[id(executable)] = self._add(self._prebuilt(executable))
        return known

    def _prebuilt(self, executable: xm.Executable) -> ir.Executable | None:
        """What a script made itself, without packaging."""
        if isinstance(executable, executables.GoogleContainerRegistryImage):
            return ir.Container(name=executable.name, image=executable.image_path)
        if isinstance(executable, executables.LoadedContainerImage):
            return ir.Container(name=executable.name, image=executable.image_id)
        if isinstance(executable, executables.LocalBinary):
            return self._binary(executable.name, executable.command, ())
        self._problems.append(
            Problem(f"{executable!r} was not packaged", hint="[it] = experiment.package([xm.python_container(…)])")
        )
        return None

    def _define(self, spec: xm.ExecutableSpec, executor_spec: xm.ExecutorSpec) -> str:
        # The same spec object can be packaged for two executors, and a tag belongs to the executor's.
        tag = getattr(executor_spec, "push_image_tag", None)
        key = hash((id(spec), tag))
        if key not in self._names:
            self._names[key] = self._add(self._spec(spec, tag))
        return self._names[key]

    def _add(self, executable: ir.Executable | None) -> str:
        """Equal ones are one; different ones of one name get `-2`, `-3`."""
        if executable is None:
            return ""
        taken = {other.name for other in self._executables}
        for other in self._executables:
            if replace(executable, name=other.name) == other:
                return other.name
        name, number = executable.name, 1
        while name in taken:
            number += 1
            name = f"{executable.name}-{number}"
        self._executables.append(replace(executable, name=name))
        return name

    def _spec(self, spec: xm.ExecutableSpec, tag: str | None) -> ir.Executable | None:
        match spec:
            case xm.PythonContainer():
                return ir.PythonContainer(
                    name=spec.name,
                    path=self._relative(spec.path),
                    entrypoint=_entrypoint(spec.entrypoint),
                    digest=self._digest(spec.path, folder=True),
                    requirements="requirements.txt" in sources.files(Path(spec.path)),
                    base_image=spec.base_image,
                    docker_instructions=None
                    if spec.docker_instructions is None
                    else tuple(map(str, spec.docker_instructions)),
                    use_deep_module=spec.use_deep_module,
                    push_image_tag=tag,
                )
            case xm.Dockerfile():
                if Path(spec.path).is_dir() and not Path(spec.dockerfile).is_file():
                    self._problems.append(Problem("no such file", where=self._relative(spec.dockerfile)))
                return ir.Dockerfile(
                    name=spec.name,
                    path=self._relative(spec.path),
                    dockerfile=self._relative(spec.dockerfile),
                    digest=self._digest(spec.path, folder=True),
                    push_image_tag=tag,
                )
            case xm.Container():
                return ir.Container(name=spec.name, image=spec.image_path, push_image_tag=tag)
            case xm.Binary():
                return self._binary(spec.name, spec.path, spec.dependencies)
            case xm.BazelBinary():
                return ir.BazelBinary(
                    name=spec.name,
                    label=spec.label,
                    dependencies=tuple(map(str, spec.dependencies)),
                    bazel_args=tuple(spec.bazel_args),
                )
            case xm.BazelContainer():
                return ir.BazelContainer(
                    name=spec.name, label=spec.label, bazel_args=tuple(spec.bazel_args), push_image_tag=tag
                )
            case _:
                self._problems.append(
                    Problem(f"{spec!r} is no kind of executable that can be compiled", hint="xm.python_container(…)")
                )
                return None

    def _binary(self, name: str, path: str, dependencies: Iterable[object]) -> ir.Binary:
        absolute = xm.utils.resolve_path_relative_to_launcher(path)
        return ir.Binary(
            name=name,
            path=self._relative(absolute),
            digest=self._digest(absolute, folder=False),
            dependencies=tuple(map(str, dependencies)),
        )

    def _relative(self, path: str) -> str:
        return Path(os.path.relpath(path, self._recording.root)).as_posix()

    def _digest(self, path: str, *, folder: bool) -> str:
        place = self._relative(path)
        if Path(path).exists() and Path(path).is_dir() != folder:
            self._problems.append(Problem("is a file, not a folder" if folder else "is no file", where=place))
            return ""
        try:
            return sources.digest(Path(path))
        except InputError as error:
            self._problems += [
                replace(problem, where=self._relative(problem.where or path)) for problem in error.problems
            ]
            return ""

    # Executors

    def _executor(self, executor: xm.Executor, where: str) -> ir.Executor:
        """A sweep shares one executor object among its jobs, and so does the result."""
        known = self._converted.get(id(executor))
        if known is None or known[0] is not executor:
            known = self._converted[id(executor)] = (executor, self._new_executor(executor, where))
        return known[1]

    def _new_executor(self, executor: xm.Executor, where: str) -> ir.Executor:
        match executor:
            case executors.Local():
                return ir.Local(
                    requirements=requirements(executor.requirements),
                    docker_options=self._docker_options(executor.docker_options, where),
                    stream_output=executor.experimental_stream_output,
                    service=executor.service,
                )
            case executors.Kubernetes():
                if executor.cloud_provider != executors.GOOGLE_KUBERNETES_ENGINE_CLOUD_PROVIDER:
                    self._problems.append(
                        Problem(
                            f"unknown cloud_provider {executor.cloud_provider!r}",
                            where,
                            executors.GOOGLE_KUBERNETES_ENGINE_CLOUD_PROVIDER,
                        )
                    )
                capability = executor.tpu_capability
                return ir.Kubernetes(
                    requirements=requirements(executor.requirements),
                    tpu_runtime_version=capability.tpu_runtime_version if capability else None,
                )
            case _:
                vertex = cast(executors.Vertex, executor)
                board = vertex.tensorboard
                return ir.Vertex(
                    requirements=requirements(vertex.requirements),
                    tensorboard=ir.TensorboardCapability(
                        name=board.name, base_output_directory=board.base_output_directory
                    )
                    if board
                    else None,
                )

    def _docker_options(self, options: executors.DockerOptions | None, where: str) -> ir.DockerOptions | None:
        if options is None:
            return None
        ports: dict[int, int] = {}
        for inside, outside in (options.ports or {}).items():
            try:
                ports[_port(inside)] = _port(outside)
            except (TypeError, ValueError):
                self._problems.append(
                    Problem(
                        f"docker_options.ports has {inside!r}: {outside!r}",
                        where,
                        "port in the container: port of this machine, both from 1 to 65535",
                    )
                )
        return ir.DockerOptions(
            ports=ports,
            volumes={os.fspath(host): os.fspath(inside) for host, inside in (options.volumes or {}).items()},
            mount_gcs_path=options.mount_gcs_path,
            interactive=options.interactive,
        )


def requirements(asked: xm.JobRequirements) -> ir.JobRequirements:
    """What was asked for in so many words; None where the choice was left to us."""
    explicit = asked.explicit
    amounts = asked.task_requirements
    tier: xm.ServiceTier | None = explicit["service_tier"]
    architecture: xm.Architecture | None = explicit["architecture"]
    return ir.JobRequirements(
        cpu=amounts.get(xm.ResourceType.CPU),
        ram=_bytes(amounts.get(xm.ResourceType.RAM)),
        disk=_bytes(amounts.get(xm.ResourceType.DISK)),
        accelerator=_accelerator(asked),
        architecture=architecture.name.lower() if architecture else None,
        location=asked.location,
        replicas=asked.replicas if explicit["replicas"] is not None or asked.replicas != 1 else None,
        service_tier=tier.name.lower() if tier else None,
    )


def _accelerator(asked: xm.JobRequirements) -> ir.Accelerator | None:
    kind = asked.accelerator
    if kind is None or asked.topology is None or not asked.task_requirements[kind]:
        return None
    topology = asked.topology.name if asked.has_topology else None
    count: float | None = None if topology else float(asked.task_requirements[kind])
    if topology and kind in xm.GpuType and kind is not xm.ResourceType.B40_48TH:
        count = float(asked.topology.dimensions[0])  # a replica is one host, the first dimension
    return ir.Accelerator(type=kind.name.lower(), count=count, topology=topology, slices=asked.num_slices)


def _bytes(amount: float | None) -> int | None:
    return None if amount is None else round(amount)


def _entrypoint(entrypoint: Any) -> ir.ModuleName | ir.CommandList:
    if isinstance(entrypoint, xm.ModuleName):
        return ir.ModuleName(entrypoint.module_name)
    return ir.CommandList(tuple(map(str, entrypoint.commands)))


def _port(value: object) -> int:
    """Docker also takes `'8080/tcp'` for the port in the container."""
    port = int(str(value).removesuffix("/tcp"))
    if isinstance(value, bool) or not 0 < port < 65536:
        raise ValueError(value)
    return port


def _is_text(value: ir.Arg) -> bool:
    text = value if isinstance(value, str) else value.shell
    if text.isascii():
        return "\0" not in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _bad_text(what: str, where: str) -> Problem:
    return Problem(
        f"{what} holds a NUL character or half of a surrogate pair, or is empty",
        where,
        "neither a command line nor an environment can hold it",
    )
