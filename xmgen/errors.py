"""The one kind of error for a user's mistake: what is wrong, where, and what would be right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    message: what is wrong, a sentence without a final full stop.
    where:   the place as the user would name it: `experiment.yaml:12 jobs.train.args`, `launcher.py:40`,
             `work unit 3, job trainer`. Empty when there is no place.
    hint:    what would be right. Empty when there is nothing to add.
    """

    message: str
    where: str = ""
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  {self.hint}" if self.hint else text


class XmgenError(Exception):
    """Problems to report without a traceback. All problems of one input travel together."""

    exit_code = 1

    def __init__(self, *problems: Problem | str) -> None:
        if not problems:
            raise ValueError("an error needs at least one problem")
        self.problems: tuple[Problem, ...] = tuple(
            problem if isinstance(problem, Problem) else Problem(problem) for problem in problems
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InputError(XmgenError):
    """The user's input is wrong (exit code 2)."""

    exit_code = 2


class OperationError(XmgenError):
    """A well-formed request could not be carried out (exit code 1)."""

    exit_code = 1


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean 'learning_rate'?`, or the known words when none is close."""
    choices: Sequence[str] = sorted(set(known), key=_natural)
    if close := closest(word, choices):
        return f"did you mean {close!r}?"
    return f"known: {', '.join(choices)}" if choices else ""


def closest(word: str, known: Sequence[str]) -> str:
    """The known word that was meant; empty when none is close."""
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.6)), "")


def _natural(word: str) -> list[tuple[bool, int, str]]:
    """`2x4` before `16x16`: numbers in words by their size."""
    return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", word)]


NAMED = 5
"""Things of one kind that are named."""


def named(names: Sequence[str]) -> str:
    """`a, b`, or of many the first and how many more."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
