"""A work unit's arguments by name, to compare units: which of them vary in a sweep, which changed between commits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from xmgen.experiment import Arg, Job, WorkUnit


def text_of(arg: Arg) -> str:
    """What the user wrote, whether or not a shell is to expand it."""
    return arg if isinstance(arg, str) else arg.shell


def named(unit: WorkUnit) -> dict[str, str]:
    """Arguments and environment variables: name -> value, in the order of the unit.

    `--rate=0.1` and `--rate 0.1` are `rate`, a flag without a value is `true`, a word without a flag has its position
    as name (`#1`), an environment variable a `$` before its own. In a unit of several jobs the job's name stands before
    it: `server.port`.
    """
    result: dict[str, str] = {}
    for job in unit.jobs:
        prefix = f"{job.name}." if len(unit.jobs) > 1 else ""
        for name, value in [*_arguments(job), *((f"${name}", value) for name, value in job.env.items())]:
            key = prefix + name
            # A flag given twice has two values; neither may hide the other.
            result[key] = f"{result[key]} {value}" if key in result else value
    return result


def varying(units: Sequence[Mapping[str, str]], without: str = "") -> list[str]:
    """The names whose value is not the same in all units, in order of appearance.

    without: values that contain this text are no reason (an experiment's id is part of names, which differ always).
    """
    return [
        name
        for name in dict.fromkeys(itertools.chain.from_iterable(units))
        if len({unit.get(name) for unit in units}) > 1
        and not (without and any(without in unit.get(name, "") for unit in units))
    ]


def paired(args: Sequence[Arg]) -> list[tuple[Arg, ...]]:
    """The arguments, each flag with the value that follows it as an argument of its own: `--rate 0.1` is one thing.

    A flag without a value, one that holds its value (`--rate=0.1`), and a word without a flag stand alone.
    """
    result: list[tuple[Arg, ...]] = []
    waiting: Arg | None = None
    for arg in args:
        text = text_of(arg)
        is_flag = text.startswith("-") and _is_flag(text)
        if waiting is not None:
            result.append((waiting,) if is_flag else (waiting, arg))
            waiting = None
            if not is_flag:
                continue
        if is_flag and "=" not in text and text.strip("-"):
            waiting = arg
        else:
            result.append((arg,))
    return result if waiting is None else [*result, (waiting,)]


def _arguments(job: Job) -> list[tuple[str, str]]:
    result: list[tuple[str, str]] = []
    position = 0
    for said in paired(job.args):
        text, *value = map(text_of, said)
        if not _is_named(text):
            position += 1
            result.append((f"#{position}", text))
            continue
        name, separator, inline = text.lstrip("-").partition("=")
        result.append((name, value[0] if value else inline if separator else "true"))
    return result


def _is_named(text: str) -> bool:
    return _is_flag(text) and bool(text.lstrip("-"))


def _is_flag(text: str) -> bool:
    """Whether it begins like a flag; a negative number is a value."""
    return text.startswith("--") or (text.startswith("-") and not _is_number(text))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
