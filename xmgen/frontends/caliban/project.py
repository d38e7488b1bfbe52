"""A Caliban project and the command that is run in it: executable, arguments, executor of each job."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xmgen import experiment as ir
from xmgen import names, sources
from xmgen.errors import InputError, Problem
from xmgen.frontends.caliban import commented_json, expansion, flags, jobs, machines, mlflow, packaging, settings
from xmgen.frontends.caliban.docker_options import docker_options
from xmgen.frontends.caliban.launcher import CREDENTIALS, PASSWORD
from xmgen.frontends.caliban.machines import Spec
from xmgen.frontends.caliban.options import Options
from xmgen.frontends.caliban.settings import JobMode

DEFAULT_MACHINE_TYPES: Mapping[JobMode, str] = {"CPU": "n1-highcpu-32", "GPU": "n1-standard-8"}
MIN_CPU: Mapping[bool, int] = {False: 31_000, True: 1_500}
MIN_MEM: Mapping[bool, int] = {False: 25_000, True: 7_000}
"""Thousandths of a CPU, and MB, that a Job requests; True: beside an accelerator."""
RETRIES = 4

DATABASE_PASSWORD = ir.Reference(kind="secret", name="mlflowDbPassword")


def default_job_name(stack: str) -> str:
    """Caliban's, with the stack in the place of the user."""
    return f"caliban_{stack.replace('-', '_')}"


def vertex_requirements(
    gpu: Spec | None, tpu: Spec | None, machine: ir.JobRequirements, region: str | None
) -> ir.JobRequirements:
    """What a training job asks of Vertex AI. A slice of TPUs comes with its machine."""
    if gpu is not None and tpu is not None:
        raise InputError(Problem("a job has either GPUs or a TPU", hint="leave out --gpu_spec or --tpu_spec"))
    if tpu is not None:
        return ir.JobRequirements(accelerator=tpu.accelerator, location=region)
    return machines.with_accelerator(replace(machine, location=region), gpu)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A Caliban project, and the command that is run in it. path: its folder, relative to the root."""

    folder: Path
    path: str
    root: Path
    stack: str
    options: Options
    config: settings.Config
    mode: JobMode
    package: packaging.Package

    @staticmethod
    def of(folder: Path, root: Path, stack: str, options: Options) -> Project:
        """Raises InputError for what the folder lacks."""
        problems: list[Problem] = []
        for name in options.directories:
            inside = (folder / name).resolve()
            if not inside.is_dir() or not inside.is_relative_to(folder):
                problems.append(Problem(f"there is no folder {name!r} in the project", "--dir"))
        if problems:
            raise InputError(*problems)
        return Project(
            folder=folder,
            path=folder.relative_to(root).as_posix(),
            root=root,
            stack=stack,
            options=options,
            config=settings.read(folder),
            mode=machines.job_mode(options.use_gpu, options.gpu_spec, options.tpu_spec),
            package=packaging.existing_package(options.module, folder),
        )

    @property
    def uses_mlflow(self) -> bool:
        return self.config["mlflow_config"] is not None

    @property
    def hands_on_password(self) -> bool:
        """A program on this machine finds the password in its environment; elsewhere it is the stack's secret."""
        return self.uses_mlflow and self.options.command != "run"

    @property
    def accelerator(self) -> Spec | None:
        """What a job on a cluster or on Vertex AI runs on."""
        if self.options.tpu_spec is not None:
            return self.options.tpu_spec
        if self.mode == "CPU":
            return None
        return self.options.gpu_spec or machines.DEFAULT_GPU

    def experiments(self) -> Iterator[expansion.Experiment]:
        """Raises InputError when there is none."""
        source = self.options.experiment_config
        if source is None:
            yield {}
            return
        where = source if len(source) <= 60 else "--experiment_config"
        found = iter(expansion.expand(self._experiment_config(source), where))
        first = next(found, None)
        if first is None:
            raise InputError(Problem("expands to no experiment", where, "an empty list makes a sweep empty"))
        yield first
        yield from found

    def _experiment_config(self, source: str) -> object:
        if expansion.is_inline(source):
            # What came from standard input: a stack must be compiled again without it.
            return commented_json.loads(source, "--experiment_config")
        if expansion.is_stdin(source):
            raise InputError(Problem("standard input is read by `xmgen caliban` only", "--experiment_config"))
        return expansion.load(str(self.folder / source))

    def runs(self) -> Iterator[jobs.Run]:
        """One per experiment. An MLflow run is called after its arguments, so that it keeps its name in any sweep."""
        experiments = list(self.experiments())
        group = self.options.xgroup or self.stack
        own = (" ".join(args) for args in flags.job_args(experiments, self.options.script_args))
        run_names = names.unique(f"{group}-{names.short_hash(text)}" for text in own)
        for experiment, name in zip(experiments, run_names, strict=True):
            yield jobs.Run(experiment=experiment, args=self.options.script_args, group=group, run_name=name)

    @property
    def job_name(self) -> str:
        stem = posixpath.basename(self.package.script_path)
        return self.options.name or re.sub(r"\.\w+\Z", "", stem)

    @property
    def contents(self) -> packaging.Contents:
        setup_py = (self.folder / "setup.py").is_file()
        launcher_config = mlflow.launcher_config(self.config)
        if self.options.command == "submit":
            # Jobs on a cluster have the proxy as a sidecar.
            launcher_config = replace(launcher_config, services=[])
        return packaging.Contents(
            apt_packages=settings.apt_packages(self.config, self.mode),
            extras=packaging.base_extras(self.mode, self.options.extras, setup_py=setup_py),
            conda=(self.folder / "environment.yml").is_file(),
            requirements=(self.folder / "requirements.txt").is_file(),
            directories=self.options.directories,
            launcher_config=launcher_config,
        )

    def executable(self) -> ir.PythonContainer | ir.Container:
        if self.options.image is not None:
            return ir.Container(name=self.job_name, image=self.options.image)
        exclude = self._exclude()
        command = self.package.command
        return ir.PythonContainer(
            name=self.job_name,
            path=self.path,
            entrypoint=ir.Argv(
                container=tuple(packaging.entrypoint(command)), process=tuple(packaging.process_command(command))
            ),
            digest=sources.digest(self.folder, exclude),
            exclude=exclude,
            ignore=tuple(sources.ignore_rules(self.folder)),
            base_image=settings.base_image(self.config, self.mode) or settings.DEFAULT_BASE_IMAGES[self.mode],
            docker_instructions=tuple(
                packaging.dockerfile_instructions(
                    self.package, self.contents, "" if self.path == "." else posixpath.basename(self.path)
                )
            ),
        )

    def _exclude(self) -> tuple[str, ...]:
        """What is no code: the sweep, unless the program reads it; and what holds secrets, in any case."""
        named = (settings.FILE, self.options.cloud_key, self.options.experiment_config)
        there = [self.folder / name if name and (self.folder / name).is_file() else None for name in named]
        config, key, sweep = (path and path.resolve() for path in there)
        secret = [path for path in (config, key) if path and path.is_relative_to(self.folder)]
        own = sources.own_file(self.folder, sweep, ()) if sweep else ()
        return tuple(sorted({*(path.relative_to(self.folder).as_posix() for path in secret), *own}))

    def units(self) -> Iterator[ir.WorkUnit]:
        first = 1 if self.options.command == "cloud" else 0
        executor, env, tags = self._executor(), self._env(), self._tags()
        mlflow_config = self.config["mlflow_config"]
        instance = mlflow.instance(mlflow_config) if mlflow_config and self.options.command == "submit" else None
        for position, run in enumerate(self.runs()):
            args = run.argv(position + first, tags, mlflow=self.uses_mlflow)
            job = ir.Job(
                name=self.job_name,
                executable=self.job_name,
                executor=executor,
                args=tuple(args),
                env=env,
                labels=self._labels(run) if self.options.command == "cloud" else None,
                cloud_sql=instance,
            )
            yield ir.WorkUnit(id=position + 1, jobs=(job,))

    def _env(self) -> dict[str, str]:
        env = dict(mlflow.launcher_config(self.config).env)
        env |= docker_options(self.options.docker_run_args, self._cloud_key()).env
        return env | ({PASSWORD: DATABASE_PASSWORD.token} if self.hands_on_password else {})

    def _tags(self) -> dict[str, str]:
        """Of an MLflow run. Caliban's image is a hash of the code, which would make each change of it another run."""
        gpu, tpu = self.mode == "GPU", self.options.tpu_spec is not None
        image = self.options.image or self.stack
        common = {"gpu_enabled": str(gpu).lower(), "tpu_enabled": str(tpu).lower()}
        match self.options.command:
            case "cloud":
                return {"platform": "CAIP", **common, "job_name": self._cloud_name, "docker_image": image} | dict(
                    self.options.labels
                )
            case "submit":
                return {"platform": "GKE", **dict(self.options.labels), **common, "docker_image": image}
            case _:
                return {**common, "docker_image": image, "platform": "LOCAL"}

    @property
    def _cloud_name(self) -> str:
        return self.options.name or default_job_name(self.stack)

    def _labels(self, run: jobs.Run) -> dict[str, str]:
        image = self.options.image or self.stack
        gpu = self.accelerator if self.mode == "GPU" else None
        common = jobs.job_labels(self._cloud_name, image, gpu, self.options.tpu_spec, self.options.labels)
        [spec] = jobs.job_specs(self._cloud_name, {}, common, [run], mlflow=self.uses_mlflow)
        return dict(sorted(spec["labels"].items()))

    def _executor(self) -> ir.Executor:
        match self.options.command:
            case "cloud":
                machine = machines.parse_machine_type(self.options.machine_type or DEFAULT_MACHINE_TYPES[self.mode])
                gpu = self.accelerator if self.mode == "GPU" else None
                return ir.Vertex(
                    requirements=vertex_requirements(gpu, self.options.tpu_spec, machine, self.options.region)
                )
            case "submit":
                return ir.Kubernetes(requirements=self._cluster_requirements(), retries=RETRIES)
            case _:
                gpu = ir.Accelerator(type="local_gpu", count=1) if self.mode == "GPU" else None
                found = docker_options(self.options.docker_run_args, self._cloud_key())
                return ir.Local(requirements=ir.JobRequirements(accelerator=gpu), docker_options=found.options)

    def _cluster_requirements(self) -> ir.JobRequirements:
        requirements = ir.JobRequirements(
            cpu=self.min_cpu / 1000,
            ram=self.min_mem * 10**6,
            service_tier="spot" if self.spot else None,
        )
        return machines.with_accelerator(requirements, self.accelerator)

    @property
    def min_cpu(self) -> int:
        return self.options.min_cpu or MIN_CPU[self.accelerator is not None]

    @property
    def min_mem(self) -> int:
        return self.options.min_mem or MIN_MEM[self.accelerator is not None]

    @property
    def spot(self) -> bool:
        """Spot machines unless the user does not want them, or there are none with that accelerator."""
        wanted = self.options.preemptible_tpu if self.options.tpu_spec else True
        return wanted and self.options.preemptible and machines.sold_as_spot(self.accelerator)

    def _cloud_key(self) -> tuple[str, str] | None:
        """The key's path as a volume, and what it is called in the container."""
        key = self.options.cloud_key
        if key is None or self.options.command != "run":
            return None
        path = Path(key).expanduser()
        path = path if path.is_absolute() else self.folder / path
        if not path.is_file():
            raise InputError(Problem(f"there is no file {key!r}", "--cloud_key"))
        for base, prefix in ((self.root, "./"), (Path.home(), "~/")):
            if path.resolve().is_relative_to(base.resolve()):
                return prefix + path.resolve().relative_to(base.resolve()).as_posix(), CREDENTIALS
        hint = "keep it in the project or in your home folder: a stack holds no path of one machine"
        raise InputError(Problem(f"{key!r} lies elsewhere", "--cloud_key", hint))


def exported(project: Project, image: str) -> Iterable[dict[str, Any]]:
    """The Jobs of `cluster job submit` for any cluster, without what a stack adds."""
    options, accelerator = project.options, project.accelerator
    tags = {**dict(options.labels), "gpu_enabled": str(project.mode == "GPU").lower()}
    tags |= {"tpu_enabled": str(options.tpu_spec is not None).lower(), "docker_image": image}
    env: list[dict[str, Any]] = [
        {"name": name, "value": value} for name, value in mlflow.launcher_config(project.config).env.items()
    ]
    if project.uses_mlflow:
        secret = {"name": "secrets", "key": DATABASE_PASSWORD.name}
        env.append({"name": PASSWORD, "valueFrom": {"secretKeyRef": secret}})
    for index, run in enumerate(project.runs()):
        yield jobs.simple_job(
            run,
            name=options.name or f"caliban-{project.stack}",
            image=image,
            min_cpu=project.min_cpu,
            min_mem=project.min_mem,
            index=index,
            mlflow=project.uses_mlflow,
            labels=tags,
            env=env,
            accelerator=accelerator,
            preemptible=project.spot,
        )
