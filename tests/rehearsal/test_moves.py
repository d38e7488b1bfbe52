"""A stack that is up, and whose cluster is to be elsewhere: nothing is begun."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rehearsal.command_line import SETTINGS, xmgen
from tests.rehearsal.stacks import T4, compiled
from xmgen.errors import OperationError, Problem
from xmgen.project import Project
from xmgen.pulumi_cli.state import resources
from xmgen.rehearsal.cloud.kinds import ELSEWHERE
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Failure, Report
from xmgen.stack.compiled import CompiledStack

pytestmark = pytest.mark.rehearsal

STACK = "settled"
MOVE = f"the cluster of {STACK} is in us-central1-a, and cannot move to us-central1-b"


@pytest.fixture
def plan(in_scratch: Rehearsal, scratch: Project) -> Iterator[CompiledStack]:
    plan = compiled(scratch, STACK, T4)
    yield plan
    report = Report(stack=STACK)
    in_scratch.destroy(plan, report)
    assert report.failures == []


def there(rehearsal: Rehearsal) -> dict[str, str]:
    """What the stack has: ids by URNs."""
    export = rehearsal.pulumi.run("stack", "export", "--stack", STACK)
    return {each.urn: each.id for each in resources(export)}


def test_a_cluster_stays_where_it_is(in_scratch: Rehearsal, scratch: Project, plan: CompiledStack) -> None:
    xmgen(in_scratch, "up", STACK, "--yes", *SETTINGS)
    before = there(in_scratch)

    for command in (("up", "--yes"), ("preview",)):
        done = xmgen(in_scratch, *command, STACK, "--set", "location=us-central1-b", code=1)
        hint = (
            f"set `location` as it was, or remove it: after `xmgen destroy {STACK}` this command makes all of it there"
        )
        assert (done.stdout, done.stderr) == ("", f"error: {MOVE}\n  {hint}\n")
    # Nor is the location kept for the next time.
    assert "nothing to do" in xmgen(in_scratch, "preview", STACK).stdout

    settings = scratch.settings(STACK)
    settings.write_text(settings.read_text(encoding="utf-8") + "  location: us-central1-b\n", encoding="utf-8")
    with pytest.raises(OperationError) as refused:
        in_scratch.run(plan)
    assert refused.value.problems == (Problem(MOVE, hint=ELSEWHERE),)

    # Whatever else would replace the cluster is refused by its provider.
    report = Report(stack=STACK)
    in_scratch.up(plan, report)
    refusal = f"{STACK}: a rehearsal cannot replace a cluster, as a change of location would\n  {ELSEWHERE}"
    assert report.failures == [Failure(resource="up", message=refusal)]
    assert there(in_scratch) == before
