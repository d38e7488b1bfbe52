"""Where jobs on Vertex AI write is asked once when the environment has an opinion, and never taken from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiled_stacks import compiled_stack
from tests.vertex.manifests import experiment, job
from xmgen.errors import InputError, Problem
from xmgen.executors.base import runtime
from xmgen.executors.vertex import bucket
from xmgen.experiment import Local
from xmgen.project import Project
from xmgen.stack.compiled import CompiledStack

ON_VERTEX = compiled_stack(experiment(job()))
HERE = compiled_stack(experiment(job(executor=Local())))  # type: ignore[arg-type]


def project(folder: Path, settings: str) -> Project:
    found = Project(root=folder, name="ours")
    file = found.settings("sweep")
    file.parent.mkdir()
    file.write_text(settings, encoding="utf-8")
    return found


def test_a_bucket_of_the_environment_is_neither_taken_nor_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bucket.VARIABLE, "mine")
    with pytest.raises(InputError) as caught:
        bucket.refuse_undecided(project(tmp_path, "config: {ours:owner: ada}"), ON_VERTEX.name, ["owner=ada"])
    assert caught.value.problems == (
        Problem(
            "$GOOGLE_CLOUD_BUCKET_NAME is 'mine', but the configuration of sweep does not say where its jobs write",
            hint="once: `--set bucket=mine` for that bucket, `--set bucket=` for one of the stack's own",
        ),
    )


@pytest.mark.parametrize(
    ("variable", "settings", "given", "plan"),
    [
        ("mine", "config: {ours:bucket: theirs}", [], ON_VERTEX),
        ("mine", "config: {ours:bucket: ''}", [], ON_VERTEX),
        ("mine", "environment: [team]", [], ON_VERTEX),
        ("mine", "", ["bucket=theirs"], ON_VERTEX),
        ("mine", "", ["ours:bucket="], ON_VERTEX),
        ("", "", [], ON_VERTEX),
        ("mine", "", [], HERE),
    ],
    ids=[
        "configured",
        "configured to be none",
        "an environment of Pulumi's",
        "given",
        "given in full",
        "no variable",
        "not on Vertex AI",
    ],
)
def test_what_is_decided_is_not_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    settings: str,
    given: list[str],
    plan: CompiledStack,
) -> None:
    monkeypatch.setenv(bucket.VARIABLE, variable)
    runtime(plan).refuse_undecided(project(tmp_path, settings), plan, given)


@pytest.mark.parametrize("default", ["theirs", "{default: theirs}", "{value: ''}"])
def test_a_bucket_of_the_whole_project_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default: str
) -> None:
    monkeypatch.setenv(bucket.VARIABLE, "mine")
    (tmp_path / "Pulumi.yaml").write_text(f"config: {{ours:bucket: {default}}}", encoding="utf-8")
    bucket.refuse_undecided(project(tmp_path, ""), ON_VERTEX.name, [])
