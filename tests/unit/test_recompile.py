"""The command that compiles a stack again is the one that compiled it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests import builders
from xmgen.stack import recompile


@pytest.mark.parametrize(
    ("source", "stack", "flags", "command"),
    [
        ("sweeps/resnet.py", "resnet", (), "xmgen compile sweeps/resnet.py"),
        ("sweeps/resnet.py", "second", (), "xmgen compile sweeps/resnet.py --stack second"),
        ("mnist/launcher.py", "mnist", ("--lr=1 2",), "xmgen compile mnist/launcher.py -- '--lr=1 2'"),
        ("a b/main.py", "x", ("-v",), "xmgen compile 'a b/main.py' --stack x -- -v"),
        # The project's own folder names nothing.
        ("experiment.yaml", "experiment", (), "xmgen compile experiment.yaml"),
        ("clusters/team.cluster.yaml", "team", (), "xmgen compile clusters/team.cluster.yaml"),
        ("cal", "cal-local", ("run", "--nogpu", "t.py"), "cd cal && xmgen caliban --stack cal-local run --nogpu t.py"),
        ("cal", "other", ("run", "t.py"), "cd cal && xmgen caliban --stack other run t.py"),
        ("cal", "team", ("cluster", "create", "--cluster_name", "team", "--zone", "us-central1-a"), None),
        ("cal", "cal-local", ("fly",), "cd cal && xmgen caliban --stack cal-local fly"),
    ],
)
def test_a_stack_is_compiled_again_by_the_command_that_made_it(
    tmp_path: Path, source: str, stack: str, flags: tuple[str, ...], command: str | None
) -> None:
    experiment = replace(builders.experiment(builders.job(), stack=stack), source=source, flags=flags)
    expected = command or f"cd cal && xmgen caliban --stack {stack} {' '.join(flags)}"
    if source.endswith((".py", ".yaml")):
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / source).touch()
    assert recompile.of_experiment(tmp_path, experiment) == expected


def test_a_source_that_has_another_name_now_is_left_to_its_user(tmp_path: Path) -> None:
    experiment = replace(builders.experiment(builders.job(), stack="sweep"), source="sweep/main.py", flags=("-v",))
    assert recompile.of_experiment(tmp_path, experiment) == "xmgen compile NEW --stack sweep -- -v"


def test_in_a_project_that_is_a_caliban_project_nobody_changes_the_folder(tmp_path: Path) -> None:
    root = tmp_path / "cal"
    experiment = replace(builders.experiment(builders.job(), stack="cal-vertex"), source=".", flags=("cloud", "t.py"))
    assert recompile.of_experiment(root, experiment) == "xmgen caliban --stack cal-vertex cloud t.py"


def test_without_a_lock_file_the_stack_is_named(tmp_path: Path) -> None:
    assert recompile.of_stack(tmp_path, "dev") == "xmgen compile SOURCE --stack dev"
