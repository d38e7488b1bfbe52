"""The committed stacks are what their sources compile to today, and every program declares what its plan says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import programs, type_checks
from xmgen import compiler
from xmgen.cli import cli
from xmgen.commands import source
from xmgen.plan import planner
from xmgen.plan.model import Plan
from xmgen.program import render as program
from xmgen.stack import folder as stack
from xmgen.stack import lock, tree

ROOT = Path(__file__).parents[2]
STACKS = sorted(path.parent.name for path in ROOT.glob("stacks/*/experiment.lock.json"))
LOCAL = [name for name in STACKS if (ROOT / "stacks" / name / "executables.py").exists()]


def plan_of(name: str) -> Plan:
    return planner.plan(lock.read(ROOT / "stacks" / name / "experiment.lock.json"), compiler.compiled_stacks(ROOT))


def committed(name: str) -> dict[str, bytes]:
    return tree.regular(tree.of_folder(ROOT / "stacks" / name))


def test_every_example_has_its_stack() -> None:
    sources = {lock.read(ROOT / "stacks" / name / "experiment.lock.json").source for name in STACKS}
    launchers = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/*/launcher.py")}
    assert launchers <= sources


@pytest.mark.parametrize("name", STACKS)
def test_a_committed_stack_is_up_to_date(name: str) -> None:
    recorded = lock.read(ROOT / "stacks" / name / "experiment.lock.json")
    _, files = compiler.compile_source(
        ROOT / recorded.source, root=ROOT, stack=name, flags=recorded.flags, cluster=source.chosen(recorded)
    )
    assert stack.difference(name, committed(name), files) == ""


@pytest.mark.parametrize("name", STACKS)
def test_the_lock_file_alone_gives_the_same_stack(name: str) -> None:
    assert stack.difference(name, committed(name), program.render(plan_of(name))) == ""


@pytest.mark.parametrize("name", STACKS)
def test_the_manifests_of_a_stack_are_printed_as_they_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    files = sorted((ROOT / "stacks" / name / "manifests").rglob("*.yaml"))
    done = CliRunner().invoke(cli, ["inspect", name, "--manifests"])
    said = "" if files else f"{name} has no jobs, and so no manifests.\n"
    assert (done.exit_code, done.stdout, done.stderr) == (0, "".join(file.read_text() for file in files), said)


@pytest.mark.parametrize("name", LOCAL)
def test_the_program_declares_the_plan(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    # A copy: running a program leaves caches beside it.
    folder = Path(shutil.copytree(ROOT / "stacks" / name, tmp_path / name))
    # Sorted: those that wait for nothing are declared in any order.
    assert sorted((each.type, each.name) for each in programs.run(folder).resources) == sorted(
        [
            *(("xmgen:local:Executable", executable.name) for executable in plan.executables),
            *(("xmgen:local:Run", unit.name) for unit in plan.units),
        ]
    )


def test_the_programs_type_check(tmp_path: Path) -> None:
    folders = [Path(shutil.copytree(ROOT / "stacks" / name, tmp_path / name)) for name in LOCAL]
    assert type_checks.problems(folders) == []
