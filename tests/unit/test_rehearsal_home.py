"""Which Kubernetes provider a rehearsal takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from xmgen.errors import OperationError
from xmgen.project import TOOLS, Project
from xmgen.rehearsal import home

NAME = "pulumi-resource-kubernetes"
SDK = "4.34.2"


def provider(file: Path) -> Path:
    file.parent.mkdir(parents=True)
    file.touch()
    return file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a project, and what Pulumi installs; the SDKs are there."""
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    monkeypatch.setattr(home.cli, "CHECKOUT", tmp_path / "checkout")
    monkeypatch.setattr(home.metadata, "version", lambda name: SDK)
    return tmp_path


def taken(folder: Path) -> Path:
    made = home.make(folder / "rehearsal", Project(root=folder / "project", name="experiments"), "token")
    return (made.pulumi / "plugins" / f"resource-kubernetes-v{SDK}" / NAME).resolve()


@pytest.mark.parametrize(
    ("installed", "built", "expected"),
    [
        (["4.9.0", SDK, "4.40.0"], True, f"pulumi/plugins/resource-kubernetes-v{SDK}"),
        (["4.9.0", "4.40.0"], True, f"project/{TOOLS}/plugins"),
        (["4.9.0", "4.24.1"], False, "pulumi/plugins/resource-kubernetes-v4.24.1"),
    ],
    ids=["the SDK's version", "one that tools/ built", "the newest"],
)
def test_the_provider_that_is_taken(installed: list[str], built: bool, expected: str, folder: Path) -> None:
    for version in installed:
        provider(folder / "pulumi" / "plugins" / f"resource-kubernetes-v{version}" / NAME)
    if built:
        provider(folder / "project" / TOOLS / "plugins" / NAME)
    (folder / "rehearsal").mkdir()
    assert taken(folder) == folder / expected / NAME


def test_without_any_the_command_that_gets_it_is_said(folder: Path) -> None:
    with pytest.raises(OperationError) as error:
        taken(folder)
    (problem,) = error.value.problems
    assert problem.message == "Pulumi's Kubernetes provider is missing"
    assert problem.hint == (
        f"`pulumi plugin install resource kubernetes v{SDK}` gets it. `make .tools/plugins/{NAME}` in xmgen's checkout "
        f"builds one, which the same command installs with `--file CHECKOUT/.tools/plugins/{NAME}`"
    )
