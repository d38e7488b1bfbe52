"""A Caliban project in the container that its stack builds."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from tests.docker.conftest import remove_built
from tests.docker.images import BASE
from tests.engine.harness import environment
from xmgen.stack import init

pytestmark = [pytest.mark.docker, pytest.mark.engine]

PYTHON = "xmgen-test-python:latest"
"""The base image with the `python` that Caliban's images have."""

SHOW = """\
import json, os, pathlib, sys

found = sorted(str(path.relative_to(".")) for path in pathlib.Path(".").rglob("*") if path.suffix not in ("", ".pyc"))
credentials = pathlib.Path("~/.config/gcloud/adc").expanduser()
print(json.dumps({
    "argv": sys.argv[1:],
    "user": [os.getuid(), os.getgid()],
    "home": os.environ["HOME"],
    "pid": os.getpid(),
    "files": found,
    "key": os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"),
    "adc": credentials.read_text() if credentials.exists() else None,
}), flush=True)
sys.exit(int(sys.argv[1]) if sys.argv[1].isdigit() else 0)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    client = docker.from_env()
    build = client.api.build(
        fileobj=io.BytesIO(f"FROM {BASE}\nRUN ln -s python3 /usr/bin/python\n".encode()),
        tag=PYTHON,
        rm=True,
        decode=True,
    )
    assert not [event for event in build if "error" in event]
    init.init(tmp_path / "project")
    folder = tmp_path / "project" / "show"
    (folder / "trainer").mkdir(parents=True)
    (folder / "trainer" / "train.py").write_text(SHOW)
    (folder / "all.sh").write_text('python trainer/train.py from-shell "$@"\n')
    (folder / "sweep.json").write_text('{"text": ["a b", "$HOME"]}')
    (folder / "key.json").write_text("PRIVATE")
    (folder / ".calibanconfig.json").write_text(json.dumps({"base_image": PYTHON}))
    yield folder
    remove_built(client)
    client.close()


def xmgen(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = folder.parents[1] / "home"
    adc = home / ".config" / "gcloud" / "adc"
    adc.parent.mkdir(parents=True, exist_ok=True)
    adc.write_text("mine")
    (home / "state").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", "from xmgen.cli import main; main()", *arguments],
        cwd=folder,
        env={**environment(home), "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def outputs(folder: Path, stack: str) -> list[dict[str, object]]:
    logs = sorted((folder.parent / ".xmgen" / stack / "runs").glob("*/*.log"))
    return [json.loads(log.read_text().splitlines()[-1]) for log in logs]


def test_the_program_runs_as_in_a_caliban_image(folder: Path) -> None:
    compiled = xmgen(
        folder,
        "caliban",
        "run",
        "--nogpu",
        "--cloud_key",
        "key.json",
        "--experiment_config",
        "sweep.json",
        "trainer.train",
        "--",
        "-h",
        "0",
    )
    assert compiled.returncode == 0, compiled.stderr
    done = xmgen(folder, "up", "show-local", "--runner", "container", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    found = outputs(folder, "show-local")
    assert [output["argv"] for output in found] == [["-h", "0", "--text", text] for text in ("a b", "$HOME")]
    assert found[0] == {
        "argv": ["-h", "0", "--text", "a b"],
        "user": [1000, 1000],
        "home": "/home/caliban",
        # The launcher has made way for it.
        "pid": 1,
        "files": ["trainer/train.py"],
        "key": "/.creds/credentials.json",
        "adc": "mine",
    }


def test_a_shell_script_at_the_top_has_the_whole_folder_but_no_configuration(folder: Path) -> None:
    compiled = xmgen(folder, "caliban", "--stack", "shell", "run", "--nogpu", "all.sh", "--", "0")
    assert compiled.returncode == 0, compiled.stderr
    done = xmgen(folder, "up", "shell", "--runner", "container", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = outputs(folder, "shell")
    assert found["argv"] == ["from-shell", "0"]
    assert found["files"] == ["all.sh", "key.json", "sweep.json", "trainer/train.py"]


def test_the_exit_code_is_the_programs(folder: Path) -> None:
    assert xmgen(folder, "caliban", "run", "--nogpu", "trainer/train.py", "--", "7").returncode == 0
    done = xmgen(folder, "up", "show-local", "--runner", "container", "--yes")
    assert done.returncode == 1
    assert "exit code 7" in done.stdout + done.stderr
