"""What makes two work units the same.

A unit's identity is a hash of what it is: its jobs with their args, env and executor, and the identities of the units
it waits for. The code's own hash is not part of it: changed code replaces a resource, it does not rename it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence

from pydantic import TypeAdapter
from pydantic_core import to_json

from xmgen.experiment import Executor, Experiment, Job, WorkUnit

_EXECUTOR = TypeAdapter[Executor](Executor)


def identities(experiment: Experiment) -> list[str]:
    """The identity of each unit, 64 hex digits, in the order of `experiment.units`."""
    executors = _ExecutorTexts()
    positional = _PositionalNames(experiment.experiment_id)
    result: list[str] = []
    for unit in experiment.units:
        content = [
            unit.role,
            unit.label,
            [_job_content(job, executors) for job in unit.jobs],
            [result[position] for position in unit.depends_on],
        ]
        text = positional.normalise(to_json(content).decode(), unit)
        identity = hashlib.sha256(text.encode()).hexdigest()
        positional.known[str(unit.id)] = identity
        result.append(identity)
    return result


def _job_content(job: Job, executors: _ExecutorTexts) -> Sequence[object]:
    args = [arg if isinstance(arg, str) else {"shell": arg.shell} for arg in job.args]
    return [job.name, job.executable, args, sorted(job.env.items()), executors.text(job.executor)]


class _ExecutorTexts:
    """The canonical text of an executor. A sweep has few different ones, in however many objects."""

    def __init__(self) -> None:
        self._texts: dict[Executor, str] = {}

    def text(self, executor: Executor) -> str:
        try:
            known = self._texts.get(executor)
        except TypeError:  # Docker options are mappings, which have no hash.
            return _executor_text(executor)
        if known is None:
            known = self._texts[executor] = _executor_text(executor)
        return known


def _executor_text(executor: Executor) -> str:
    content: dict[str, object] = _EXECUTOR.dump_python(executor, mode="json")
    # A field that came later: whoever leaves it out keeps the identity of before.
    if content.get("service", False) is None:
        del content["service"]
    return json.dumps(content, sort_keys=True)


class _PositionalNames:
    """XManager's names `{xid}_{wid}`, which change when a unit moves, as the identity of the unit they mean."""

    def __init__(self, experiment: int) -> None:
        self._experiment = str(experiment)
        self._pattern = re.compile(rf"(?<!\d){experiment}(?:([_-])(\d+)(?!\d))?")
        self.known: dict[str, str] = {}

    def normalise(self, text: str, unit: WorkUnit) -> str:
        if self._experiment not in text:
            return text

        def replace(match: re.Match[str]) -> str:
            separator, position = match.groups()
            if position is None:
                return "xid"
            meant = "self" if position == str(unit.id) else self.known.get(position, position)
            return f"xid{separator}{meant}"

        return self._pattern.sub(replace, text)
