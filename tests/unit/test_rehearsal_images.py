"""What a rehearsal that builds images refuses, and what of a build context it sends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from xmgen.errors import InputError, OperationError
from xmgen.provider import daemon
from xmgen.rehearsal import images


@pytest.mark.parametrize(
    "registry",
    [
        "",
        "europe-west4-docker.pkg.dev:443",
        "gcr.io",
        "10.0.0.1:5000",
        "0.0.0.0:5000",
        "registry.localhost.example:5000",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:5000/mine",
        "localhost:",
        ":5000",
        "localhost:0",
        "localhost:99999",
        "http://127.0.0.1:5000",
    ],
)
def test_images_are_pushed_to_no_other_machine(registry: str) -> None:
    with pytest.raises(InputError, match="a rehearsal pushes nowhere else"):
        images.prepare(registry)


@pytest.mark.parametrize("registry", ["127.0.0.1:5000", "127.1.2.3:80", "localhost:5000"])
def test_without_a_daemon_nothing_is_begun(registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    daemon.unreachable.cache_clear()
    daemon.client.cache_clear()
    with pytest.raises(OperationError, match="no Docker daemon answers"):
        images.prepare(registry)
    daemon.unreachable.cache_clear()


@pytest.mark.parametrize(
    ("registry", "code", "said"),
    [
        ("gcr.io:443", 2, "'gcr.io:443' is no registry on this machine: a rehearsal pushes nowhere else"),
        # As of a shell's variable that is not set.
        ("", 2, "'' is no registry on this machine"),
        ("127.0.0.1:9", 1, "no Docker daemon answers"),
    ],
)
def test_the_command_line(registry: str, code: int, said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from xmgen.cli import main; main()", "rehearse", "gke-train", "--registry", registry],
        cwd=ROOT,
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("europe-west4-docker.pkg.dev/acme/stack/train:1a", "acme/stack/train:1a"),
        ("gcr.io/acme/train:latest", "acme/train:latest"),
        ("registry:5000/train:1", "train:1"),
        ("localhost/train:1", "train:1"),
        ("ada/train:1", "ada/train:1"),
    ],
)
def test_only_the_registry_of_a_name_is_another(tag: str, expected: str) -> None:
    assert images.pushed(tag, "127.0.0.1:5000") == f"127.0.0.1:5000/{expected}"


@pytest.mark.parametrize(
    ("ignore", "beside", "expected"),
    [
        (None, None, ["Dockerfile", "code", "code/a.py", "code/secret", "empty"]),
        ("# a comment\n**/secret\n", None, ["Dockerfile", "code", "code/a.py", "empty"]),
        ("*\n!code/a.py\n", None, ["code/a.py"]),
        # As BuildKit has it: one of the two.
        ("**/secret", "Dockerfile\nempty", ["code", "code/a.py", "code/secret"]),
    ],
)
def test_what_of_the_context_is_sent(
    ignore: str | None, beside: str | None, expected: list[str], tmp_path: Path
) -> None:
    """ignore: the context's own `.dockerignore`. beside: the one beside the Dockerfile."""
    (tmp_path / "code").mkdir()
    (tmp_path / "empty").mkdir()
    for name in ("Dockerfile", "code/a.py", "code/secret"):
        (tmp_path / name).write_text("")
    dockerfile = tmp_path / "Dockerfile"
    files = {tmp_path / ".dockerignore": ignore, tmp_path / "Dockerfile.dockerignore": beside}
    for file, text in files.items():
        if text is not None:
            file.write_text(text)
    found = [name for name, path in images.sent(tmp_path, dockerfile) if path == tmp_path / name]
    assert [name for name in found if not name.endswith(".dockerignore")] == expected
