"""A checked experiment.yaml -> Experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import assert_never, cast

from xmgen import experiment as ir
from xmgen import names, sources
from xmgen.frontends.spec import executables, executors, model
from xmgen.frontends.spec.base import Model
from xmgen.frontends.spec.requirements import Requirements
from xmgen.frontends.spec.sweep import Trial, blocks, expand
from xmgen.frontends.spec.values import Address, Arg, Item, Shell
from xmgen.plan import places


def experiment(
    spec: model.Spec,
    references: Iterable[ir.Reference],
    *,
    root: Path,
    stack: str,
    source: str,
    where: Callable[[Sequence[str]], str],
) -> ir.Experiment:
    """Paths in `spec` are relative to `root` already. references: those whose tokens stand in it. where: how an error
    names what stands at a key path."""
    origins = {places.of_executable(name): where(["executables", name]) for name in spec.executables}
    return ir.Experiment(
        title=spec.title,
        stack=stack,
        source=source,
        experiment_id=names.experiment_id(stack),
        executables=tuple(_executable(name, each, root, source) for name, each in spec.executables.items()),
        units=tuple(_units(spec, names.experiment_id(stack), where, origins)),
        references=tuple(references),
        cluster=_cluster(spec.cluster),
        origins=origins,
    )


def _cluster(spec: model.Cluster | None) -> ir.ClusterChoice | None:
    if spec is None:
        return None
    if spec.stack is not None:
        return ir.ClusterChoice(kind="stack", name=spec.stack)
    return ir.ClusterChoice(kind="existing", name=spec.existing or "", location=spec.location)


def _executable(name: str, spec: executables.Executable, root: Path, source: str) -> ir.Executable:
    match spec:
        case executables.PythonContainer():
            starts = [*(spec.entrypoint.commands or ()), *(spec.docker_instructions or ())]
            exclude = sources.own_file(root / spec.path, root / source, starts)
            entrypoint = (
                ir.CommandList(tuple(spec.entrypoint.commands))
                if spec.entrypoint.commands
                else ir.ModuleName(spec.entrypoint.module_name or "")
            )
            return ir.PythonContainer(
                name=name,
                path=spec.path,
                entrypoint=entrypoint,
                digest=sources.digest(root / spec.path, exclude),
                exclude=exclude,
                ignore=tuple(sources.ignore_rules(root / spec.path)),
                requirements="requirements.txt" in sources.files(root / spec.path),
                elsewhere=spec.module(root)[0],
                base_image=spec.base_image,
                docker_instructions=None if spec.docker_instructions is None else tuple(spec.docker_instructions),
                use_deep_module=spec.use_deep_module,
                push_image_tag=spec.push_image_tag,
            )
        case executables.Dockerfile():
            dockerfile = spec.dockerfile or (Path(spec.path) / "Dockerfile").as_posix()
            exclude = sources.own_file(root / spec.path, root / source, [sources.text(root / dockerfile)])
            return ir.Dockerfile(
                name=name,
                path=spec.path,
                dockerfile=dockerfile,
                digest=sources.digest(root / spec.path, exclude),
                exclude=exclude,
                push_image_tag=spec.push_image_tag,
            )
        case executables.Container():
            return ir.Container(name=name, image=spec.image_path, push_image_tag=spec.push_image_tag)
        case executables.Binary():
            return ir.Binary(
                name=name,
                path=spec.path,
                digest=sources.digest(root / spec.path),
                dependencies=tuple(spec.dependencies),
            )
        case _:
            assert_never(spec)


def _units(
    spec: model.Spec, experiment_id: int, where: Callable[[Sequence[str]], str], origins: dict[str, str]
) -> Iterator[ir.WorkUnit]:
    """origins: gets the places of the units and their jobs."""
    positions: dict[str, tuple[int, ...]] = {}
    position = number = 0
    for name in _order(spec.work_units):
        unit = spec.work_units[name]
        depends_on = tuple(sorted({each for other in unit.depends_on for each in positions[other]}))
        first = position
        templates = _templates(spec, name, unit)
        sites = _sites(name, unit, where)
        for trial in expand(blocks(unit.sweep)):
            if unit.role == "work_unit":
                number += 1
            id = number if unit.role == "work_unit" else 0
            prefix = names.unit_prefix(experiment_id, unit.role, id)
            target = "" if isinstance(unit, model.SingleJob) else None
            yield ir.WorkUnit(
                id=id,
                jobs=tuple(template.job(trial, target, prefix) for template in templates),
                role=unit.role,
                depends_on=depends_on,
                label=unit.label,
            )
            origins.update({f"{places.of_unit(unit.role, id)}{rest}": site for rest, site in sites.items()})
            position += 1
        positions[name] = tuple(range(first, position))


def _sites(name: str, unit: model.WorkUnit, where: Callable[[Sequence[str]], str]) -> dict[str, str]:
    """Where the file has a unit, its jobs and their executors: by what an error says after the unit's number."""
    path = ["work_units", name]
    result = {"": where(path)}
    for job in model.jobs(unit, name):
        at = [*path, "job"] if isinstance(unit, model.SingleJob) else [*path, "jobs", job]
        result[places.of_job("", job)] = where(at)
        result[places.of_executor(places.of_job("", job))] = where([*at, "executor", "requirements"])
    return result


def _order(units: Mapping[str, model.WorkUnit]) -> list[str]:
    """The file's order, except that a work unit comes after those it waits for."""
    done: dict[str, None] = {}

    def place(name: str) -> None:
        for other in units[name].depends_on:
            if other not in done:
                place(other)
        done[name] = None

    for name in units:
        if name not in done:
            place(name)
    return list(done)


def _templates(spec: model.Spec, name: str, unit: model.WorkUnit) -> list[_Template]:
    jobs = model.jobs(unit, name)
    return [_Template(job_name, job, spec.executables[job.executable]) for job_name, job in jobs.items()]


class _Template:
    """A job without its trial's values. What all trials share is made once."""

    def __init__(self, name: str, job: model.Job, executable: executables.Executable) -> None:
        self.name = name
        self._executable = job.executable
        self._executor = _executor(job.executor)
        self._args = [executable.args, job.args]
        self._env = {**executable.env_vars, **job.env_vars}

    def job(self, trial: Trial, target: str | None, prefix: str) -> ir.Job:
        """target: the name by which the trial means this job, if not its own. prefix: XManager's of the work unit."""
        target = self.name if target is None else target
        hosts = _Hosts(prefix, isinstance(self._executor, ir.Kubernetes))
        args = {name: value for (job, kind, name), value in trial.items() if job == target and kind == "args"}
        env = {name: value for (job, kind, name), value in trial.items() if job == target and kind == "env_vars"}
        return ir.Job(
            name=self.name,
            executable=self._executable,
            executor=self._executor,
            args=_argv([*self._args, args], hosts),
            env={name: str(hosts.of(value)) for name, value in {**self._env, **env}.items()},
        )


@dataclass(frozen=True, slots=True)
class _Hosts:
    """Where the jobs of a group find each other. prefix: XManager's of their work unit."""

    prefix: str
    on_cluster: bool

    def of(self, value: Arg) -> Arg:
        """The text of an address; any other value as it is."""
        if not isinstance(value, Address):
            return value
        return ",".join(f"{self._host(job)}{port}" for job, port in value.hosts)

    def _host(self, job: str) -> str:
        """A container on this machine has its job's name. On a cluster XManager's addresses are the contract."""
        return names.address(f"{self.prefix}_{job}".replace("_", "-")) if self.on_cluster else job


def _argv(operands: Sequence[Mapping[str, Arg] | Sequence[Item]], hosts: _Hosts) -> tuple[ir.Arg, ...]:
    """Merged as the launch API merges them. A null of the file's is deliberate: it goes without the API's warning."""
    from xmgen.frontends.xmanager.api.xm.sequential_args import merge_args

    final = {name: value for operand in operands if isinstance(operand, Mapping) for name, value in operand.items()}
    return merge_args(
        *(
            {name: _value(value, hosts) for name, value in operand.items() if final[name] is not None}
            if isinstance(operand, Mapping)
            else [_value(item, hosts) for item in operand]
            for operand in operands
        )
    ).to_argv()


def _value(value: Arg, hosts: _Hosts) -> object:
    if isinstance(value, list):
        return [_value(item, hosts) for item in value]
    return _shell(value.text) if isinstance(value, Shell) else hosts.of(value)


def _shell(text: str) -> object:
    from xmgen.frontends.xmanager.api.xm.utils import ShellSafeArg

    return ShellSafeArg(text)


def _executor(spec: executors.Executor) -> ir.Executor:
    return cast("ir.Executor", _record(spec))


def _record(spec: Model) -> object:
    """The experiment's record that is called like a model of the file, and whose options are, too."""
    record = getattr(ir, type(spec).__name__)
    return record(**{each.name: _option(getattr(spec, each.name), each.default) for each in fields(record)})


def _option(value: object, default: object) -> object:
    match value:
        case Requirements():
            return value.build()
        case Model():
            return _record(value)
        case list():
            return tuple(_record(item) for item in cast("list[Model]", value)) or default
        case False if default is None:
            return None
        case _:
            return value
