from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.gcp_programs import SDK
from tests.rehearsal import disturbances
from tests.rehearsal.disturbances import World
from xmgen import project
from xmgen.project import Project
from xmgen.pulumi_cli import orphans
from xmgen.rehearsal.rehearsal import Options, Rehearsal
from xmgen.rehearsal.report import Report
from xmgen.stack import init
from xmgen.stack.compiled import CompiledStack


@pytest.fixture(scope="session")
def google_sdks() -> Iterator[None]:
    """The SDKs that stacks on Google Cloud import, for this process and those that it starts."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SDK), str(ROOT)])
    sys.path.insert(0, str(SDK))
    yield
    sys.path.remove(str(SDK))
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture
def google_sdks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for one test and this process alone: others are about what happens without them."""
    monkeypatch.syspath_prepend(str(SDK))


@pytest.fixture(scope="session")
def rehearsal(google_sdks: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    """One control plane for all tests that do not end it. Its project is that of this repository."""
    folder = tmp_path_factory.mktemp("rehearsal")
    with Rehearsal(project.find(ROOT), folder, Options(pod_seconds=1)) as rehearsal:
        yield rehearsal


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project of its own, for stacks that are compiled by a test."""
    root = tmp_path_factory.mktemp("project")
    init.init(root)
    return project.read(root)


@pytest.fixture
def in_scratch(rehearsal: Rehearsal, scratch: Project, monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    """The rehearsal, of stacks of the project of its own."""
    monkeypatch.setenv("XMGEN_PYTHON", sys.executable)
    return rehearsal.of(scratch)


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def plan(scratch: Project) -> CompiledStack:
    """Of the stack that is disturbed."""
    return disturbances.compiled(scratch)


@pytest.fixture
def stack(in_scratch: Rehearsal, plan: CompiledStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rehearsal]:
    """The rehearsal, for a test that disturbs that stack. Whatever others have left, it finds nothing in the cloud."""
    # What is asked of the simulated cloud is there at once, and Pulumi's own plugins never notice within the time that
    # they are given that their engine is gone.
    monkeypatch.setattr(orphans, "ARRIVAL_SECONDS", 0.0)
    monkeypatch.setattr(orphans, "GRACE_SECONDS", 0.0)
    disturbances.forget(in_scratch, plan)
    yield in_scratch
    in_scratch.cloud.at = disturbances.nothing_happens
    in_scratch.cloud.dials.set()
    if disturbances.is_up(in_scratch, plan):
        report = Report(stack=plan.experiment.stack)
        in_scratch.destroy(plan, report)
        assert report.failures == []
    disturbances.forget(in_scratch, plan)


@pytest.fixture(scope="session")
def undisturbed(rehearsal: Rehearsal, scratch: Project, plan: CompiledStack) -> World:
    """What there is of it after an `up` that nothing happened to."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XMGEN_PYTHON", sys.executable)
        return disturbances.undisturbed(rehearsal.of(scratch), plan)
