"""What becomes of the pods of a rehearsal, as a file tells it.

The file holds a list of rules; of those that mean a pod, the first one says what becomes of it:

    [{"unit": "train-learning-rate-0-001-*", "outcome": "fail", "exit_code": 3, "attempts": 1, "log": ["loss: nan"]},
     {"job": "worker", "pod": 0, "outcome": "evict"}]

unit, job: which pods are meant, as patterns of a work unit's logical name and of a job's name in it; all when left out.
pod: its completion index, of Jobs of several pods. attempts: only the first so many pods of a Job (of each index).
outcome: one of OUTCOMES. seconds: how long it runs before; `exit_code`: of one that fails. log: what it prints.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, cast

from xmgen.errors import InputError, Problem, did_you_mean

Outcome = Literal["succeed", "fail", "oom", "evict", "hang"]

OUTCOMES: dict[Outcome, str] = {
    "succeed": "ends with exit code 0",
    "fail": "ends with another exit code",
    "oom": "is killed because it used more memory than it may",
    "evict": "its node is reclaimed, as spot machines are",
    "hang": "runs until it is deleted",
}

LOG_CHARACTERS = 100_000
"""What a pod prints is kept in an annotation, of which Kubernetes takes 256 KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """seconds: None for as long as pods run usually. attempts, pod: None for all."""

    outcome: Outcome = "succeed"
    unit: str = "*"
    job: str = "*"
    pod: int | None = None
    attempts: int | None = None
    seconds: float | None = None
    exit_code: int = 1
    log: list[str] = field(default_factory=list[str])

    def means(self, unit: str, job: str, index: int, attempt: int) -> bool:
        """attempt: from 1."""
        return (
            fnmatchcase(unit, self.unit)
            and fnmatchcase(job, self.job)
            and self.pod in (None, index)
            and (self.attempts is None or attempt <= self.attempts)
        )


USUAL = Rule()


def read(file: Path | None) -> list[Rule]:
    """Raises InputError with everything that is wrong in the file."""
    if file is None:
        return []
    try:
        content: object = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(Problem(f"cannot be read: {error}", where=str(file))) from None
    if not isinstance(content, list):
        hint = 'a list of rules, such as [{"unit": "*", "outcome": "fail", "exit_code": 3}]'
        raise InputError(Problem("does not say what becomes of pods", where=str(file), hint=hint))
    rules: list[Rule] = []
    problems: list[Problem] = []
    for number, each in enumerate(cast(list[object], content), start=1):
        found = _problems(each, f"{file}, rule {number}")
        problems += found
        if not found:
            rules.append(Rule(**cast(dict[str, Any], each)))
    if problems:
        raise InputError(*problems)
    return rules


def unmatched(rules: Sequence[Rule], jobs: Sequence[tuple[str, str, int]]) -> list[Rule]:
    """Rules that mean no pod. jobs: of the stack; unit, job and how many pods it has."""
    return [
        rule
        for rule in rules
        if not any(rule.means(unit, job, rule.pod or 0, 1) and (rule.pod or 0) < pods for unit, job, pods in jobs)
    ]


def _problems(rule: object, where: str) -> list[Problem]:
    if not isinstance(rule, dict):
        return [Problem("is no object", where=where, hint='such as {"outcome": "hang"}')]
    given = cast(dict[str, object], rule)
    known = [each.name for each in fields(Rule)]
    problems = [
        Problem(f"unknown key {key!r}", where=where, hint=did_you_mean(key, known)) for key in given if key not in known
    ]
    for key, (right, what) in _RIGHT.items():
        if key in given and not right(given[key]):
            problems.append(Problem(f"{key} is {what}, not {json.dumps(given[key])}", where=where))
    if "outcome" not in given:
        problems.append(Problem("has no outcome", where=where, hint=f"one of {', '.join(OUTCOMES)}"))
    elif given["outcome"] not in OUTCOMES:
        hint = did_you_mean(str(given["outcome"]), OUTCOMES)
        problems.append(Problem(f"unknown outcome {json.dumps(given['outcome'])}", where=where, hint=hint))
    elif "exit_code" in given and given["outcome"] != "fail":
        problems.append(Problem("exit_code is for pods that fail", where=where, hint='"outcome": "fail"'))
    return problems


def _whole(least: int, most: float = float("inf")) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_seconds(value: object) -> bool:
    """Whether a pod can be told to run for so long."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**6


def _lines(value: object) -> bool:
    if not isinstance(value, list):
        return False
    lines = cast(list[object], value)
    return all(map(_text, lines)) and sum(len(str(line)) + 1 for line in lines) <= LOG_CHARACTERS


def _text(value: object) -> bool:
    """Halves of surrogate pairs, which JSON may escape, are no text."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


_RIGHT: dict[str, tuple[Callable[[object], bool], str]] = {
    "unit": (_text, "a pattern of a unit's name"),
    "job": (_text, "a pattern of a job's name"),
    "pod": (_whole(0), "the index of a pod, from 0"),
    "attempts": (_whole(1), "a number of attempts, from 1"),
    "seconds": (is_seconds, "a number of seconds"),
    "exit_code": (_whole(1, 255), "a number from 1 to 255"),
    "log": (_lines, f"a list of lines, of {LOG_CHARACTERS:,} characters in all at most"),
}
