"""Pods that are told to fail, to be evicted or to hang; and what users are told of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import experiment, job
from tests.rehearsal.command_line import SETTINGS, status, xmgen
from tests.rehearsal.stacks import IMAGE, RETRIED, T4, compiled, tamper, write
from tests.rehearsal.units import SECONDS, ends, names, pods_of
from xmgen.executors.gke.jobs import job_name
from xmgen.executors.gke.pods import how_it_failed, job_end
from xmgen.experiment import Reference
from xmgen.project import Project
from xmgen.rehearsal.home import AUTH_PLUGIN
from xmgen.rehearsal.outcomes import Rule
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report, markdown

pytestmark = pytest.mark.rehearsal


KEY = Reference(kind="secret", name="wandbKey")
EVICTED = "was evicted: Pod was terminated in response to imminent node shutdown."
STEPS = [f"step {number}" for number in range(30)]


@pytest.fixture
def told(in_scratch: Rehearsal) -> Iterator[Rehearsal]:
    """A rehearsal whose pods are told nothing once the test is over."""
    yield in_scratch
    in_scratch.director.tell([])


def test_pods_end_as_they_are_told(told: Rehearsal, scratch: Project, tmp_path: Path) -> None:
    plan = compiled(scratch, "told", T4, T4, RETRIED, T4, T4, T4, T4)
    tamper(scratch, plan, {"6": {"nodeSelector": {"xmgen/nodes": "others"}}})
    fails, kills, again, evicted, hangs, usual, waits = names(plan)
    told.director.tell(
        [
            Rule(unit=fails, outcome="fail", exit_code=3, log=[*STEPS, "loss: nan"]),
            Rule(unit=kills, outcome="oom"),
            Rule(unit=again, outcome="fail", attempts=1),
            Rule(unit=evicted, outcome="evict", attempts=1, seconds=0.5),
            Rule(unit=hangs, outcome="hang"),
        ]
    )
    assert told.up(plan, Report(stack="told"))["create"] > len(plan.units)
    expected = ["failed", "failed", "finished", "finished", None, "finished", None]
    assert told.observer.wait(lambda: ends(told, plan) == expected, SECONDS), ends(told, plan)
    # Later the controllers collect the pod whose node is gone.
    first, second = pods_of(told, plan, 3)
    # The scheduler comes to each of them in its own time.
    assert told.observer.wait(
        lambda: [pod["status"]["phase"] for pod in pods_of(told, plan, 4)] == ["Running"], SECONDS
    )

    units = status(told, "told")
    assert {name: (unit["status"], unit["exitCode"]) for name, unit in units.items()} == {
        fails: ("failed", 3),
        kills: ("failed", 137),
        again: ("finished", 0),
        evicted: ("finished", 0),
        hangs: ("running", None),
        usual: ("finished", 0),
        waits: ("waiting", None),
    }
    assert "didn't match Pod's node affinity/selector" in units[waits]["reasons"][0]
    (pod,) = [each["metadata"]["name"] for each in pods_of(told, plan, 0)]
    assert units[fails]["logCommand"] == f"kubectl logs --namespace told {pod} --container train"
    assert units[fails]["reasons"] == [
        "\n    ".join([f"pod {pod} exited with code 3", *STEPS[-9:], "loss: nan"]),
    ]
    assert units[kills]["reasons"][0].startswith(f"pod {pods_of(told, plan, 1)[0]['metadata']['name']} was killed: out")

    # Without credentials there is what Pulumi knows, and why there is no more.
    plugin = tmp_path / AUTH_PLUGIN
    plugin.write_text("#!/bin/sh\necho no account is active >&2; exit 1\n")
    plugin.chmod(0o755)
    done = xmgen(told, "status", "told", code=1, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert f"{fails}  " in done.stdout
    assert "As of the last `up`" in done.stdout
    assert f"error: {AUTH_PLUGIN} gives no credentials: no account is active" in done.stderr

    # An eviction is no failure: the same Job makes another pod, on another node, without a retry.
    (job,) = told.cluster.api().items(
        "/apis/batch/v1/namespaces/told/jobs", fieldSelector=f"metadata.name={job_name(plan.units[3].manifests[0])}"
    )
    assert job["spec"]["backoffLimit"] == 0
    assert [pod["status"]["phase"] for pod in (first, second)] == ["Failed", "Succeeded"]
    assert how_it_failed(first) == EVICTED

    report = told.run(plan)
    assert ([each.job for each in report.misfits], report.failures) == ([job_name(plan.units[6].manifests[0])], [])
    assert (report.second_up, report.left) == ({}, []), markdown(report)
    assert {(each.job, each.why.split(" ", 2)[2], each.log[-1:]) for each in report.failed} == {
        (job_name(plan.units[0].manifests[0]), "exited with code 3", ("loss: nan",)),
        (
            job_name(plan.units[1].manifests[0]),
            "was killed: out of memory (exit code 137)",
            ("simulated by a rehearsal: the container does not run",),
        ),
    }


def test_an_up_that_waits_for_a_training_that_fails(told: Rehearsal, scratch: Project) -> None:
    jobs = [job(f"--n={n}", executor=T4, executable=IMAGE.name, env={"KEY": KEY.token}) for n in (1, 2)]
    made = experiment(*jobs, after={1: [0]}, stack="awaited", executables=(IMAGE,))
    plan = write(scratch, replace(made, references=(KEY,)))
    first, second = names(plan)
    told.director.tell([Rule(unit=first, outcome="fail", exit_code=3, log=[*STEPS, "KEY=swordfish, loss: nan"])])
    done = xmgen(told, "up", "awaited", "--yes", *SETTINGS, "--secret", KEY.name, code=1, given="swordfish")
    (pod,) = [each["metadata"]["name"] for each in pods_of(told, plan, 0)]
    shown = [f"{first} failed", f"  pod {pod} exited with code 3", *(f"      {line}" for line in STEPS[-9:])]
    shown += ["      KEY=[secret], loss: nan", f"  whole log: kubectl logs --namespace awaited {pod} --container train"]
    assert "\n".join(shown) in done.stdout
    assert "swordfish" not in done.stdout + done.stderr
    assert "`xmgen up awaited` runs again what did not finish" in done.stdout
    assert {name: unit["status"] for name, unit in status(told, "awaited").items()} == {
        first: "failed",
        second: "waiting",
    }

    told.director.tell([])
    shown = xmgen(told, "preview", "awaited").stdout
    assert [line.split(maxsplit=3) for line in shown.splitlines() if " kubernetes:batch/v1:Job " in line] == [
        ["replace", "kubernetes:batch/v1:Job", first, "failed before"],
        ["create", "kubernetes:batch/v1:Job", second],
    ]
    xmgen(told, "up", "awaited", "--yes")
    assert told.observer.wait(lambda: ends(told, plan) == ["finished", "finished"], SECONDS)
    xmgen(told, "destroy", "awaited", "--yes")


def test_a_service_runs_again_with_what_it_served(told: Rehearsal, scratch: Project) -> None:
    group = tuple(
        job(name=name, executor=executor, executable=IMAGE.name)
        for name, executor in (("worker", T4), ("ps", replace(T4, service=True)))
    )
    plan = write(scratch, experiment(group, stack="served", executables=(IMAGE,)))
    [unit] = plan.units
    path = "/apis/batch/v1/namespaces/served/jobs"

    def jobs() -> dict[str, str]:
        """How those that are there ended, by their uids."""
        return {str(each["metadata"]["uid"]): str(job_end(each)) for each in told.cluster.api().items(path)}

    told.director.tell([Rule(job="worker", outcome="fail", exit_code=3)])
    xmgen(told, "up", "served", "--yes", *SETTINGS)
    assert told.observer.wait(lambda: sorted(jobs().values()) == ["failed", "finished"], SECONDS)
    before = jobs()

    told.director.tell([])
    shown = xmgen(told, "preview", "served").stdout
    # In whichever order the engine comes to them.
    assert sorted(line.split(maxsplit=3) for line in shown.splitlines() if " kubernetes:batch/v1:Job " in line) == [
        ["replace", "kubernetes:batch/v1:Job", f"{unit.name}-ps", "served what runs again"],
        ["replace", "kubernetes:batch/v1:Job", f"{unit.name}-worker", "failed before"],
    ]
    xmgen(told, "up", "served", "--yes")
    assert told.observer.wait(lambda: sorted(jobs().values()) == ["finished", "finished"], SECONDS)
    assert not before.keys() & jobs().keys()
    xmgen(told, "destroy", "served", "--yes")
