"""What of Kubernetes a launch script and an experiment.yaml can say: the same, with the same result."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from xmgen import compiler
from xmgen.errors import InputError
from xmgen.experiment import Experiment, Kubernetes, PythonContainer, Reference, Volume
from xmgen.plan import planner
from xmgen.program import render as program

SCRIPT = """
from absl import app
from xmanager import xm, xm_local


def main(_):
    with xm_local.create_experiment(experiment_title="Options") as experiment:
        [executable] = experiment.package(
            [xm.python_container(xm_local.Kubernetes.Spec(), path="code", entrypoint=xm.ModuleName("train"))]
        )
        executor = xm_local.Kubernetes(
            xm.JobRequirements(a100=1, ram=16 * xm.GiB),
            reservation="ours",
            priority=10,
            retries=3,
            shared_memory=8 * xm.GiB,
            volumes=[
                xm_local.Volume(path="/data", bucket="images/train", read_only=True),
                xm_local.Volume(path="/cache", claim="cache", size=100 * xm.GiB, storage_class="fast", shared=True),
            ],
        )
        env = {"KEY": xm_local.secret("wandbKey"), "URL": "https://x"}
        experiment.add(xm.Job(executable, executor, name="train", env_vars=env))


if __name__ == "__main__":
    app.run(main)
"""
FILE = """
title: Options
executables:
  code: {kind: python_container, path: code, entrypoint: {module_name: train}}
work_units:
  train:
    job:
      executable: code
      executor:
        kind: kubernetes
        requirements: {a100: 1, ram: 16GiB}
        reservation: ours
        priority: 10
        retries: 3
        shared_memory: 8GiB
        volumes:
        - {path: /data, bucket: images/train, read_only: true}
        - {path: /cache, claim: cache, size: 100GiB, storage_class: fast, shared: true}
      env_vars: {KEY: {secret: wandbKey}, URL: https://x}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("")
    (tmp_path / "code" / "data").mkdir()
    (tmp_path / "code" / "data" / "large.bin").write_text("")
    (tmp_path / "code" / ".dockerignore").write_text("# what a build needs not\n\n/data\n!data/keep\n*.md\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "file.yaml").write_text(FILE)
    return tmp_path


def load(project: Path, name: str) -> Experiment:
    return compiler.load(project / name, root=project, stack="options")


def test_everything_an_executor_can_say(project: Path) -> None:
    script = load(project, "script.py")
    executor = script.units[0].jobs[0].executor
    assert isinstance(executor, Kubernetes)
    assert replace(executor, requirements=Kubernetes().requirements) == Kubernetes(
        reservation="ours",
        priority=10,
        retries=3,
        shared_memory=8 * 2**30,
        volumes=(
            Volume(path="/data", bucket="images/train", read_only=True),
            Volume(path="/cache", claim="cache", size=100 * 2**30, storage_class="fast", shared=True),
        ),
    )
    assert script.references == (Reference(kind="secret", name="wandbKey"),)
    assert script.units[0].jobs[0].env == {"KEY": "<xmgen:secret:wandbKey>", "URL": "https://x"}


def test_the_file_says_the_same(project: Path) -> None:
    script, file = load(project, "script.py"), load(project, "file.yaml")
    assert replace(script, source="") == replace(file, source="")


@pytest.mark.parametrize("name", ["script.py", "file.yaml"])
def test_dockerignore_is_honoured(project: Path, name: str) -> None:
    experiment = load(project, name)
    [code] = experiment.executables
    assert isinstance(code, PythonContainer)
    assert code.ignore == ("/data", "!data/keep", "*.md")
    ignored = program.render(planner.plan(experiment))["images/code/Dockerfile.dockerignore"].splitlines()
    assert ignored[1:4] == ["data", "!data/keep", "*.md"]
    assert {"**/__pycache__", "**/.git", "**/*.pyc", ".dockerignore"} <= set(ignored)
    # What is left out is no code either.
    (project / "code" / "data" / "large.bin").write_text("changed")
    assert load(project, name).executables == experiment.executables


@pytest.mark.parametrize("name", ["script.py", "file.yaml"])
def test_a_folder_that_is_a_file_is_refused_in_words(project: Path, name: str) -> None:
    (project / "code" / ".dockerignore").unlink()
    for path in [*(project / "code").rglob("*")][::-1]:
        path.rmdir() if path.is_dir() else path.unlink()
    (project / "code").rmdir()
    (project / "code").write_text("")
    with pytest.raises(InputError, match="is a file, not a folder"):
        load(project, name)


def test_the_files_are_the_same_whatever_the_hash_seed(project: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from xmgen import compiler;"
        f"_, files = compiler.compile_source(Path('script.py'), root=Path({str(project)!r}), stack='options');"
        "print(sorted(files.items()))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=project,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(printed) == 1
