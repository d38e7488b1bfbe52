"""How errors name what is wrong: by work unit and job, and, as far as a front end knows, by its place in the source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from xmgen.errors import Problem
from xmgen.experiment import Executor, Experiment, Role, WorkUnit

_E = TypeVar("_E", bound=Executor)

_FEW = 3
"""Jobs that are each named with a problem that they share."""

Key = tuple[int, str]
"""A job: the position of its unit in `Experiment.units`, and its name."""


def place(unit: WorkUnit, job: str = "") -> str:
    """How an error names a work unit, and a job of it."""
    where = of_unit(unit.role, unit.id)
    return of_job(where, job) if job else where


def of_unit(role: Role, number: int) -> str:
    return "auxiliary unit" if role == "auxiliary" else f"work unit {number}"


def of_job(unit: str, job: str) -> str:
    return f"{unit}, job {job}"


def of_executor(job: str) -> str:
    """Of the executor of a job, in `Experiment.origins`."""
    return f"{job}, executor"


def of_executable(name: str) -> str:
    return f"executable {name}"


def of_jobs(experiment: Experiment) -> dict[Key, str]:
    return {
        (position, job.name): place(unit, job.name)
        for position, unit in enumerate(experiment.units)
        for job in unit.jobs
    }


def executors(experiment: Experiment, kind: type[_E]) -> Iterator[tuple[str, _E]]:
    """Each executor of this kind, with the place of the first job that has it.

    A sweep shares one executor among thousands of jobs: once is enough to choose a machine for it, or to say what is
    wrong with it.
    """
    seen: set[int] = set()
    for unit in experiment.units:
        for job in unit.jobs:
            if isinstance(job.executor, kind) and id(job.executor) not in seen:
                seen.add(id(job.executor))
                yield place(unit, job.name), job.executor


def located(experiment: Experiment, problems: Iterable[Problem], of_executors: Iterable[Problem] = ()) -> list[Problem]:
    """The problems in the user's order, with their places in the source. What is about no job, such as an executable,
    comes last.

    of_executors: those that are about the executor of the job at their place, such as its requirements.
    """
    names = [each for unit in experiment.units for each in (place(unit), *(place(unit, job.name) for job in unit.jobs))]
    positions = {each: position for position, each in enumerate(dict.fromkeys(names))}
    found = [
        *((problem, problem.where) for problem in problems),
        *((problem, of_executor(problem.where)) for problem in of_executors),
    ]
    found.sort(key=lambda pair: positions.get(pair[0].where, len(positions)))
    return [at(experiment.origins, problem, key) for problem, key in found]


def gathered(problems: Sequence[Problem]) -> list[Problem]:
    """The problems, of which one that many jobs have alike is said once, of the first, with the number of the others:
    a launch script may make an executor for each trial of its sweep.
    """
    alike = Counter((problem.message, problem.hint) for problem in problems)
    result: dict[tuple[str, str] | int, Problem] = {}
    for position, problem in enumerate(problems):
        said = problem.message, problem.hint
        if alike[said] <= _FEW:
            result[position] = problem
        elif said not in result:
            result[said] = replace(problem, where=f"{problem.where}, and {alike[said] - 1} others")
    return list(result.values())


def at(origins: Mapping[str, str], problem: Problem, key: str = "") -> Problem:
    """The problem, with its place in the source, or its unit's. key: what to look up first, if not its own place."""
    unit = problem.where.partition(of_job("", ""))[0]
    origin = origins.get(key) or origins.get(problem.where) or origins.get(unit)
    if problem.where.startswith(of_executable("")):
        # Its message names it.
        return replace(problem, where=origin or "")
    return replace(problem, where=f"{origin}, {problem.where}") if origin else problem
