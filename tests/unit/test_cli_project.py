"""How a project is found, and how a source's stack is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from xmgen import project, rules
from xmgen.cli import cli
from xmgen.commands import target
from xmgen.errors import InputError
from xmgen.project import Project

OURS = "name: experiments\nmain: stacks/\n"


def test_the_nearest_folder_above_with_a_pulumi_yaml_is_the_project(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text(OURS + "backend: {url: gs://state}\n")
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    assert project.find(inside) == Project(root=tmp_path, name="experiments", backend="gs://state")


def test_outside_of_every_project_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no Pulumi\.yaml here or in a folder above"):
        project.find(tmp_path)


@pytest.mark.parametrize("text", ["name: web\n", "main: src/\n", "- a list\n", "", "main: [", "\xff"])
def test_a_pulumi_yaml_of_another_kind_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=r"Pulumi\.yaml: (belongs to a Pulumi project of another kind|cannot be read)"):
        project.find(tmp_path)


@pytest.mark.parametrize("main", ["stacks", "stacks/", "./stacks"])
def test_the_folder_of_the_stacks_may_be_written_in_any_way(main: str, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text(f"name: experiments\nmain: {main}\n")
    assert project.find(tmp_path) == Project(root=tmp_path, name="experiments")


@pytest.mark.parametrize("name", ["xmgen", "gcp"])
def test_a_project_is_not_called_like_a_provider(name: str, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text(f"name: {name}\nmain: stacks/\n")
    with pytest.raises(InputError, match="like a provider of Pulumi's, which would get its settings"):
        project.find(tmp_path)


def test_compiled_stacks_are_the_folders_with_a_lock_file(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / "stacks" / name).mkdir(parents=True)
        (tmp_path / "stacks" / name / "experiment.lock.json").touch()
    (tmp_path / "stacks" / "other").mkdir()
    assert Project(root=tmp_path).stacks() == ["a", "b"]


def test_a_stack_that_may_not_be_read_is_one_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stacks" / "a").mkdir(parents=True)

    def refuse(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_file", refuse)
    assert Project(root=tmp_path).stacks() == ["a"]


def test_without_a_folder_of_stacks_there_are_none(tmp_path: Path) -> None:
    assert Project(root=tmp_path).stacks() == []


def test_check_fails_when_the_stacks_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Pulumi.yaml").write_text("main: stacks/\n")
    (tmp_path / "stacks").touch()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["check"])
    assert (done.exit_code, done.output) == (1, f"error: {tmp_path / 'stacks'}: Not a directory\n")


@pytest.mark.parametrize(
    ("source", "stack"),
    [
        ("examples/quickstart/launcher.py", "quickstart"),
        ("sweeps/resnet.yaml", "resnet"),
        ("foo/experiment.yaml", "foo"),
        ("Foo Bar/main.py", "foo-bar"),
        ("ResNet_50.py", "resnet-50"),
        # Not the project folder's name: it is not the same for everybody.
        ("launcher.py", "launcher"),
        ("experiment.yaml", "experiment"),
    ],
)
def test_a_stack_is_called_after_its_source(tmp_path: Path, source: str, stack: str) -> None:
    assert target.default_stack(Project(root=tmp_path), tmp_path / source) == stack


def test_the_users_name_for_a_stack_is_taken_or_refused(tmp_path: Path) -> None:
    here = Project(root=tmp_path)
    assert target.stack_of(here, tmp_path / "a.py", "dev-2") == "dev-2"
    with pytest.raises(InputError, match="cannot be the name of a stack"):
        target.stack_of(here, tmp_path / "a.py", "../Dev")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("dev-2", ""),
        ("a" * 40, ""),
        ("a" * 41, f"it has 41 characters, and at most 40 will do, such as {'a' * 20!r}"),
        # In whole words, the first and the last ones.
        (
            "a-very-long-name-that-goes-beyond-what-is-allowed",
            "it has 49 characters, and at most 40 will do, such as 'a-name-that-goes-beyond-what-is-allowed'",
        ),
        ("backend", "it stands for something else, so 'backend-experiment' will do"),
        ("Dev 2", "at most 40 lower-case letters, digits and hyphens, such as 'dev-2'"),
        ("-dev", "at most 40 lower-case letters, digits and hyphens, such as 'dev'"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(name: str, hint: str) -> None:
    assert rules.not_a_stack_name(name) == hint
