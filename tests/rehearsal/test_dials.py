"""What can be made to go wrong does, and `up` and `destroy` come through it when they are run again."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

from tests.rehearsal.disturbances import World, nothing_left, up_until_done
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report
from xmgen.stack.compiled import CompiledStack
from xmgen.urns import Urn

pytestmark = pytest.mark.rehearsal


def dials(world: World, operation: str, *faults: str) -> list[dict[str, Any]]:
    """Every resource meets one of the faults, once."""
    return [
        {"type": Urn(urn).type, "name": Urn(urn).name, "operation": operation, "fault": fault, "times": 1}
        for urn, fault in zip(sorted(world.cloud), cycle(faults), strict=False)
    ]


# Five faults, and no number of resources of a kind that five divides: the same kind meets different ones.
@pytest.mark.parametrize("faults", [("429", "lost", "503", "half", "unsent")])
def test_every_resource_meets_a_fault(
    stack: Rehearsal, plan: CompiledStack, undisturbed: World, faults: tuple[str, ...]
) -> None:
    stack.cloud.dials.set(*dials(undisturbed, "create", *faults))
    assert up_until_done(stack, plan, len(undisturbed.cloud)) > 1
    assert World.of(stack, plan) == undisturbed
    assert set(stack.up(plan, Report(stack=plan.experiment.stack))) == {"same"}

    stack.cloud.dials.set(*dials(undisturbed, "delete", "503", "lost", "429", "unsent"))
    for _ in undisturbed.cloud:
        report = Report(stack=plan.experiment.stack)
        stack.destroy(plan, report)
        if not report.failures:
            break
    assert report.failures == []
    assert nothing_left(stack, plan)
