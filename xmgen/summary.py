"""`SUMMARY.md`: what a reviewer should know of a stack before opening its program."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import assert_never

from xmgen.experiment import (
    Arg,
    BazelBinary,
    BazelContainer,
    Binary,
    Container,
    Dockerfile,
    Executable,
    Job,
    PythonContainer,
)
from xmgen.plan import Plan, header
from xmgen.templating import render as render_template

ROWS = 200
"""Work units listed; a longer table helps nobody."""


def overview(plan: Plan) -> str:
    """`8 work units on this machine`."""
    count = len(plan.units)
    return f"{count} work unit{'' if count == 1 else 's'} on this machine"


def render(plan: Plan) -> str:
    experiment = plan.experiment
    jobs = [job for unit in experiment.units for job in unit.jobs]
    shared = shared_arguments(jobs)
    logical_names = [unit.name for unit in plan.units]
    units = [
        {
            "name": planned.name,
            "jobs": ", ".join(job.name for job in experiment.units[planned.position].jobs),
            "arguments": varying_arguments(experiment.units[planned.position].jobs, shared),
            "after": ", ".join(planned.depends_on),
        }
        for planned in plan.units[:ROWS]
    ]
    omitted = len(logical_names) - len(units)
    return render_template(
        "stack/SUMMARY.md.j2",
        header=header(experiment),
        title=experiment.title,
        overview=f"{overview(plan)[0].upper()}{overview(plan)[1:]}.",
        resources=[("xmgen:local:Executable", len(plan.executables)), ("xmgen:local:Run", len(plan.units))],
        notes=plan.notes,
        executables=[
            {"name": planned.name, "kind": type(executable).__name__, "origin": _origin(executable)}
            for planned, executable in zip(plan.executables, experiment.executables, strict=True)
        ],
        shared=" ".join(_text(arg) for arg in shared),
        units=units,
        dependencies=any(unit.depends_on for unit in plan.units),
        omitted=f"… and {omitted:,} more in manifests/local.yaml." if omitted else "",
    )


def shared_arguments(jobs: list[Job]) -> list[Arg]:
    """Arguments that every job has, in the order of the first job's."""
    if len(jobs) < 2:
        return []
    counts = Counter(arg for job in jobs for arg in dict.fromkeys(job.args))
    return [arg for arg in dict.fromkeys(jobs[0].args) if counts[arg] == len(jobs)]


def varying_arguments(jobs: tuple[Job, ...], shared: list[Arg]) -> str:
    """The other arguments as a shell would take them; of several jobs each after its name."""
    common = set(shared)
    texts = [" ".join(_text(arg) for arg in job.args if arg not in common) for job in jobs]
    if len(jobs) == 1:
        return texts[0]
    return "; ".join(f"{job.name}: {text}" for job, text in zip(jobs, texts, strict=True) if text)


def _text(arg: Arg) -> str:
    return shlex.quote(arg) if isinstance(arg, str) else arg.shell


def _origin(executable: Executable) -> str:
    match executable:
        case PythonContainer() | Dockerfile() | Binary():
            return executable.path
        case Container():
            return executable.image
        case BazelBinary() | BazelContainer():
            return executable.label
        case _:
            assert_never(executable)
