"""Plugins whose engine is gone are ended, and no other process."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from xmgen.pulumi_cli import orphans
from xmgen.rehearsal.servers import free_port

SLEEP = "import sys, time; print('ready', flush=True); time.sleep(600)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN); "


class Processes:
    def __init__(self) -> None:
        self.exit = ExitStack()

    def start(self, folder: Path, *arguments: str, code: str = SLEEP) -> subprocess.Popen[str]:
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-c", code, *arguments]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        self.exit.callback(process.wait)
        self.exit.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process


@pytest.fixture
def processes() -> Iterator[Processes]:
    started = Processes()
    with started.exit:
        yield started


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "GRACE_SECONDS", 0.0)


@pytest.mark.parametrize(
    "name", ["/plugins/resource-gcp-v10.2.0/pulumi-resource-gcp", "pulumi-language-python", "xmgen.provider"]
)
def test_a_plugin_without_an_engine_is_ended(processes: Processes, tmp_path: Path, name: str) -> None:
    plugin = processes.start(tmp_path / "stacks", name, f"127.0.0.1:{free_port()}", code=DEAF + SLEEP)
    assert orphans.end(tmp_path) == 1
    assert plugin.wait() != 0
    assert orphans.end(tmp_path) == 0


def test_others_are_left_alone(processes: Processes, tmp_path: Path) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    with socket.socket() as engine:
        engine.bind(("127.0.0.1", 0))
        engine.listen()
        left = [
            # Its engine is there.
            processes.start(tmp_path / "stacks", "pulumi-resource-gcp", f"127.0.0.1:{engine.getsockname()[1]}"),
            # Of another project.
            processes.start(tmp_path.parent / "another", "pulumi-resource-gcp", nobody),
            # No plugin.
            processes.start(tmp_path / "stacks", "train.py", nobody),
            processes.start(tmp_path / "stacks", "pulumi-resource-gcp"),
        ]
        assert orphans.end(tmp_path) == 0
        assert [process.poll() for process in left] == [None] * len(left)
