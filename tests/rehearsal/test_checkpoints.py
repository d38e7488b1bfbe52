"""Killed as soon as resources are in the state, and this with all: run again, the end is the same, nothing doubled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rehearsal.disturbances import (
    NAMESPACE,
    STACK,
    World,
    check_and_destroy,
    destroy,
    enable,
    engines,
    kill,
    runs,
    until,
)
from xmgen.errors import OperationError
from xmgen.pulumi_cli.events import Change, Progress, ResourceStep
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report
from xmgen.resource_types import CLUSTER, JOB
from xmgen.stack.compiled import CompiledStack
from xmgen.urns import Urn

pytestmark = pytest.mark.rehearsal

Key = tuple[str, str]
"""A resource: its type and logical name."""

TOGETHER = 4
"""Resources that come into the state, until the engine is killed."""

ALONE = (CLUSTER, NAMESPACE, JOB)
"""At which it is killed at once: others wait for them, or nothing comes after them."""


def checkpointed(rehearsal: Rehearsal) -> set[Key]:
    """What is in the state and done, as the engine has written it to the disk."""
    file = Path(rehearsal.folder, "backend", ".pulumi", "stacks", rehearsal.project.name, f"{STACK}.json")
    try:
        latest = json.loads(file.read_text(encoding="utf-8"))["checkpoint"]["latest"]
    except ValueError:
        # It is being written.
        return set()
    pending = {each["resource"]["urn"] for each in latest.get("pending_operations") or []}
    there = {each["urn"] for each in latest.get("resources") or []}
    return {(Urn(urn).type, Urn(urn).name) for urn in there - pending if not Urn(urn).type.startswith("pulumi:")}


class Killer:
    """Kills the engine when resources have come into the state that it has not been killed at before."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self.hit: set[Key] = set()
        self.kills = 0

    def hear(self, phase: str, progress: Progress, change: Change | None) -> None:
        if not isinstance(change, ResourceStep) or change.status != "done" or (change.type, change.name) in self.hit:
            return
        # The engine says so before it has written it; and what a dead one has said is heard all the same.
        victims = engines(self._rehearsal)
        until(lambda: (change.type, change.name) in checkpointed(self._rehearsal) or not any(map(runs, victims)))
        new = checkpointed(self._rehearsal) - self.hit
        if (change.type in ALONE or len(new) >= TOGETHER) and kill(victims):
            self.kills += 1
            self.hit |= checkpointed(self._rehearsal)


def up_until_it_is_not_killed(rehearsal: Rehearsal, plan: CompiledStack, killer: Killer) -> None:
    kills = -1
    while killer.kills > kills:
        kills, report = killer.kills, Report(stack=STACK)
        try:
            rehearsal.up(plan, report, killer.hear)
        except OperationError as error:
            assert killer.kills > kills, error
        assert report.failures == []


def test_the_engine_is_killed_whenever_a_resource_is_in_its_state(
    stack: Rehearsal, plan: CompiledStack, undisturbed: World
) -> None:
    killer = Killer(stack)
    for _ in range(3):
        enable(stack, undisturbed)
        up_until_it_is_not_killed(stack, plan, killer)
        missed = {(Urn(urn).type, Urn(urn).name) for urn in undisturbed.state} - killer.hit
        # With the last one of all the engine is done, and ends by itself.
        if len(missed) <= 1:
            break
        # It goes on while it is listened to: it was done before the last ones were heard.
        destroy(stack, plan)
    assert len(missed) <= 1
    assert {type for type, _ in missed} <= {JOB}
    check_and_destroy(stack, plan, undisturbed)
