"""What a shell completes, asked as click's scripts for shells ask."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from xmgen.cli import cli
from xmgen.commands import target
from xmgen.project import find


def completed(line: str) -> list[str]:
    """What may stand at the end of the line: `plain,` and a word, or `file,` and the beginning of a path."""
    words = line.split(" ")
    asked = {"_XMGEN_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = CliRunner().invoke(cli, env=asked, prog_name="xmgen", catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout.split()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: experiments\nmain: stacks/\n")
    for name in ("quickstart", "group"):
        shutil.copytree(ROOT / "stacks" / name, tmp_path / "stacks" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("xmgen sta", ["plain,status"]),
        ("xmgen status ", ["plain,group", "plain,quickstart"]),
        ("xmgen check quickstart gro", ["plain,group"]),
        ("xmgen up qu", ["plain,quickstart"]),
        ("xmgen up exam", ["file,exam"]),
        (
            "xmgen logs quickstart train-learning-rate-0-01-width-1",
            ["plain,train-learning-rate-0-01-width-16-57563d7e"],
        ),
        ("xmgen logs nothing train", []),
        ("xmgen status x", []),
    ],
)
def test_in_a_project(line: str, expected: list[str], project: Path) -> None:
    assert completed(line) == expected


def test_the_work_units_of_a_stack(project: Path) -> None:
    names = [unit.name for unit in target.existing(find(project), "quickstart").units]
    assert completed(f"xmgen logs quickstart {names[0]} {names[1][:-1]}") == [f"plain,{names[1]}"]
    assert completed("xmgen logs quickstart ") == [f"plain,{name}" for name in names]


def test_outside_of_every_project_there_is_nothing_to_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert completed("xmgen status ") == []
    assert completed("xmgen logs quickstart train") == []
    assert completed("xmgen up exam") == ["file,exam"]
