"""A graph of jobs: each starts when those it depends on have succeeded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm import problems

Graph = Callable[[xm.Experiment], Awaitable[None]]


class StopControllerError(Exception):
    """A job of the graph failed, and `terminate_on_failure` ends the graph."""


def executable_graph(
    *,
    jobs: Mapping[str, xm.JobType],
    jobs_deps: Mapping[str, Sequence[str]],
    jobs_args: Mapping[str, Mapping[str, Any] | None] | None = None,
    controller: Callable[[Graph], Callable[[], Any]] | None = None,
    terminate_on_failure: bool = True,
    on_job_finished: Callable[[str, bool, Exception | None], None] | None = None,
) -> Any:
    """What `experiment.add` takes to run `jobs` in the order of `jobs_deps` (name -> the names it waits for).

    Without a controller the graph becomes work units of the stack, each depending on those before it. With one
    (`parameter_controller.controller(...)`) a job of the experiment launches them, which is what `on_job_finished`
    needs.
    Raises ValueError for a dependency that is no job, and for a cycle.
    """
    dependencies = _checked({name: list(jobs_deps.get(name, ())) for name in [*jobs, *jobs_deps]}, jobs)
    if on_job_finished and not controller:
        raise problems.refuse(
            "flow.executable_graph(on_job_finished=...)",
            "pass controller=parameter_controller.controller(executor=...): it watches the jobs while they run",
        )
    graph = _graph(dict(jobs), dependencies, dict(jobs_args or {}), terminate_on_failure, on_job_finished)
    if controller:
        return controller(graph)()

    async def add_units(unit: xm.ExperimentUnit) -> None:
        await graph(unit.experiment)

    return xm.AuxiliaryUnitJob(add_units, termination_delay_secs=0)


def _checked(dependencies: dict[str, list[str]], jobs: Mapping[str, xm.JobType]) -> dict[str, list[str]]:
    """The dependencies in an order in which each comes after those it waits for."""
    named = {name for waits_for in dependencies.values() for name in waits_for} | set(dependencies)
    if unknown := sorted(named - set(jobs)):
        raise problems.invalid(f"jobs_deps names what is no job: {', '.join(unknown)}", f"jobs: {', '.join(jobs)}")
    try:
        order = list(TopologicalSorter(dependencies).static_order())
    except CycleError as error:
        raise problems.invalid(f"jobs_deps has a cycle: {' -> '.join(reversed(error.args[1]))}") from None
    return {name: dependencies[name] for name in order}


def _graph(
    jobs: dict[str, xm.JobType],
    dependencies: dict[str, list[str]],
    jobs_args: dict[str, Mapping[str, Any] | None],
    terminate_on_failure: bool,
    on_job_finished: Callable[[str, bool, Exception | None], None] | None,
) -> Graph:
    """The graph as a coroutine. It refers to nothing outside itself: a controller's container has no xmgen."""

    async def run_graph(experiment: xm.Experiment) -> None:
        finished: dict[str, asyncio.Task[bool]] = {}

        async def run(name: str) -> bool:
            for dependency in dependencies[name]:
                if not await asyncio.shield(finished[dependency]):
                    return False
            unit = await experiment.add(jobs[name], args=jobs_args.get(name), identity=name)
            failure = None
            try:
                await unit.wait_until_complete()
            except xm.ExperimentUnitError as error:
                failure = error
            if on_job_finished:
                on_job_finished(name, failure is None, failure)
            if failure and terminate_on_failure:
                raise failure
            return failure is None

        for name in dependencies:
            finished[name] = asyncio.ensure_future(run(name))
        await asyncio.gather(*finished.values())

    return run_graph
