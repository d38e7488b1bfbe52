"""Graphs of jobs (`xmanager.contrib.flow`): work units of the stack that depend on each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xmgen.errors import InputError, Problem
from xmgen.experiment import Experiment
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api import xm, xm_local
from xmgen.frontends.xmanager.api.contrib import flow
from xmgen.frontends.xmanager.api.xm_local import conversion
from xmgen.frontends.xmanager.recording import Recording


def graph(folder: Path, dependencies: dict[str, list[str]], *names: str, **options: Any) -> Experiment:
    """An experiment of one graph, whose jobs are named like their keys."""
    active = Recording(stack="sweep", root=folder, experiment_id=7)
    with recording.use(active), xm_local.create_experiment("x") as experiment:
        [image] = experiment.package([xm.container(xm_local.Local.Spec(), "busybox")])
        jobs = {name: xm.Job(image, xm_local.Local(), name=name) for name in names}
        experiment.add(flow.executable_graph(jobs=jobs, jobs_deps=dependencies, **options))
    return conversion.to_experiment(active, stack="sweep", source="launcher.py")


def edges(experiment: Experiment) -> dict[str, set[str]]:
    return {
        unit.jobs[0].name: {experiment.units[position].jobs[0].name for position in unit.depends_on}
        for unit in experiment.units
    }


@pytest.mark.parametrize(
    ("dependencies", "names"),
    [
        ({}, ["a", "b"]),
        ({"b": ["a"]}, ["a", "b"]),
        ({"a": ["b"]}, ["a", "b"]),
        (
            {"train": ["data"], "eval": ["data"], "final": ["train", "eval"]},
            ["final", "eval", "train", "data", "alone"],
        ),
    ],
)
def test_a_graph_becomes_units_with_the_same_edges(
    dependencies: dict[str, list[str]], names: list[str], tmp_path: Path
) -> None:
    experiment = graph(tmp_path, dependencies, *names)
    assert edges(experiment) == {name: set(dependencies.get(name, ())) for name in names}
    assert {unit.label: unit.role for unit in experiment.units} == dict.fromkeys(names, "work_unit")


def test_the_graph_given_is_not_changed(tmp_path: Path) -> None:
    dependencies = {"b": ["a"]}
    graph(tmp_path, dependencies, "a", "b")
    assert dependencies == {"b": ["a"]}


def test_arguments_of_a_job_of_the_graph(tmp_path: Path) -> None:
    experiment = graph(tmp_path, {"b": ["a"]}, "a", "b", jobs_args={"b": {"args": {"rate": 0.1}}})
    assert [unit.jobs[0].args for unit in experiment.units] == [(), ("--rate=0.1",)]


@pytest.mark.parametrize(
    ("dependencies", "problem"),
    [
        ({"a": ["c"]}, Problem("jobs_deps names what is no job: c", hint="jobs: a, b")),
        ({"c": []}, Problem("jobs_deps names what is no job: c", hint="jobs: a, b")),
        ({"a": ["b"], "b": ["a"]}, Problem("jobs_deps has a cycle: a -> b -> a")),
        ({"a": ["a"]}, Problem("jobs_deps has a cycle: a -> a")),
    ],
)
def test_graphs_that_cannot_run(dependencies: dict[str, list[str]], problem: Problem, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="jobs_deps") as caught:
        graph(tmp_path, dependencies, "a", "b")
    assert isinstance(caught.value, InputError)
    [found] = caught.value.problems
    assert (found.message, found.hint) == (problem.message, problem.hint)


def test_a_callback_needs_a_controller(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"on_job_finished.*no answer at compile time"):
        graph(tmp_path, {}, "a", on_job_finished=print)


def test_a_controller_gets_the_graph_as_a_coroutine(tmp_path: Path) -> None:
    """It runs in a container without xmgen: what it is given must depend on the experiment alone."""
    given: list[Any] = []

    def controller(coroutine: Any) -> Any:
        given.append(coroutine)
        return lambda: lambda_job

    async def lambda_job(unit: xm.WorkUnit) -> None:
        await given[0](unit.experiment)

    assert edges(graph(tmp_path, {"b": ["a"]}, "a", "b", controller=controller)) == {"a": set(), "b": {"a"}}
