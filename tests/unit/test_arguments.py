"""Arguments by name, as tables and reviews compare them."""

from __future__ import annotations

import pytest

from xmgen import arguments
from xmgen.experiment import Arg, Job, Local, ShellSafeArg, WorkUnit
from xmgen.program import summary


def unit(*args: Arg, **env: str) -> WorkUnit:
    return WorkUnit(id=1, jobs=(Job(name="train", executable="train", executor=Local(), args=args, env=env),))


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("--rate=0.1",), {"rate": "0.1"}),
        (("--rate", "0.1"), {"rate": "0.1"}),
        (("--rate", "-0.1"), {"rate": "-0.1"}),
        (("-r", "0.1"), {"r": "0.1"}),
        (("--verbose",), {"verbose": "true"}),
        (("--verbose", "--rate=1"), {"verbose": "true", "rate": "1"}),
        (("--text=a=b",), {"text": "a=b"}),
        (("--empty=",), {"empty": ""}),
        (("train", "-1", "--"), {"#1": "train", "#2": "-1", "#3": "--"}),
        (("--layer=1", "--layer=2"), {"layer": "1 2"}),
        ((ShellSafeArg("--home=$HOME"),), {"home": "$HOME"}),
    ],
)
def test_arguments_have_names(args: tuple[Arg, ...], named: dict[str, str]) -> None:
    assert arguments.named(unit(*args)) == named


@pytest.mark.parametrize(
    ("args", "paired"),
    [
        (("--lr", "0.1", "--fast"), [("--lr", "0.1"), ("--fast",)]),
        (("--fast", "--lr", "-0.1"), [("--fast",), ("--lr", "-0.1")]),
        (("--lr=0.1", "word", "-v"), [("--lr=0.1",), ("word",), ("-v",)]),
        (("--", "word"), [("--",), ("word",)]),
        (("-1", "2"), [("-1",), ("2",)]),
    ],
)
def test_a_flag_goes_with_the_value_that_follows_it(args: tuple[str, ...], paired: list[tuple[str, ...]]) -> None:
    assert arguments.paired(args) == paired


def test_a_summary_tells_shared_and_varying_arguments_with_their_flags() -> None:
    trials = [
        unit("--seed", "1", "--lr", "0.1"),
        unit("--seed", "1", "--lr", "0.5", "--fast"),
        unit("--seed", "1", "--width", "16", "--lr", "0.1"),
    ]
    shared = summary.shared_arguments([job for trial in trials for job in trial.jobs])
    assert shared == [("--seed", "1")]
    assert [summary.varying_arguments(trial.jobs, shared) for trial in trials] == [
        "--lr 0.1",
        "--lr 0.5 --fast",
        "--width 16 --lr 0.1",
    ]


def test_environment_variables_are_marked_and_jobs_of_a_group_are_told_apart() -> None:
    jobs = tuple(
        Job(name=name, executable=name, executor=Local(), args=("--port=1",), env={"MODE": name})
        for name in ("server", "client")
    )
    assert arguments.named(WorkUnit(id=1, jobs=jobs)) == {
        "server.port": "1",
        "server.$MODE": "server",
        "client.port": "1",
        "client.$MODE": "client",
    }


def test_what_varies_is_what_is_not_the_same_everywhere() -> None:
    units = [{"rate": "1", "steps": "9"}, {"rate": "2", "steps": "9"}, {"rate": "2", "steps": "9", "wide": "true"}]
    assert arguments.varying(units) == ["rate", "wide"]
    assert arguments.varying(units[:1]) == []


def test_names_made_of_the_experiments_id_are_no_point_of_a_sweep() -> None:
    units = [{"rate": "1", "folder": "/tmp/77_1"}, {"rate": "2", "folder": "/tmp/77_2"}]
    assert arguments.varying(units, without="77") == ["rate"]
