"""SDKs that a stack imports are there before anything of it is kept, as far as xmgen can know."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from xmgen.cli import cli
from xmgen.commands import packages
from xmgen.errors import OperationError, Problem
from xmgen.project import Project
from xmgen.stack import init


def declaring(*types: str) -> str:
    resources = "".join(f"  r{number}: {{type: '{type_}', name: r}}\n" for number, type_ in enumerate(types))
    return f"format: 1\nruns: gke\nresources:\n{resources}workloads: {{type: '{types[0]}', manifests: m.yaml}}\n"


RESOURCES = declaring("no-where:storage:Bucket", "elsewhere:deep:Thing", "xmgen:index:Code")
HINT = f"pip install '/path/to/xmgen[gcp]', of xmgen's checkout, into the environment {sys.prefix}"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    init.init(tmp_path)
    here = Project(root=tmp_path)
    here.stack("llm").mkdir(parents=True)
    return here


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RESOURCES, "needs pulumi_elsewhere, pulumi_no_where, which are not installed"),
        (declaring("pulumi:providers:nowhere"), "needs pulumi_nowhere, which is not installed"),
    ],
)
def test_all_that_are_missing_are_named(project: Project, text: str, message: str) -> None:
    (project.stack("llm") / "resources.yaml").write_text(text)
    with pytest.raises(OperationError) as refused:
        packages.refuse_missing(project, "llm")
    assert refused.value.problems == (Problem(message, where="llm", hint=HINT),)


def test_nothing_is_missing_of_a_program_that_imports_what_is_there(project: Project) -> None:
    (project.stack("llm") / "resources.yaml").write_text(declaring("xmgen:local:Run"))
    packages.refuse_missing(project, "llm")


@pytest.mark.parametrize("other", ["toolchain: uv", "toolchain: pip\n    virtualenv: venv"])
def test_of_another_environment_only_pulumi_can_tell(project: Project, other: str) -> None:
    (project.stack("llm") / "resources.yaml").write_text(RESOURCES)
    file = project.root / "Pulumi.yaml"
    file.write_text(file.read_text().replace("toolchain: pip", other))
    packages.refuse_missing(project, "llm")


@pytest.mark.parametrize("command", ["up", "preview"])
def test_no_stack_is_made_that_could_not_run(project: Project, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    source = project.root / "llm" / "experiment.yaml"
    source.parent.mkdir()
    text = (ROOT / "templates" / "init" / "first" / "experiment.yaml").read_text()
    source.write_text(text.replace("kind: local", "kind: kubernetes"))
    (source.parent / "train.py").write_text("")
    done = CliRunner().invoke(cli, [command, "llm/experiment.yaml", "--set", "gcp:project=p"], catch_exceptions=False)
    assert (done.exit_code, "which are not installed" in done.stderr) == (1, True), done.output
    assert not project.local_backend.exists()
