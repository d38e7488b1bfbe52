"""Experiment -> Plan: which resources an experiment takes. Pure."""

from __future__ import annotations

from xmgen import names
from xmgen.errors import InputError, Problem
from xmgen.executors import local
from xmgen.experiment import Experiment, Local, WorkUnit
from xmgen.identity import identities
from xmgen.plan import Plan, PlannedExecutable, PlannedUnit

IDENTITY_IN_NAME = 8
"""Hex digits of a unit's identity in its logical name."""


def plan(experiment: Experiment) -> Plan:
    """Raises InputError with everything that cannot be planned."""
    problems = [problem for unit in experiment.units for problem in _refusals(unit)]
    keys = dict(zip((e.name for e in experiment.executables), _executable_keys(experiment), strict=True))
    executables: list[PlannedExecutable] = []
    for executable in experiment.executables:
        planned = local.executable(executable, keys[executable.name], experiment)
        if isinstance(planned, Problem):
            problems.append(planned)
        else:
            executables.append(planned)
    if problems:
        raise InputError(*problems)
    return Plan(
        experiment=experiment,
        executables=tuple(executables),
        units=tuple(_units(experiment, keys)),
        notes=tuple(_notes(experiment)),
    )


def _executable_keys(experiment: Experiment) -> list[str]:
    wanted = (names.slug(e.name) or f"executable-{names.short_hash(e.name)}" for e in experiment.executables)
    return list(names.unique(wanted))


def _units(experiment: Experiment, keys: dict[str, str]) -> list[PlannedUnit]:
    all_identities = identities(experiment)
    logical_names = list(
        names.unique(
            f"{names.unit_slug(unit, experiment.experiment_id)}-{identity[:IDENTITY_IN_NAME]}"
            for unit, identity in zip(experiment.units, all_identities, strict=True)
        )
    )
    result: list[PlannedUnit] = []
    for position, (unit, name, identity) in enumerate(
        zip(experiment.units, logical_names, all_identities, strict=True)
    ):
        depends_on = tuple(logical_names[predecessor] for predecessor in unit.depends_on)
        manifest = local.manifest(experiment, unit, name, identity, keys)
        if depends_on:
            manifest["dependsOn"] = list(depends_on)
        result.append(
            PlannedUnit(name=name, identity=identity, position=position, manifest=manifest, depends_on=depends_on)
        )
    return result


def place(unit: WorkUnit, job: str = "") -> str:
    """How an error names a work unit, and a job of it."""
    where = "auxiliary unit" if unit.role == "auxiliary" else f"work unit {unit.id}"
    return f"{where}, job {job}" if job else where


def _refusals(unit: WorkUnit) -> list[Problem]:
    problems = [
        Problem(
            f"the {type(job.executor).__name__} executor cannot be compiled yet",
            where=place(unit, job.name),
            hint="xm_local.Local runs jobs on this machine; `xmgen expand` shows the units of any executor",
        )
        for job in unit.jobs
        if not isinstance(job.executor, Local)
    ]
    if not problems and all(isinstance(job.executor, Local) and job.executor.service for job in unit.jobs):
        problems.append(
            Problem(
                "all of its jobs are services, so it would never end",
                where=place(unit),
                hint="a unit needs a job that ends; leave out `service` for that one",
            )
        )
    return problems


def _notes(experiment: Experiment) -> list[str]:
    ignored = {
        name
        for unit in experiment.units
        for job in unit.jobs
        if isinstance(job.executor, Local)
        for name in local.ignored(job.executor.requirements)
    }
    if not ignored:
        return []
    return [f"The Local executor takes cpu and local_gpu; it ignores {', '.join(sorted(ignored))}."]
