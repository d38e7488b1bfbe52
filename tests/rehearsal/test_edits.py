"""An edited sweep, through the real engine: an `up` touches what was edited, and nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.another_version import another_version
from tests.builders import experiment, job, python_container
from tests.rehearsal.command_line import SETTINGS, xmgen
from tests.rehearsal.edited import Key, Stack
from tests.rehearsal.stacks import IMAGE, T4, Written, write
from xmgen import sources
from xmgen.executors.gke.jobs import job_name, resource_name
from xmgen.plan import planner
from xmgen.project import Project
from xmgen.rehearsal.outcomes import Rule
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import markdown
from xmgen.resource_types import JOB, NODE_POOL
from xmgen.stack.compiled import CompiledStack

pytestmark = pytest.mark.rehearsal

RATES = [f"--lr=0.{number:02}" for number in range(1, 21)]


def compiled(project: Project, rates: Sequence[str], code: str = "print('one')") -> Written:
    """A trial for each rate, and a job of another image."""
    executables = [python_container(name) for name in ("trainer", "other")]
    for executable, text in zip(executables, (code, "print('other')"), strict=True):
        folder = project.root / executable.path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "train.py").write_text(text, encoding="utf-8")
    trials = [job(rate, executor=T4) for rate in rates]
    return write(
        project,
        experiment(
            *trials,
            job(executor=T4, executable="other"),
            stack="edits",
            executables=tuple(
                replace(each, digest=sources.digest(Path(project.root, each.path))) for each in executables
            ),
        ),
    )


def jobs(plan: CompiledStack) -> list[Key]:
    """In the order of the experiment; the last one is of the other image."""
    return [(JOB, resource_name(unit.manifests[0])) for unit in plan.units]


def test_an_up_touches_what_was_edited(in_scratch: Rehearsal, scratch: Project) -> None:
    stack = Stack(in_scratch)
    first = compiled(scratch, RATES)
    pools = {(NODE_POOL, pool.name) for pool in first.pools}
    assert len(pools) == 1
    assert set(jobs(first)) | pools < stack.up(first)["create"]

    edited = compiled(scratch, [*RATES[:7], "--lr=0.99", *RATES[8:]])
    assert stack.up(edited) == {"create": {jobs(edited)[7]}, "delete": {jobs(first)[7]}}

    # The pool may grow by the one trial more, in place.
    longer = compiled(scratch, ["--lr=1", *RATES[::-1][:12], "--lr=0.99", *RATES[:7][::-1]])
    assert stack.up(longer) == {"create": {jobs(longer)[0]}, "update": pools}

    shorter = compiled(scratch, ["--lr=1", *RATES[:4]])
    gone = set(jobs(longer)) - set(jobs(shorter))
    assert len(gone) == 16
    assert stack.up(shorter) == {"delete": gone, "update": pools}

    recoded = compiled(scratch, ["--lr=1", *RATES[:4]], code="print('two')")
    assert jobs(recoded) == jobs(shorter)
    assert stack.up(recoded) == {
        "replace": set(jobs(recoded)[:-1]),
        "update": {("docker-build:index:Image", "trainer"), ("xmgen:index:Code", "code-trainer")},
    }

    report = in_scratch.run(recoded)
    assert report.fits, markdown(report)


def test_jobs_that_another_version_compiled_go_on(in_scratch: Rehearsal, scratch: Project) -> None:
    """This one would call them otherwise. They run when an `up` makes a Job that is waited for, before which it deletes
    what the stack has no more.
    """
    jobs = [job(f"--n={number}", executor=T4, executable=IMAGE.name) for number in range(4)]
    source = experiment(*jobs, after={3: [0]}, stack="older", executables=(IMAGE,))
    with another_version():
        older = write(scratch, source)
    awaited, *others, last = (unit.name for unit in older.units)
    ours = {job_name(unit.manifests[0]) for unit in planner.plan(source).units}
    assert {job_name(unit.heads[0]) for unit in older.units}.isdisjoint(ours)

    def uids() -> dict[str, str]:
        found = in_scratch.cluster.api().items(f"/apis/batch/v1/namespaces/{older.name}/jobs")
        return {str(each["metadata"]["labels"]["xmgen/unit"]): str(each["metadata"]["uid"]) for each in found}

    hang = [Rule(outcome="hang", unit=unit) for unit in others]
    in_scratch.director.tell([Rule(outcome="fail", unit=awaited), *hang])
    xmgen(in_scratch, "up", older.name, "--yes", *SETTINGS, code=1)
    first = uids()
    assert first.keys() == {awaited, *others}
    in_scratch.director.tell(hang)
    xmgen(in_scratch, "up", older.name, "--yes")
    second = uids()
    assert second.keys() == {awaited, *others, last}
    assert {unit for unit in first if first[unit] != second[unit]} == {awaited}
    in_scratch.director.tell([])
    xmgen(in_scratch, "destroy", older.name, "--yes")
