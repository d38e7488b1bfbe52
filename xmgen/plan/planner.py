"""Experiment -> Plan: which resources an experiment takes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from xmgen import names
from xmgen.catalog.model import Architecture
from xmgen.errors import InputError, Problem
from xmgen.executors import addresses, planning
from xmgen.executors.planning import ExecutorPlanner, PackagedCode, UnitToPlan, is_service
from xmgen.experiment import Experiment, ModuleName, PythonContainer, WorkUnit
from xmgen.plan import entrypoints, places
from xmgen.plan.identity import identities
from xmgen.plan.model import Plan, PlannedImage, PlannedUnit
from xmgen.plan.places import place
from xmgen.pulumi_values import UNKNOWNS
from xmgen.resource_types import naming

IDENTITY_IN_NAME = 8
"""Hex digits of a unit's identity in its logical name."""


Stacks = Callable[[str], Experiment]
"""The experiment of another stack of the project. Raises InputError when there is none."""


def no_other_stack(name: str) -> Experiment:
    raise InputError(Problem(f"the cluster is that of the stack {name!r}, which is not known here"))


def plan(experiment: Experiment, stacks: Stacks = no_other_stack) -> Plan:
    """Raises InputError with everything that cannot be planned, in the order of the units and their jobs."""
    shared = _shared(experiment, stacks)
    used = [planner(experiment, shared) for planner in planning.planners() if planner.uses(experiment)]
    code = PackagedCode.of(experiment, used)
    _refuse(experiment, used, code, shared)
    # A stack runs in one place; one without units on this machine.
    planner = used[0] if used else planning.planners()[0](experiment, shared)
    made = Plan(
        experiment=experiment,
        executables=code.executables,
        images=_for_architectures(experiment, code, planner),
        units=tuple(_units(experiment, code, planner)),
        notes=(*_notes(experiment), *planner.job_notes, *addresses.notes(experiment), *planner.machine_notes),
    )
    made = planner.completed(made, code)
    planned = replace(made, declared=planner.declared(made))
    if wrong := [Problem(told) for told in _wrong_names(planned) if told]:
        raise InputError(*wrong)
    return planned


def _refuse(experiment: Experiment, used: Sequence[ExecutorPlanner], code: PackagedCode, shared: Plan | None) -> None:
    problems = [problem for unit in experiment.units for problem in (*_refusals(unit), *_unsayable(unit))]
    problems += [problem for planner in planning.planners() for problem in planner.refusals(experiment, shared)]
    pods = {key: count for planner in used for key, count in planner.pods.items()}
    problems += [*code.problems, *addresses.problems(experiment, pods)]
    of_executors = [problem for planner in used for problem in planner.problems]
    if not problems and not of_executors:
        of_executors = _mixed(experiment, used)
    if problems or of_executors:
        raise InputError(*places.gathered(places.located(experiment, problems, of_executors)))


def _wrong_names(plan: Plan) -> Iterator[str]:
    """What Google or Kubernetes would refuse at every `up`."""
    for declared in plan.declared.resources:
        for resource in declared.expanded():
            yield naming.problem(resource.type, str(resource.name), resource.inputs)
    if plan.declared.workloads is not None:
        for unit in plan.units:
            for manifest in unit.manifests:
                yield naming.problem(plan.declared.workloads.type, unit.name, manifest)


def _for_architectures(
    experiment: Experiment, code: PackagedCode, planner: ExecutorPlanner
) -> tuple[PlannedImage, ...]:
    """The images, for the architectures of the machines that run them."""
    wanted: dict[str, set[Architecture]] = {}
    for position, unit in enumerate(experiment.units):
        for job in unit.jobs:
            architectures = wanted.setdefault(code.keys[job.executable], set())
            architectures.add(planner.architecture((position, job.name)))
    return tuple(
        replace(image, architectures=tuple(sorted(wanted.get(image.name, {"amd64"})))) for image in code.images
    )


def _shared(experiment: Experiment, stacks: Stacks) -> Plan | None:
    """The plan of the stack whose cluster the experiment uses. It is planned from what is compiled, without a cloud."""
    choice = experiment.cluster
    if choice is None or choice.kind != "stack":
        return None
    if choice.name == experiment.stack:
        raise InputError(Problem("a stack's own cluster is no other stack's", hint="leave the choice of a cluster out"))
    other = plan(stacks(choice.name), stacks)
    if other.cluster is None or other.cluster.kind != "own":
        raise InputError(
            Problem(
                f"the stack {choice.name!r} has no cluster of its own",
                hint="name the stack that creates the cluster; `xmgen cluster create` makes one",
            )
        )
    return other


def _units(experiment: Experiment, code: PackagedCode, planner: ExecutorPlanner) -> list[PlannedUnit]:
    all_identities = identities(experiment)
    logical_names = names.unique(
        f"{names.unit_slug(unit, experiment.experiment_id)}-{identity[:IDENTITY_IN_NAME]}"
        for unit, identity in zip(experiment.units, all_identities, strict=True)
    )
    awaited = {predecessor for unit in experiment.units for predecessor in unit.depends_on}
    result: list[PlannedUnit] = []
    for position, (unit, name, identity) in enumerate(
        zip(experiment.units, logical_names, all_identities, strict=True)
    ):
        predecessors = [result[predecessor] for predecessor in unit.depends_on]
        to_plan = UnitToPlan(
            position=position,
            unit=unit,
            name=name,
            identity=identity,
            predecessors=predecessors,
            awaited=position in awaited,
        )
        result.append(
            PlannedUnit(
                name=name,
                identity=identity,
                position=position,
                executor=planner.kind,
                manifests=planner.manifests(to_plan, code),
                depends_on=tuple(each.name for each in predecessors),
            )
        )
    return result


def _unsayable(unit: WorkUnit) -> list[Problem]:
    """Texts that Pulumi takes for a value that is not known yet, wherever they stand."""
    return [
        Problem(
            f"has the text {text!r} as an argument or in its environment, which Pulumi takes for an unknown value",
            where=place(unit, job.name),
            hint="make it part of a longer text",
        )
        for job in unit.jobs
        for text in (*job.args, *job.env.values())
        if text in UNKNOWNS
    ]


def _mixed(experiment: Experiment, used: Sequence[ExecutorPlanner]) -> list[Problem]:
    """A stack has one program, and so one kind of executor."""
    first = {type(unit.jobs[0].executor): unit for unit in reversed(experiment.units)}
    there = [planner for planner in used if planner.executor in first]
    if len(there) < 2:
        return []
    second = max((first[planner.executor] for planner in there), key=lambda unit: experiment.units.index(unit))
    by_flag = "a flag of the launch script can choose"
    by_file = "move some to a file of their own"
    return [
        Problem(
            f"some work units run {' and others '.join(planner.place for planner in there)}, "
            "but a stack runs in one place",
            where=place(second, second.jobs[0].name),
            hint="compile them into stacks of their own: "
            f"{by_file if experiment.source.endswith(names.YAML_SUFFIXES) else by_flag}",
        )
    ]


def _refusals(unit: WorkUnit) -> list[Problem]:
    problems: list[Problem] = []
    if len({type(job.executor) for job in unit.jobs}) > 1:
        problems.append(
            Problem(
                "its jobs have different executors, so they would not start together",
                where=place(unit),
                hint="give the jobs of a group one executor, or add them as work units of their own",
            )
        )
    if not problems and all(is_service(job) for job in unit.jobs):
        problems.append(
            Problem(
                "all of its jobs are services, so it would never end",
                where=place(unit),
                hint="a unit needs a job that ends; leave out `service` for that one",
            )
        )
    return problems


def _notes(experiment: Experiment) -> list[str]:
    return [
        entrypoints.note(each.name, each.entrypoint.module, each.path, each.elsewhere)
        for each in experiment.executables
        if isinstance(each, PythonContainer) and isinstance(each.entrypoint, ModuleName) and each.elsewhere is not None
    ]
