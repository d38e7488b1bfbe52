"""The file that tells pods of a rehearsal what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compiled_stacks import compiled_stack
from tests.on_gke import experiment, job, kubernetes
from xmgen.commands import rehearse
from xmgen.errors import InputError, Problem
from xmgen.rehearsal import outcomes
from xmgen.rehearsal.outcomes import Rule


def read(folder: Path, content: object) -> list[Rule]:
    file = folder / "pods.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return outcomes.read(file)


def test_rules_are_read(tmp_path: Path) -> None:
    content = [
        {
            "unit": "train-*",
            "job": "worker",
            "pod": 1,
            "attempts": 2,
            "outcome": "fail",
            "exit_code": 3,
            "seconds": 1.5,
        },
        {"outcome": "hang", "log": ["waiting"]},
    ]
    assert read(tmp_path, content) == [
        Rule(outcome="fail", unit="train-*", job="worker", pod=1, attempts=2, exit_code=3, seconds=1.5),
        Rule(outcome="hang", log=["waiting"]),
    ]
    assert outcomes.read(None) == []


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        ("[", ["cannot be read: Expecting value: line 1 column 2 (char 1)"]),
        ({"outcome": "hang"}, ["does not say what becomes of pods"]),
        (["hang"], ["rule 1: is no object"]),
        ([{"unit": "train-*"}], ["rule 1: has no outcome\n  one of succeed, fail, oom, evict, hang"]),
        ([{"outcome": "evicted"}], ["rule 1: unknown outcome \"evicted\"\n  did you mean 'evict'?"]),
        ([{"outcome": "fail", "exitcode": 3}], ["rule 1: unknown key 'exitcode'\n  did you mean 'exit_code'?"]),
        ([{"outcome": "hang", "exit_code": 3}], ["rule 1: exit_code is for pods that fail"]),
        (
            [{"outcome": "fail", "exit_code": 0, "seconds": -1}, {"outcome": "fail", "attempts": True, "log": "text"}],
            [
                "rule 1: seconds is a number of seconds, not -1",
                "rule 1: exit_code is a number from 1 to 255, not 0",
                "rule 2: attempts is a number of attempts, from 1, not true",
                'rule 2: log is a list of lines, of 100,000 characters in all at most, not "text"',
            ],
        ),
        (
            '[{"outcome": "fail", "log": ["loss: \\ud800"]}]',
            ['rule 1: log is a list of lines, of 100,000 characters in all at most, not ["loss: \\ud800"]'],
        ),
        (
            [{"outcome": "fail", "unit": 3, "job": ["a"], "pod": "0"}],
            [
                "rule 1: unit is a pattern of a unit's name, not 3",
                'rule 1: job is a pattern of a job\'s name, not ["a"]',
                'rule 1: pod is the index of a pod, from 0, not "0"',
            ],
        ),
    ],
)
def test_all_that_is_wrong_is_told_together(content: object, problems: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, content)

    def shown(problem: Problem) -> str:
        return str(problem).removeprefix(f"{tmp_path / 'pods.json'}").removeprefix(": ").removeprefix(", ")

    found = [shown(problem) for problem in error.value.problems]
    assert [text[: len(wanted)] for text, wanted in zip(found, problems, strict=True)] == problems


@pytest.mark.parametrize(
    ("rule", "pod", "meant"),
    [
        (Rule(), ("train-1", "train", 0, 1), True),
        (Rule(unit="train-*"), ("train-1", "train", 0, 1), True),
        (Rule(unit="train"), ("train-1", "train", 0, 1), False),
        (Rule(job="work*"), ("train-1", "worker", 0, 1), True),
        (Rule(job="work*"), ("train-1", "train", 0, 1), False),
        (Rule(pod=1), ("train-1", "train", 0, 1), False),
        (Rule(pod=0), ("train-1", "train", 0, 1), True),
        (Rule(attempts=2), ("train-1", "train", 0, 2), True),
        (Rule(attempts=2), ("train-1", "train", 0, 3), False),
    ],
)
def test_which_pods_a_rule_means(rule: Rule, pod: tuple[str, str, int, int], meant: bool) -> None:
    assert rule.means(*pod) is meant


def test_rules_that_mean_nothing_of_a_stack() -> None:
    rules = [Rule(unit="train-*"), Rule(unit="eval-*"), Rule(job="worker", pod=1), Rule(job="worker", pod=2)]
    jobs = [("train-1", "train", 1), ("train-2", "worker", 2)]
    assert outcomes.unmatched(rules, jobs) == [rules[1], rules[3]]


PLAN = compiled_stack(experiment(job("--lr=1"), job("--lr=2"), job("--lr=1", name="eval", executor=kubernetes())))


@pytest.mark.parametrize(
    ("rule", "what", "hint"),
    [
        ({"unit": "trian-*"}, "unit 'trian-*', job '*'", "known: {units}"),
        ({"unit": "{first}x"}, "unit '{first}x', job '*'", "did you mean '{first}'?"),
        ({"job": "worker"}, "unit '*', job 'worker'", "known: eval, train"),
        ({"job": "trains"}, "unit '*', job 'trains'", "did you mean 'train'?"),
        # Of the units that are meant.
        ({"unit": "{first}", "job": "eval"}, "unit '{first}', job 'eval'", "known: train"),
        ({"job": "train", "pod": 1}, "unit '*', job 'train', pod 1", "pods are counted from 0, and it has 1"),
    ],
)
def test_a_rule_that_means_no_pod_is_refused(tmp_path: Path, rule: dict[str, object], what: str, hint: str) -> None:
    known = {"first": PLAN.units[0].name, "units": ", ".join(sorted(unit.name for unit in PLAN.units))}
    told = {key: value.format(**known) if isinstance(value, str) else value for key, value in rule.items()}
    file = tmp_path / "pods.json"
    file.write_text(json.dumps([{"outcome": "hang"}, {**told, "outcome": "hang"}]))
    with pytest.raises(InputError) as caught:
        rehearse._refuse_idle_rules(PLAN, file)
    message = f"sweep has no such pod: {what.format(**known)}"
    assert caught.value.problems == (Problem(message, where=str(file), hint=hint.format(**known)),)
