"""Killed in the midst of an `up`: run again, and the end is the same, nothing doubled, nothing left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import experiment, job
from tests.rehearsal.test_matrix import IMAGE, write
from tests.rehearsal.test_misfits import T4
from xmgen.engine.events import Change, Progress, Resource
from xmgen.errors import OperationError
from xmgen.plan import Plan
from xmgen.project import Project
from xmgen.rehearsal.cloud.kinds import NODE_POOL
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report, markdown

pytestmark = pytest.mark.rehearsal

NAMESPACE = "kubernetes:core/v1:Namespace"


def compiled(project: Project, stack: str) -> Plan:
    jobs = [job(f"--n={number}", executor=T4, executable=IMAGE.name) for number in range(2)]
    return write(project, experiment(*jobs, stack=stack, executables=(IMAGE,)))


def engines(folder: Path) -> list[int]:
    """The processes of the engine and its plugins: those whose state is in the folder."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
            name = (process / "comm").read_text().strip()
        except OSError:
            continue
        if f"PULUMI_BACKEND_URL={(folder / 'backend').as_uri()}".encode() in variables and name == "pulumi":
            found.append(int(process.name))
    return found


def killing(folder: Path, type: str, status: str) -> Callable[[str, Progress, Change | None], None]:
    """Kills the engine when the first resource of a type has come so far."""

    def listen(phase: str, progress: Progress, change: Change | None) -> None:
        if isinstance(change, Resource) and (change.type, change.status) == (type, status):
            for pid in engines(folder):
                os.kill(pid, signal.SIGKILL)

    return listen


def test_the_engine_is_killed_between_two_operations(in_scratch: Rehearsal, scratch: Project) -> None:
    plan = compiled(scratch, "killed")
    with pytest.raises(OperationError):
        in_scratch.up(plan, Report(stack="killed"), killing(in_scratch.folder, NAMESPACE, "done"))
    in_scratch.pulumi.run("cancel", "--yes", "--stack", "killed")
    report = in_scratch.run(plan)
    assert report.fits, markdown(report)


def test_the_api_server_is_started_again(in_scratch: Rehearsal, scratch: Project) -> None:
    plan = compiled(scratch, "restarted")

    def listen(phase: str, progress: Progress, change: Change | None) -> None:
        if phase == "up" and isinstance(change, Resource) and (change.type, change.status) == (NODE_POOL, "done"):
            in_scratch.cluster.restart("kube-apiserver")

    # Whether this one reaches the cluster or not, the next makes up for it.
    in_scratch.up(plan, Report(stack="restarted"), listen)
    report = in_scratch.run(plan)
    assert report.fits, markdown(report)
