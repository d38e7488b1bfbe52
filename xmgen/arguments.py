"""A work unit's arguments by name, to compare units: which of them vary in a sweep, which changed between commits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from xmgen.experiment import Job, WorkUnit


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


def _arguments(job: Job) -> list[tuple[str, str]]:
    result: list[tuple[str, str]] = []
    texts = [arg if isinstance(arg, str) else arg.shell for arg in job.args]
    position = index = 0
    while index < len(texts):
        text = texts[index]
        index += 1
        flag = text.lstrip("-")
        if not text.startswith("-") or not flag or _is_number(text):
            position += 1
            result.append((f"#{position}", text))
        elif "=" in flag:
            name, value = flag.split("=", 1)
            result.append((name, value))
        elif index < len(texts) and (not texts[index].startswith("-") or _is_number(texts[index])):
            result.append((flag, texts[index]))
            index += 1
        else:
            result.append((flag, "true"))
    return result


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
