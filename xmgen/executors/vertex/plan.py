"""Jobs on Vertex AI: which machines, where, and what one CustomJob cannot be made of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from xmgen import locations, rules
from xmgen.catalog.vertex import VertexMachine, vertex_machine
from xmgen.errors import Problem
from xmgen.executors import images, limits
from xmgen.executors.vertex.custom_jobs import LATE_BINDING, bindable, is_tpu, job_settings
from xmgen.experiment import Experiment, Job, ShellSafeArg, Vertex, WorkUnit
from xmgen.plan import places
from xmgen.plan.places import Key, place
from xmgen.project import OUTPUT_VARIABLE
from xmgen.provider.custom_job_rules import FLEX_SECONDS, MAX_ENV, MAX_POOLS

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TENSORBOARD = re.compile(r"projects/[^/\s]+/locations/[^/\s]+/tensorboards/[^/\s]+|<xmgen:tensorboard:.+>")
_NETWORK = re.compile(r"projects/\d+/global/networks/[^/\s]+")
_RESERVATION = re.compile(rf"projects/[^/\s]+/zones/(?P<zone>{locations.ZONE})/reservations/[^/\s]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexPlan:
    """machines: of each job. region: where all of them run; None leaves it to the stack's configuration."""

    machines: Mapping[Key, VertexMachine]
    region: str | None
    notes: tuple[str, ...] = ()


def plan(experiment: Experiment) -> VertexPlan | list[Problem]:
    """The machines of the experiment's Vertex jobs, or everything that Vertex AI does not do."""
    chosen: dict[int, VertexMachine] = {}
    problems: list[Problem] = []
    for where, executor in places.executors(experiment, Vertex):
        found = vertex_machine(executor.requirements, reservation=executor.reservation)
        if isinstance(found, Problem):
            problems.append(replace(found, where=where))
        else:
            chosen[id(executor)] = found
        problems += _executor(executor, where)
    machines: dict[Key, VertexMachine] = {}
    entrypoints = {e.name for e in experiment.executables if images.known_entrypoint(e) is not None}
    for position, unit in enumerate(experiment.units):
        jobs = [job for job in unit.jobs if isinstance(job.executor, Vertex)]
        for job in jobs:
            if id(job.executor) in chosen:
                machines[position, job.name] = chosen[id(job.executor)]
            problems += _job(job, len(jobs), job.executable in entrypoints, place(unit, job.name))
        if jobs:
            problems += _group(unit, [machines.get((position, job.name)) for job in jobs], place(unit))
    regions = sorted({region for machine in machines.values() for region in _regions(machine)})
    if len(regions) > 1:
        problems.append(
            Problem(
                f"jobs ask for {', '.join(regions)}, but a stack's bucket, images and jobs are in one region",
                hint="compile the jobs of each region into a stack of their own",
            )
        )
    if problems:
        return problems
    return VertexPlan(machines=machines, region=regions[0] if regions else None, notes=tuple(_notes(experiment)))


def _regions(machine: VertexMachine) -> Iterator[str]:
    """Where a machine has to be: its job asks for a place, or for a reservation, which is in one."""
    if machine.region is not None:
        yield machine.region
    if machine.reservation is not None and (found := _RESERVATION.fullmatch(machine.reservation)):
        yield locations.region_of(found["zone"])


def _group(unit: WorkUnit, machines: list[VertexMachine | None], where: str) -> Iterator[Problem]:
    """What the jobs of a unit must have in common, being one CustomJob."""
    if len(unit.jobs) > MAX_POOLS:
        yield Problem(
            f"has {len(unit.jobs)} jobs, but a CustomJob has at most {MAX_POOLS} worker pools",
            where,
            "use `replicas` for jobs that are alike, or add some as work units of their own",
        )
    first = machines[0]
    if first is not None and first.replicas != 1:
        yield Problem(
            f"its first job has {first.replicas} replicas, but the first worker pool of a CustomJob has one",
            where,
            "xm.JobGroup(chief=…, workers=…): a chief of one replica, then a job with the other replicas",
        )
    known = [machine for machine in machines if machine is not None]
    if len(known) > 1 and any(is_tpu(machine) for machine in known):
        yield Problem("a CustomJob on TPUs has one worker pool", where, "add the other jobs as work units of their own")
    if len({machine.strategy for machine in known}) > 1:
        strategies = ", ".join(dict.fromkeys(machine.strategy for machine in known))
        yield Problem(
            f"its jobs ask for {strategies}, but a CustomJob is scheduled as a whole", where, "one service_tier for all"
        )
    if any(machine.strategy == "FLEX_START" for machine in known):
        yield from _flex_start(unit, known, where)
    settings = [job_settings(job.executor) for job in unit.jobs if isinstance(job.executor, Vertex)]
    for name in settings[0]:
        if any(each[name] != settings[0][name] for each in settings):
            yield Problem(f"its jobs differ in `{name}`, which a CustomJob has once", where, "give all the same")


def _flex_start(unit: WorkUnit, machines: list[VertexMachine], where: str) -> Iterator[Problem]:
    """What it takes besides GPUs, see https://cloud.google.com/vertex-ai/docs/training/schedule-jobs-dws"""
    kinds = list(dict.fromkeys(f"{each.accelerator_count} x {each.machine_type}" for each in machines))
    if len({(each.machine_type, each.accelerator_count) for each in machines}) > 1:
        yield Problem(
            f"its jobs take {', '.join(kinds)}, but flex-start takes one kind of machine for all",
            where,
            "ask for the same in all jobs, or for another service_tier",
        )
    timeout = max((job.executor.timeout or 0 for job in unit.jobs if isinstance(job.executor, Vertex)), default=0)
    if timeout > FLEX_SECONDS:
        yield Problem(
            f"its timeout is {timeout} s, but flex-start lends machines for seven days",
            where,
            f"at most {FLEX_SECONDS}",
        )


def _job(job: Job, pools: int, entrypoint_known: bool, where: str) -> Iterator[Problem]:
    bound = [text for text in bindable(job) if LATE_BINDING.search(text)]
    shell = any(isinstance(arg, ShellSafeArg) for arg in job.args)
    in_env = any(LATE_BINDING.search(value) for value in job.env.values())
    if (shell or in_env) and not entrypoint_known:
        what = "a ShellSafeArg" if shell else "the address of a worker pool in its environment"
        yield Problem(
            f"has {what}, but the entry point of {job.executable!r} is not known",
            where,
            "use xm.PythonContainer, or let the image's own entry point read CLUSTER_SPEC",
        )
    there = {f"workerpool{number}" for number in range(pools)}
    for name in dict.fromkeys(name for text in bound for name in LATE_BINDING.findall(text)):
        if name not in there:
            yield Problem(
                f"asks for the address of {name!r}, which its CustomJob does not have",
                where,
                f"there: {', '.join(sorted(there))}, in the order of the group's jobs",
            )
    # Beside what we add.
    most = MAX_ENV - (OUTPUT_VARIABLE not in job.env)
    if len(job.env) > most:
        yield Problem(f"has {len(job.env)} environment variables", where, f"at most {most} on Vertex AI")
    for name in job.env:
        if not _ENV_NAME.fullmatch(name):
            yield Problem(
                f"{name!r} cannot name an environment variable on Vertex AI", where, "letters, digits and `_`"
            )


def _executor(executor: Vertex, where: str) -> Iterator[Problem]:
    board = executor.tensorboard
    if board is not None and not _TENSORBOARD.fullmatch(board.name):
        yield Problem(
            f"{board.name!r} is no TensorBoard",
            where,
            "projects/<project>/locations/<region>/tensorboards/<id>, or what "
            "`vertex.get_default_client().get_or_create_tensorboard(name)` returns",
        )
    if executor.network is not None and not _NETWORK.fullmatch(executor.network):
        yield Problem(
            f"{executor.network!r} is no network", where, "projects/<project number>/global/networks/<network>"
        )
    if executor.reservation is not None and not _RESERVATION.fullmatch(executor.reservation):
        yield Problem(
            f"{executor.reservation!r} is no reservation that Vertex AI finds",
            where,
            "projects/<project>/zones/<zone>/reservations/<name>",
        )
    if executor.service_account is not None and (rule := rules.not_a_service_account(executor.service_account)):
        yield Problem(f"{executor.service_account!r} is no service account", where, rule)
    yield from (replace(problem, where=where) for problem in limits.problems(executor))


def _notes(experiment: Experiment) -> Iterator[str]:
    """Addresses of worker pools in plain arguments stay as they are: an argument arrives byte for byte."""
    if any(
        isinstance(arg, str) and LATE_BINDING.search(arg)
        for unit in experiment.units
        for job in unit.jobs
        if isinstance(job.executor, Vertex)
        for arg in job.args
    ):
        yield (
            "Some arguments hold %objectname(…)% as plain text and keep it; "
            "xm.ShellSafeArg(utils.get_workerpool_address(…)) becomes the address."
        )
    if any(reference.kind == "secret" for reference in experiment.references):
        yield "Vertex AI shows the arguments and environment of a CustomJob, secrets included, to whoever may read it."
