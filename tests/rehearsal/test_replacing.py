"""Jobs are replaced on a pool that has no room beside them, and those that an `up` waits for do not wait for ever."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence

import pytest

from tests.builders import experiment, job
from tests.rehearsal.command_line import SETTINGS, start, status, xmgen
from tests.rehearsal.stacks import IMAGE, T4, Written, write
from xmgen.executors.gke.jobs import job_name
from xmgen.experiment import Container
from xmgen.project import Project
from xmgen.rehearsal.outcomes import Rule
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report
from xmgen.stack.compiled import CompiledStack

pytestmark = pytest.mark.rehearsal

SECONDS = 120.0
"""How long anything here may take on a busy machine."""


@pytest.fixture
def full(in_scratch: Rehearsal) -> Iterator[Rehearsal]:
    """A rehearsal whose pods run until they are deleted, so that they keep their nodes; else as a test tells them."""
    in_scratch.director.tell([Rule(outcome="hang")])
    yield in_scratch
    in_scratch.director.tell([])


def compiled(
    project: Project, stack: str, args: Sequence[str], image: str, after: dict[int, list[int]] | None = None
) -> Written:
    """image: a change of code, as far as Jobs are concerned."""
    trainer = Container(name=IMAGE.name, image=image)
    jobs = [job(each, executor=T4, executable=trainer.name) for each in args]
    return write(project, experiment(*jobs, after=after or {}, stack=stack, executables=(trainer,)))


def names(plan: CompiledStack) -> list[str]:
    return [unit.name for unit in plan.units]


def running(rehearsal: Rehearsal, plan: CompiledStack) -> set[str]:
    """The Jobs whose pods run; none while there is a pod that waits."""
    pods = rehearsal.cluster.api().items(f"/api/v1/namespaces/{plan.experiment.stack}/pods")
    open_pods = [pod for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]
    if any(pod["status"]["phase"] == "Pending" for pod in open_pods):
        return set()
    return {pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] for pod in open_pods}


def there(rehearsal: Rehearsal, plan: CompiledStack) -> set[str]:
    jobs = rehearsal.cluster.api().items(f"/apis/batch/v1/namespaces/{plan.experiment.stack}/jobs")
    return {job["metadata"]["name"] for job in jobs}


def wanted(plan: CompiledStack) -> list[str]:
    return [job_name(unit.manifests[0]) for unit in plan.units]


def test_a_sweep_that_fills_its_pool(full: Rehearsal, scratch: Project) -> None:
    """The new trials run, though the old ones would never have ended."""
    before: CompiledStack | None = None
    for image in ("python:3.11", "python:3.12"):
        plan = compiled(scratch, "sweep", ["--n=0", "--n=1"], image)
        assert [pool.max_nodes for pool in plan.pools] == [2]
        counts = full.up(plan, Report(stack="sweep"))
        assert counts.get("replace", 0) == (2 if before else 0)
        assert full.observer.wait(lambda: running(full, plan) == set(wanted(plan)), SECONDS)  # noqa: B023
        assert full.observer.wait(lambda: there(full, plan) == set(wanted(plan)), SECONDS)  # noqa: B023
        assert before is None or names(plan) == names(before)
        before = plan
    xmgen(full, "destroy", "sweep", "--yes")


def test_jobs_that_are_waited_for(full: Rehearsal, scratch: Project) -> None:
    chain = {1: [0]}
    first = compiled(scratch, "chain", ["--n=0", "--n=1"], "python:3.10", chain)
    assert [pool.max_nodes for pool in first.pools] == [1]
    waiting = start(full, "up", "chain", "--yes", *SETTINGS)
    assert full.observer.wait(lambda: running(full, first) == {wanted(first)[0]}, SECONDS)
    waiting.send_signal(signal.SIGINT)
    waiting.communicate()
    assert waiting.returncode == 130

    # The one that is waited for is the one that holds the machine.
    second = compiled(scratch, "chain", ["--n=0", "--n=1"], "python:3.11", chain)
    full.director.tell([Rule(outcome="hang", unit=names(second)[1])])
    xmgen(full, "up", "chain", "--yes")
    assert full.observer.wait(lambda: running(full, second) == {wanted(second)[1]}, SECONDS)

    # The one that depends on it holds the machine, and is replaced after it.
    third = compiled(scratch, "chain", ["--n=0", "--n=1"], "python:3.12", chain)
    assert names(third) == names(second)
    xmgen(full, "up", "chain", "--yes")
    assert full.observer.wait(lambda: running(full, third) == {wanted(third)[1]}, SECONDS)
    assert full.observer.wait(lambda: there(full, third) == set(wanted(third)), SECONDS)

    # The one that holds the machine is another trial, which is deleted last.
    fourth = compiled(scratch, "chain", ["--n=7", "--n=1"], "python:3.12", chain)
    assert not set(names(fourth)) & set(names(third))
    full.director.tell([Rule(outcome="hang", unit=names(fourth)[1])])
    xmgen(full, "up", "chain", "--yes")
    assert full.observer.wait(lambda: running(full, fourth) == {wanted(fourth)[1]}, SECONDS)
    assert full.observer.wait(lambda: there(full, fourth) == set(wanted(fourth)), SECONDS)
    assert {name: unit["status"] for name, unit in status(full, "chain").items()} == dict(
        zip(names(fourth), ("finished", "running"), strict=True)
    )
    xmgen(full, "destroy", "chain", "--yes")
