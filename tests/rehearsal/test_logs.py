"""`xmgen logs` of a stack on GKE: what pods print, from a real API server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rehearsal.command_line import start, xmgen
from tests.rehearsal.stacks import RETRIED, T4, compiled, tamper
from tests.rehearsal.units import SECONDS, ends, names, pods_of
from xmgen.executors.gke.jobs import job_name
from xmgen.project import Project
from xmgen.rehearsal.cloud import pools
from xmgen.rehearsal.outcomes import Rule
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report
from xmgen.rehearsal.stages import LOG, OUTCOME
from xmgen.stack.compiled import CompiledStack

pytestmark = pytest.mark.rehearsal

STACK = "printed"


@pytest.fixture(scope="module")
def plan(scratch: Project) -> CompiledStack:
    plan = compiled(scratch, STACK, T4, RETRIED, T4, T4)
    tamper(scratch, plan, {"3": {"nodeSelector": {"xmgen/nodes": "others"}}})
    return plan


@pytest.fixture
def printed(in_scratch: Rehearsal, plan: CompiledStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rehearsal]:
    """The stack is up: its first trial has printed and ended, the second at its second attempt; the third prints and
    goes on; the last finds no node.
    """
    # With a node goes what was printed on it.
    monkeypatch.setattr(pools, "IDLE_SECONDS", float("inf"))
    ended, again, runs, _ = names(plan)
    in_scratch.director.tell(
        [
            Rule(unit=ended, log=["step 1", "step 2", "done"]),
            Rule(unit=again, outcome="fail", exit_code=3, attempts=1, log=["loss: nan"]),
            Rule(unit=again, log=["loss: 0.1"]),
            Rule(unit=runs, outcome="hang", log=["step 1"]),
        ]
    )
    in_scratch.up(plan, Report(stack=STACK))
    assert in_scratch.observer.wait(lambda: ends(in_scratch, plan) == ["finished", "finished", None, None], SECONDS)
    assert in_scratch.observer.wait(lambda: phase(in_scratch, plan, 2) == "Running", SECONDS)
    yield in_scratch
    in_scratch.director.tell([])
    in_scratch.destroy(plan, Report(stack=STACK))


def pod(rehearsal: Rehearsal, plan: CompiledStack, position: int) -> str:
    return str(pods_of(rehearsal, plan, position)[0]["metadata"]["name"])


def phase(rehearsal: Rehearsal, plan: CompiledStack, position: int) -> str:
    return next((str(each["status"]["phase"]) for each in pods_of(rehearsal, plan, position)), "")


def tell(rehearsal: Rehearsal, pod: str, **annotations: str) -> None:
    path = f"/api/v1/namespaces/{STACK}/pods/{pod}"
    given = {{"log": LOG, "outcome": OUTCOME}[key]: value for key, value in annotations.items()}
    assert rehearsal.cluster.api().request("PATCH", path, {"metadata": {"annotations": given}}).ok


def test_logs_of_pods(printed: Rehearsal, plan: CompiledStack) -> None:
    ended, again, runs, waits = names(plan)

    # One pod's log is as it is.
    done = xmgen(printed, "logs", STACK, ended)
    assert (done.stdout, done.stderr) == ("step 1\nstep 2\ndone\n", "")
    assert xmgen(printed, "logs", STACK, "1", "--tail", "2").stdout == "step 2\ndone\n"
    assert xmgen(printed, "logs", STACK, ended, "--since", "1d").stdout == "step 1\nstep 2\ndone\n"

    # Several have the pods' names, and earlier attempts come first.
    first, second = (str(each["metadata"]["name"]) for each in pods_of(printed, plan, 1))
    assert xmgen(printed, "logs", STACK, again).stdout == f"{first} | loss: nan\n{second} | loss: 0.1\n"

    # Of all trials: what those say that have said something, and what the others wait for.
    done = xmgen(printed, "logs", STACK, "--tail", "1")
    assert done.stdout.splitlines() == [
        f"{pod(printed, plan, 0)} | done",
        f"{first} | loss: nan",
        f"{second} | loss: 0.1",
        f"{pod(printed, plan, 2)} | step 1",
    ]
    assert done.stderr.startswith(f"{waits}: waits for ")
    assert "didn't match Pod's node affinity/selector" in done.stderr

    # Alone it has nothing to show, which is no success.
    done = xmgen(printed, "logs", STACK, waits, code=1)
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {waits}: waits for ")

    # A pod that somebody deleted, and a Job.
    path = f"/api/v1/namespaces/{STACK}/pods/{pod(printed, plan, 0)}"
    assert printed.cluster.api().request("DELETE", path).ok
    assert printed.observer.wait(lambda: not pods_of(printed, plan, 0), SECONDS)
    done = xmgen(printed, "logs", STACK, ended, code=1)
    assert done.stderr.startswith(f"error: {ended}: finished, and its pods are gone\n  `gcloud logging read ")
    name = job_name(plan.units[0].manifests[0])
    assert f'resource.labels.pod_name:"{name}"' in done.stderr
    job = f"/apis/batch/v1/namespaces/{STACK}/jobs/{name}"
    assert printed.cluster.api().request("DELETE", job, propagationPolicy="Background").ok
    done = xmgen(printed, "logs", STACK, ended, code=1)
    vanished = f"its Job is no longer on the cluster; `xmgen up {STACK}` runs it again"
    assert done.stderr.startswith(f"error: {ended}: {vanished}\n  `gcloud logging read ")

    # Followed, lines come as they are printed, until the pod has ended.
    follow = start(printed, "logs", STACK, runs, "--follow")
    assert follow.stdout is not None
    assert follow.stdout.readline() == "step 1\n"
    running = pod(printed, plan, 2)
    tell(printed, running, log="step 1\nstep 2")
    assert follow.stdout.readline() == "step 2\n"
    tell(printed, running, outcome="fail")
    assert follow.communicate(timeout=SECONDS) == ("", f"{runs}: pod {running} exited with code 1\n")
    assert follow.returncode == 0


def test_logs_of_a_stack_that_is_not_up(in_scratch: Rehearsal, plan: CompiledStack) -> None:
    done = xmgen(in_scratch, "logs", STACK, code=1)
    assert done.stderr == f"error: {STACK} is not up\n  `xmgen up {STACK}` runs it\n"
