"""The example of a Caliban project, trained for real on this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.harness import ROOT, environment
from xmgen.stack import init

pytestmark = pytest.mark.engine


def xmgen(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = folder.parents[1] / "home"
    (home / "state").mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", "from xmgen.cli import main; main()", *arguments],
        cwd=folder,
        env={**environment(home), "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_sweep_trains_and_a_second_up_runs_nothing(tmp_path: Path) -> None:
    init.init(tmp_path / "project")
    folder = tmp_path / "project" / "caliban-mnist"
    shutil.copytree(ROOT / "examples" / "caliban-mnist", folder)
    recorded = json.loads((ROOT / "stacks" / "caliban-mnist-local" / "experiment.lock.json").read_text())

    compiled = xmgen(folder, "caliban", *recorded["flags"])
    assert compiled.returncode == 0, compiled.stderr
    done = xmgen(folder, "up", "caliban-mnist-local", "--runner", "process", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr

    found = json.loads(xmgen(folder, "status", "caliban-mnist-local", "--json").stdout)
    assert [unit["status"] for unit in found["units"]] == ["finished"] * 8
    assert all(unit["metrics"]["accuracy"] > 0.8 for unit in found["units"])
    assert found["units"][0]["arguments"] == {
        "batch_size": "128",
        "epochs": "5",
        "learning_rate": "0.1",
        "nesterov": "true",
    }
    again = xmgen(folder, "up", "caliban-mnist-local", "--runner", "process", "--yes", "--json")
    assert json.loads(again.stdout.splitlines()[-1])["changes"] == {"same": 10}
