"""A wheel, installed into an empty environment outside the repository, does the whole job in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.engine.harness import ROOT

pytestmark = pytest.mark.engine


def test_init_compile_up_and_destroy_from_a_wheel(tmp_path: Path) -> None:
    wheels, environment, project = tmp_path / "wheels", tmp_path / "venv", tmp_path / "project"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, ROOT], check=True)
    venv.create(environment, with_pip=True)
    [wheel] = wheels.glob("xmgen-*.whl")
    subprocess.run([environment / "bin" / "python", "-m", "pip", "--quiet", "install", wheel], check=True)
    project.mkdir()
    # Nothing of this repository but the Pulumi CLI, as a user would have it on PATH.
    clean = {
        "HOME": str(tmp_path / "home"),
        "LANG": "C.UTF-8",
        "PATH": os.pathsep.join([str(ROOT / ".tools" / "bin"), os.environ["PATH"]]),
        "PULUMI_HOME": str(tmp_path / "pulumi"),
    }

    def xmgen(*arguments: str) -> str:
        done = subprocess.run(
            [environment / "bin" / "xmgen", *arguments], cwd=project, env=clean, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    xmgen("init")
    [source] = project.glob("*/experiment.yaml")
    name = source.parent.name
    xmgen("compile", str(source.relative_to(project)))
    assert "finished" in xmgen("up", name, "--runner", "process", "--yes")
    assert xmgen("check").strip().endswith("up to date")
    xmgen("destroy", name, "--yes")
    assert "finished" not in xmgen("status", name)
