"""What an `up` of an edited stack touches."""

from __future__ import annotations

from typing import Any

from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report
from xmgen.stack.compiled import CompiledStack

Key = tuple[str, str]
"""A resource: its type and logical name."""


class Stack:
    """What an `up` of one plan after the other touches."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._there: dict[Key, dict[str, Any]] = {}

    def up(self, plan: CompiledStack) -> dict[str, set[Key]]:
        """The resources that were `created`, `deleted`, `replaced`, `updated`; every other one is as it was."""
        report = Report(stack=plan.experiment.stack)
        counts = self._rehearsal.up(plan, report)
        assert report.failures == []
        before = self._there
        self._there = now = {
            (each.type, each.name): {"id": each.id, "inputs": each.inputs}
            for each in self._rehearsal.state(plan)
            # Providers that the engine makes by itself it counts nowhere.
            if not each.name.startswith("default")
        }
        both = before.keys() & now.keys()
        replaced = {key for key in both if before[key]["id"] != now[key]["id"]}
        touched = {
            "create": now.keys() - before.keys(),
            "delete": before.keys() - now.keys(),
            "replace": replaced,
            "update": {key for key in both - replaced if before[key] != now[key]},
        }
        # What the engine says it did, and what the state says became of it.
        assert {how: len(which) for how, which in touched.items() if which} == {
            how: count for how, count in counts.items() if how != "same" and count
        }
        return {how: set(which) for how, which in touched.items() if which}
