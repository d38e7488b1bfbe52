"""Editing a sweep touches only the difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import XID, experiment, job, python_container
from xmgen.experiment import DockerOptions, Experiment, JobRequirements, Local, ShellSafeArg
from xmgen.plan import planner
from xmgen.plan.identity import identities

TRIALS = [job(f"--lr={rate}") for rate in (0.1, 0.2, 0.3)]


def names_of(compiled: Experiment) -> list[str]:
    return [unit.name for unit in planner.plan(compiled).units]


def test_adding_removing_and_reordering_trials_keeps_the_other_names() -> None:
    a, b, c = names_of(experiment(*TRIALS))
    assert names_of(experiment(TRIALS[2], TRIALS[0])) == [c, a]
    assert names_of(experiment(TRIALS[0], job("--lr=0.15"), TRIALS[1], TRIALS[2]))[2:] == [b, c]


def test_equal_trials_are_counted_in_order() -> None:
    name = names_of(experiment(TRIALS[0]))[0]
    assert names_of(experiment(*[TRIALS[0]] * 3)) == [name, f"{name}-2", f"{name}-3"]


def test_the_code_is_not_part_of_the_name() -> None:
    changed = python_container(digest="sha256:" + "1" * 64)
    assert names_of(experiment(*TRIALS)) == names_of(experiment(*TRIALS, executables=(changed,)))


@pytest.mark.parametrize(
    "other",
    [
        job("--lr=0.2"),
        job("--lr=0.1", "--lr=0.1"),
        job(ShellSafeArg("--lr=0.1")),
        job("--lr=0.1", env={"A": "1"}),
        job("--lr=0.1", name="other"),
        job("--lr=0.1", executor=Local(requirements=JobRequirements(cpu=2))),
        job("--lr=0.1", executor=Local(docker_options=DockerOptions(ports={80: 8080}))),
        job("--lr=0.1", executor=Local(service=True)),
    ],
)
def test_whatever_a_job_is_makes_its_identity(other: object) -> None:
    first, second = identities(experiment(job("--lr=0.1"), other))  # type: ignore[arg-type]
    assert first != second


def test_the_order_of_the_environment_is_no_difference() -> None:
    first, second = identities(experiment(job(env={"A": "1", "B": "2"}), job(env={"B": "2", "A": "1"})))
    assert first == second


def test_the_same_experiment_has_the_same_names_in_another_stack() -> None:
    def run(stack_id: int) -> object:
        return job(f"--dir=out/{stack_id}/{stack_id}_1_train")

    here = experiment(run(XID))  # type: ignore[arg-type]
    there = replace(experiment(run(1234567890123)), experiment_id=1234567890123)  # type: ignore[arg-type]
    assert identities(here) == identities(there)


def test_a_positional_name_moves_with_its_unit() -> None:
    """XManager's `{xid}_{wid}` changes when a trial is inserted before; the trial is the same all the same."""
    alone = experiment(job(f"--redis_host={XID}_1_redis", f"--dns={XID}-1-redis"))
    moved = experiment(job("--new"), job(f"--redis_host={XID}_2_redis", f"--dns={XID}-2-redis"))
    assert identities(alone)[0] == identities(moved)[1]


def test_a_name_of_an_earlier_unit_means_that_unit() -> None:
    a, b = job("--lr=0.1"), job("--lr=0.2")
    after_a = experiment(a, b, job(f"--model={XID}_1"))
    after_b = experiment(a, b, job(f"--model={XID}_2"))
    swapped = experiment(b, a, job(f"--model={XID}_2"))
    assert identities(after_a)[2] == identities(swapped)[2]
    assert identities(after_a)[2] != identities(after_b)[2]


def test_a_longer_number_is_not_a_positional_name() -> None:
    first, second = identities(experiment(job(f"--seed={XID}_17"), job(f"--seed={XID}_18")))
    assert first != second


def test_what_follows_a_changed_unit_changes_too() -> None:
    evaluate = job(name="evaluate")
    before = experiment(TRIALS[0], TRIALS[1], evaluate, after={2: [0]})
    same = experiment(TRIALS[0], TRIALS[2], evaluate, after={2: [0]})
    changed = experiment(TRIALS[2], TRIALS[1], evaluate, after={2: [0]})
    assert identities(before)[2] == identities(same)[2]
    assert identities(before)[2] != identities(changed)[2]
