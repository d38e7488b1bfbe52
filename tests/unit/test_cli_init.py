"""`xmgen init` makes any folder a project and overwrites nothing."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pulumi
import pytest
from click.testing import CliRunner, Result

from tests.conftest import ROOT
from xmgen import project
from xmgen.cli import cli
from xmgen.stack import init

FILES = [
    "Pulumi.yaml",
    "stacks/__main__.py",
    "stacks/.plugin/pulumi-resource-xmgen",
    ".gitignore",
    "first/experiment.yaml",
    "first/train.py",
]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments], catch_exceptions=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_becomes_a_project(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = run("init", str(folder), "--json")
    assert json.loads(done.stdout) == {"folder": str(folder), "written": FILES, "unchanged": [], "kept": []}
    assert sorted(contents(folder)) == sorted(FILES)
    assert project.find(folder / "first") == project.Project(root=folder, name="folder")
    assert os.access(folder / init.PLUGIN, os.X_OK)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("llm", "llm"),
        ("My experiments (2026)", "my-experiments-2026"),
        # Nothing of it can be part of a name.
        ("實驗", "experiments"),
        # Pulumi would give the project's settings to the provider.
        *(
            (provider, f"{provider}-experiments")
            for provider in ("gcp", "kubernetes", "docker-build", "xmgen", "pulumi")
        ),
        ("GCP", "gcp-experiments"),
        # As text, which a number would not be.
        ("2026", "2026"),
    ],
)
def test_a_project_is_called_as_its_folder(tmp_path: Path, folder: str, name: str) -> None:
    """By that name a backend tells the stacks of one project from those of another."""
    assert run("init", str(tmp_path / folder)).exit_code == 0
    assert project.find(tmp_path / folder).name == name


def test_a_project_keeps_its_name(tmp_path: Path) -> None:
    run("init", str(tmp_path / "before"))
    (tmp_path / "before").rename(tmp_path / "after")
    assert json.loads(run("init", str(tmp_path / "after"), "--json").stdout)["unchanged"] == FILES
    assert project.find(tmp_path / "after").name == "before"


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    run("init", str(tmp_path))
    before = contents(tmp_path)
    done = run("init", str(tmp_path), "--json")
    assert json.loads(done.stdout) == {"folder": str(tmp_path), "written": [], "unchanged": FILES, "kept": []}
    assert contents(tmp_path) == before


def test_a_project_in_a_project_says_so(tmp_path: Path) -> None:
    assert "It lies in" not in run("init", str(tmp_path)).stdout
    said = run("init", str(tmp_path / "sub" / "folder")).stdout
    assert f"\nIt lies in the project {tmp_path}, whose stacks commands here do not see.\nNext: " in said


def test_what_differs_is_kept_and_named(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "train.py").symlink_to("nowhere")
    done = run("init", str(tmp_path))
    assert "kept .gitignore, which differs" in done.stdout
    assert "kept first/train.py, which differs" in done.stdout
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
    assert not (tmp_path / "nowhere").exists()


def test_settings_are_committed_but_those_of_stacks_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text((ROOT / "templates/init/gitignore").read_text())
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    paths = ["stacks/Pulumi.llm.yaml", "stacks/llm/cluster.py", "stacks/Pulumi.my-llm.yaml", "stacks/my-llm/cluster.py"]
    asked = ["git", "check-ignore", *paths]
    ignored = subprocess.run(asked, cwd=tmp_path, check=False, capture_output=True, text=True).stdout.splitlines()
    assert ignored == paths[2:]


def test_another_kind_of_pulumi_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: web\nruntime: nodejs\n")
    done = run("init", str(tmp_path))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "belongs to a Pulumi project of another kind" in done.stderr
    assert list(contents(tmp_path)) == ["Pulumi.yaml"]


@pytest.mark.parametrize("place", ["", "stacks", "first"])
def test_a_file_where_a_folder_must_be_is_refused_before_anything_is_written(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "new"
    if place:
        folder.mkdir()
    (folder / place).write_text("")
    done = run("init", str(folder))
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{folder / place}: is not a folder".rstrip("/") in done.stderr.replace("/:", ":")
    assert len(contents(tmp_path)) == 1


@pytest.mark.parametrize("place", ["stacks", "stacks/first", "stacks/new/deeper", "first/../stacks"])
def test_no_project_among_a_projects_stacks(tmp_path: Path, place: str) -> None:
    run("init", str(tmp_path))
    before = contents(tmp_path)
    done = run("init", str(tmp_path / place))
    assert (done.exit_code, f"belongs to the stacks of the project {tmp_path}" in done.output) == (2, True), done.output
    assert contents(tmp_path) == before


def test_a_project_in_a_project_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: web\nmain: src/\n")
    assert run("init", str(tmp_path / "stacks")).exit_code == 0


def test_a_virtual_environment_that_is_there_is_used(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    run("init", str(tmp_path))
    assert "    virtualenv: .venv\n" in (tmp_path / "Pulumi.yaml").read_text()


def test_this_repository_is_such_a_project() -> None:
    """The files are one: those of the repository are what `init` writes where there is a `.venv`."""
    ours = [file for file in init.files(virtualenv=True) if file.path.startswith(("Pulumi.yaml", "stacks/"))]
    assert {file.path: (ROOT / file.path).read_text() for file in ours} == {file.path: file.text for file in ours}
    assert [os.access(ROOT / file.path, os.X_OK) for file in ours] == [file.executable for file in ours]


@pytest.mark.parametrize(("missing", "error"), [("pulumi_none", pulumi.RunError), ("none", ModuleNotFoundError)])
def test_a_stack_says_which_sdk_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, error: type[Exception]
) -> None:
    run("init", str(tmp_path))
    (tmp_path / "stacks" / "dev").mkdir()
    (tmp_path / "stacks" / "dev" / "__main__.py").write_text(f"import {missing}\n")
    monkeypatch.setattr(pulumi, "get_stack", lambda: "dev")
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(error, match=missing) as raised:
        runpy.run_path(str(tmp_path / "stacks" / "__main__.py"))
    assert ("xmgen[gcp]" in str(raised.value)) == (missing == "pulumi_none")
