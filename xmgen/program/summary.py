"""`SUMMARY.md`: what a reviewer should know of a stack before opening its program."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import assert_never

from xmgen import arguments, resource_types, setting_rules
from xmgen.catalog.pools import NodePool
from xmgen.executors.planning import planner_of
from xmgen.executors.vertex.worker_pools import worker_pools
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
from xmgen.plan.model import Plan, header
from xmgen.program.surroundings import surroundings
from xmgen.templating import one_line
from xmgen.templating import render as render_template

ROWS = 200
"""Work units listed; a longer table helps nobody."""


def overview(plan: Plan) -> str:
    """`8 work units on this machine`."""
    count = len(plan.units)
    if count == 0:
        return "a GKE cluster that experiments share"
    planner = planner_of(plan)
    return f"{count} work unit{'' if count == 1 else 's'} {planner.where or planner.place}"


def heading(plan: Plan) -> str:
    """The experiment's title; of one without any, which would leave a line empty, the stack's name."""
    return one_line(plan.experiment.title) or plan.experiment.stack


def docstring(plan: Plan) -> str:
    """`A sweep: 8 work units on GKE`, of the program."""
    return f"{heading(plan)}: {overview(plan)}"


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
        title=heading(plan),
        overview=f"{overview(plan)[0].upper()}{overview(plan)[1:]}.",
        resources=_resources(plan),
        beside=surroundings(plan.declared),
        pools=[_pool(pool) for pool in plan.cluster.pools] if plan.cluster else [],
        worker_pools=worker_pools(
            (experiment.units[unit.position].jobs, body)
            for unit in plan.units
            if unit.executor == "vertex"
            for body in unit.manifests
        ),
        notes=plan.notes,
        needed=[
            {"name": name, "secret": key.secret}
            for name, key in sorted(plan.declared.configuration.items())
            if key.required and name not in setting_rules.NAMES
        ],
        executables=[
            {"name": executable.name, "kind": type(executable).__name__, "origin": _origin(executable)}
            for executable in experiment.executables
        ],
        shared=" ".join(map(_said, shared)),
        units=units,
        dependencies=any(unit.depends_on for unit in plan.units),
        omitted=f"… and {omitted:,} more in manifests/." if omitted else "",
    )


def _resources(plan: Plan) -> list[tuple[str, int, str]]:
    """Type, number, and what to know of it."""
    own = 1 if plan.cluster and plan.cluster.kind == "own" else 0
    counts = [
        (resource_types.EXECUTABLE, len(plan.executables)),
        (resource_types.CLUSTER, own),
        (resource_types.NODE_POOL, len(plan.cluster.pools) + own if plan.cluster else 0),
        (resource_types.IMAGE, len(plan.images)),
    ]
    if (workloads := plan.declared.workloads) is not None:
        counts.append((workloads.type, sum(len(unit.manifests) for unit in plan.units)))
    notes = {resource_types.NODE_POOL: "one for the cluster's own pods"} if own else {}
    return [(type, count, notes.get(type, "")) for type, count in counts if count]


def _pool(pool: NodePool) -> dict[str, str]:
    accelerator = ""
    if pool.gpu is not None:
        accelerator = f"{pool.gpu.count} x {pool.gpu.label}"
    elif pool.tpu is not None:
        accelerator = f"{pool.tpu.label} {pool.tpu.topology}"
    return {
        "name": pool.name,
        "machine": pool.machine_type,
        "accelerator": accelerator,
        "provisioning": pool.provisioning,
        "nodes": f"{pool.min_nodes} to {pool.max_nodes}",
    }


def shared_arguments(jobs: list[Job]) -> list[tuple[Arg, ...]]:
    """Arguments that every job has, flags with their values, in the order of the first job's."""
    if len(jobs) < 2:
        return []
    counts = Counter(said for job in jobs for said in dict.fromkeys(arguments.paired(job.args)))
    return [said for said in dict.fromkeys(arguments.paired(jobs[0].args)) if counts[said] == len(jobs)]


def varying_arguments(jobs: tuple[Job, ...], shared: list[tuple[Arg, ...]]) -> str:
    """The other arguments as a shell would take them; of several jobs each after its name."""
    common = set(shared)
    texts = [" ".join(_said(said) for said in arguments.paired(job.args) if said not in common) for job in jobs]
    if len(jobs) == 1:
        return texts[0]
    return "; ".join(f"{job.name}: {text}" for job, text in zip(jobs, texts, strict=True) if text)


def _said(args: tuple[Arg, ...]) -> str:
    return " ".join(_text(arg) for arg in args)


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
