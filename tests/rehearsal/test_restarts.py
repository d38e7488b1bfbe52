"""A rehearsal that is killed leaves nothing running; one that is begun again in its folder goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import experiment, job
from tests.rehearsal.processes import SECONDS, until
from tests.rehearsal.stacks import IMAGE, T4, write
from xmgen.project import Project
from xmgen.rehearsal import leftovers
from xmgen.rehearsal.cluster import PROGRAMS
from xmgen.rehearsal.rehearsal import Options, Rehearsal
from xmgen.rehearsal.report import Report, markdown
from xmgen.stack.compiled import CompiledStack

pytestmark = pytest.mark.rehearsal


def compiled(project: Project, stack: str) -> CompiledStack:
    jobs = [job(f"--n={number}", executor=T4, executable=IMAGE.name) for number in range(2)]
    return write(project, experiment(*jobs, stack=stack, executables=(IMAGE,)))


def test_a_rehearsal_that_is_killed_ends_with_all_that_it_started(
    scratch: Project, google_sdks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XMGEN_PYTHON", sys.executable)
    compiled(scratch, "shot")
    folder = tmp_path / "kept"
    command = [Path(sys.executable).with_name("xmgen"), "rehearse", "shot", "--folder", folder]
    with subprocess.Popen(command, cwd=scratch.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        # Names of processes are cut off by the kernel.
        until(folder, {name[:15] for name in (*PROGRAMS, "pulumi", "pulumi-resource-kubernetes")})
        os.kill(process.pid, signal.SIGKILL)
    until(folder, set())
    again = subprocess.run([*command, "--markdown"], cwd=scratch.root, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stdout + again.stderr
    until(folder, set())


def test_a_rehearsal_that_is_begun_again_finds_what_is_there(
    scratch: Project, google_sdks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XMGEN_PYTHON", sys.executable)
    plan = compiled(scratch, "kept")
    # The pods that run keep their nodes.
    options = Options(pod_seconds=600)
    with Rehearsal(scratch, tmp_path / "kept", options) as rehearsal:
        rehearsal.up(plan, Report(stack="kept"))
        assert rehearsal.observer.wait(lambda: bool(nodes := rehearsal.observer.nodes()) and len(nodes) == 3, SECONDS)
        there = leftovers.objects(rehearsal.cluster.api()), leftovers.resources(rehearsal.cloud.store)
    with Rehearsal(scratch, tmp_path / "kept", options) as rehearsal:
        report = Report(stack="kept")
        changes = rehearsal.up(plan, report)
        assert {name for name, count in changes.items() if count} == {"same"}, report.failures
        rehearsal.observer.look()
        assert (leftovers.objects(rehearsal.cluster.api()), leftovers.resources(rehearsal.cloud.store)) == there
        assert len(rehearsal.observer.nodes()) == 3
        report = rehearsal.run(plan)
        assert (report.failures, report.second_up) == ([], {}), markdown(report)
        assert leftovers.resources(rehearsal.cloud.store) == {}
