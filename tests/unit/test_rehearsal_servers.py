"""Servers of the rehearsal: none outlives its starter, and a folder belongs to one set of them at a time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from xmgen.errors import OperationError, Problem
from xmgen.rehearsal import servers, sweeper
from xmgen.rehearsal.controlplane import Binaries
from xmgen.rehearsal.servers import LOOPBACK, FolderLock, Server, free_port, passing_folder, wait_for_port

PYTHON = [sys.executable, "-I", "-S", "-u", "-c"]
ENDLESS = [*PYTHON, "import os, time; print(os.getpid()); time.sleep(1000)"]
DEAF = [*PYTHON, "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid()); time.sleep(1000)"]


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pid_in(log: Path) -> int:
    """What a server prints first."""
    until(lambda: log.exists() and log.read_text().endswith("\n"))
    return int(log.read_text())


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[FolderLock]:
    lock = FolderLock(tmp_path, 0)
    yield lock
    lock.release()


@pytest.mark.parametrize("command", [pytest.param(ENDLESS, id="obedient"), pytest.param(DEAF, id="deaf to SIGTERM")])
def test_a_server_runs_until_it_is_stopped(
    command: list[str], tmp_path: Path, lock: FolderLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "GRACE_SECONDS", 0.1)
    server = Server.start("demo", command, tmp_path, hold=lock.descriptor)
    pid = pid_in(tmp_path / "demo.log")
    assert (server.running, alive(pid)) == (True, True)
    server.request_stop()
    server.wait()
    assert (server.running, alive(pid)) == (False, False)


STARTER = """
import sys, time
from pathlib import Path
from xmgen.rehearsal.servers import FolderLock, Server
folder = Path(sys.argv[1])
lock = FolderLock(folder, 0)
Server.start("demo", sys.argv[2:], folder, hold=lock.descriptor)
time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_server_ends_with_its_starter_and_the_folder_is_free_again(number: signal.Signals, tmp_path: Path) -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER, tmp_path, *ENDLESS])
    pid = pid_in(tmp_path / "demo.log")
    with pytest.raises(OperationError, match="still running in this folder"):
        FolderLock(tmp_path, 0)
    starter.send_signal(number)
    starter.wait()
    # Free when all have ended, not when the starter has.
    FolderLock(tmp_path, 60).release()
    until(lambda: not alive(pid))


PASSING = """
import sys, time
from xmgen.rehearsal import servers
from xmgen.rehearsal.servers import FolderLock, Server, passing_folder
servers.GRACE_SECONDS = 0.5
with passing_folder("servers") as folder:
    (folder / "servers").mkdir()
    lock = FolderLock(folder / "servers", 0)
    Server.start("demo", sys.argv[1:], folder / "servers", hold=lock.descriptor)
    print(folder, flush=True)
    time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_passing_folder_goes_with_its_starter_once_its_servers_have_ended(
    number: signal.Signals, tmp_path: Path
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", PASSING, *DEAF]
    starter = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert starter.stdout is not None
    folder = Path(starter.stdout.readline().strip())
    pid = pid_in(folder / "servers" / "demo.log")
    assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
    starter.send_signal(number)
    starter.wait()
    until(lambda: not folder.exists())
    assert (alive(pid), list(tmp_path.iterdir())) == (False, [])


def test_a_passing_folder_goes_also_where_nothing_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with passing_folder("servers") as folder:
        assert list(tmp_path.iterdir()) == [folder]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel does it on Linux only")
def test_a_server_ends_with_its_keeper(tmp_path: Path, lock: FolderLock) -> None:
    server = Server.start("demo", ENDLESS, tmp_path, hold=lock.descriptor)
    pid = pid_in(tmp_path / "demo.log")
    os.kill(int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
    until(lambda: not alive(pid))
    server.request_stop()
    server.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="processes of others can be seen on Linux only")
@pytest.mark.parametrize("command", [pytest.param(ENDLESS, id="obedient"), pytest.param(DEAF, id="deaf to SIGTERM")])
def test_what_has_a_variable_is_swept_away(
    command: list[str], tmp_path: Path, lock: FolderLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "GRACE_SECONDS", 60.0)
    mine = subprocess.Popen(command, env={**os.environ, "DEMO": str(tmp_path)}, stdout=subprocess.DEVNULL)
    other = subprocess.Popen(command, env={**os.environ, "DEMO": f"{tmp_path}-2"}, stdout=subprocess.DEVNULL)
    sweeping = [sys.executable, "-I", "-S", sweeper.__file__, f"DEMO={tmp_path}"]
    server = Server.start("sweeper", sweeping, tmp_path, hold=lock.descriptor)
    until(lambda: server.log.read_text() == "watching\n")
    server.request_stop()
    server.wait()
    assert (mine.wait(60) < 0, other.poll()) == (True, None)
    other.kill()
    other.wait()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param([*PYTHON, "print('no luck'); raise SystemExit(3)"], ("3", "no luck"), id="ends"),
        pytest.param([*PYTHON, "import os; os.kill(os.getpid(), 9)"], ("137", ""), id="is killed"),
        pytest.param(["/no/such/program"], ("127", "/no/such/program: No such file or directory"), id="is missing"),
    ],
)
def test_a_server_that_ends_before_it_is_ready_is_reported_with_its_last_words(
    command: list[str], said: tuple[str, str], tmp_path: Path, lock: FolderLock
) -> None:
    server = Server.start("demo", command, tmp_path, hold=lock.descriptor)
    with pytest.raises(OperationError) as caught:
        server.wait_until(lambda: False, 60)
    (problem,) = caught.value.problems
    assert (problem.message, problem.where, problem.hint) == (
        f"demo ended with exit code {said[0]}",
        str(tmp_path / "demo.log"),
        said[1],
    )


def test_a_server_that_waits_for_one_that_ended_is_not_blamed(tmp_path: Path, lock: FolderLock) -> None:
    needed = Server.start("store", [*PYTHON, "raise SystemExit('the disk is full')"], tmp_path, hold=lock.descriptor)
    server = Server.start("demo", ENDLESS, tmp_path, hold=lock.descriptor)
    with pytest.raises(OperationError) as error:
        server.wait_until(lambda: False, 60, [needed])
    server.request_stop()
    server.wait()
    assert error.value.problems == (
        Problem("store ended with exit code 1", where=str(tmp_path / "store.log"), hint="the disk is full"),
    )


def test_a_server_that_is_not_ready_in_time_is_reported(tmp_path: Path, lock: FolderLock) -> None:
    server = Server.start("demo", ENDLESS, tmp_path, hold=lock.descriptor)
    with pytest.raises(OperationError, match="demo is not ready after 0 s"):
        server.wait_until(lambda: False, 0)
    server.request_stop()
    server.wait()


def test_a_port_is_waited_for_until_nobody_uses_it() -> None:
    port = free_port()
    with socket.socket() as other:
        other.bind((LOOPBACK, port))
        other.listen()
        with pytest.raises(OperationError, match=f"{LOOPBACK}:{port}: another program uses this address"):
            wait_for_port(port, 0)
    wait_for_port(port, 60)


def test_all_missing_programs_are_named_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OperationError) as caught:
        Binaries.find(tmp_path)
    assert caught.value.problems == (
        Problem("etcd is missing", hint="`make .tools/bin/etcd` in xmgen's checkout builds it"),
        Problem("kube-apiserver is missing", hint="`make .tools/bin/kube-apiserver` in xmgen's checkout builds it"),
    )


def test_programs_are_taken_from_the_folder_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, names in ((tmp_path / "bin", ["etcd"]), (tmp_path / "path", ["etcd", "kube-apiserver"])):
        folder.mkdir()
        for name in names:
            (folder / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert Binaries.find(tmp_path / "bin") == Binaries(
        etcd=tmp_path / "bin" / "etcd", kube_apiserver=tmp_path / "path" / "kube-apiserver"
    )
