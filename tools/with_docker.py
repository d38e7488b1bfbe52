"""Run a command with a Docker daemon of its own, which ends with it.

    .venv/bin/python tools/with_docker.py COMMAND...

As root, `dockerd` runs in namespaces made for it: its bridges, firewall rules, mounts and processes are invisible to
the rest of the machine, a daemon already there is not disturbed, and the kernel removes them all when the command has
ended, however it ended. The command runs inside too, so that ports published by containers answer on its 127.0.0.1; it
has no other network. Its environment gets DOCKER_HOST. The base image of the tests, `xmgen-test-base:latest`, comes
from `.tools/docker/base.tar`, which is made first if need be (docker_base.sh). Beside the daemon, an empty image
registry (docker_registry.sh) listens on 127.0.0.1; XMGEN_TEST_REGISTRY says where.

As another user the command gets the daemon that the machine has, or none, and no registry: the tests then skip
themselves.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import docker
from docker.errors import DockerException, ImageNotFound

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".tools" / "docker"
BASE_IMAGE = "xmgen-test-base"
BASE_OF_BASE = "python:3.12-slim"
"""What stands in for it with a daemon that is not ours: debootstrap needs root."""

REGISTRY = "127.0.0.1:5000"
"""Free in a network of our own, and below the ports that are given to whoever asks for any."""

NAMESPACES = ("unshare", "--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child")

SECONDS_TO_START = 60
SECONDS_TO_STOP = 30


def main(command: list[str]) -> NoReturn:
    if command[:1] == ["--inside"]:
        sys.exit(inside(command[1:]))
    if private_daemon_possible():
        # Here, as there is no network inside.
        needed = (".tools/docker/base.tar", ".tools/docker/docker-registry")
        make = ["make", "--silent", "--no-print-directory", "-C", str(ROOT), *needed]
        if subprocess.run(make, env={**os.environ, "MAKEFLAGS": ""}).returncode != 0:
            sys.exit(1)
        command = [*NAMESPACES, sys.executable, __file__, "--inside", *command]
    else:
        prepare_machines_daemon()
    os.execvp(command[0], command)


def private_daemon_possible() -> bool:
    """Whether this is root on Linux, and not root of a container that may not make namespaces."""
    if os.geteuid() != 0 or shutil.which(NAMESPACES[0]) is None:
        return False
    return subprocess.run([*NAMESPACES, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def prepare_machines_daemon() -> None:
    """Add the base image, when there is a daemon."""
    with contextlib.suppress(DockerException):
        client: Any = docker.from_env()  # the SDK has no types
        try:
            client.images.get(BASE_IMAGE)
        except ImageNotFound:
            client.images.pull(BASE_OF_BASE).tag(BASE_IMAGE)


def inside(command: list[str]) -> int:
    """As process 1 of the new namespaces."""
    signal.signal(signal.SIGTERM, _stop)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # The path of a socket may have about a hundred characters: the project's folder may be too deep.
    with data_folder() as data, tempfile.TemporaryDirectory(prefix="xmgen-docker-") as run:
        host = f"unix://{run}/docker.sock"
        options = ["--data-root", f"{data}/docker", "--exec-root", f"{run}/exec", "--pidfile", f"{run}/dockerd.pid"]
        with (FOLDER / "dockerd.log").open("wb") as log:
            # A session of its own: Ctrl-C is for the command, and the daemon is stopped when that has ended.
            daemon = subprocess.Popen(
                ["dockerd", *options, "--host", host, "--shutdown-timeout", "1"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        registry = start_registry(data / "registry")
        try:
            load_base_image(host, daemon)
            return wait_for(subprocess.Popen(command, env=command_environment(host)))
        finally:
            stop(daemon)
            stop(registry)


def start_registry(folder: Path) -> subprocess.Popen[bytes]:
    """With its images in the folder. Nobody waits for it: it is up long before the first image is built."""
    folder.mkdir()
    config = folder / "config.json"
    storage = {"filesystem": {"rootdirectory": str(folder)}}
    # JSON is YAML.
    config.write_text(json.dumps({"version": "0.1", "storage": storage, "http": {"addr": REGISTRY}}))
    with (FOLDER / "registry.log").open("wb") as log:
        return subprocess.Popen(
            [FOLDER / "docker-registry", "serve", config],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


@contextlib.contextmanager
def data_folder() -> Generator[Path]:
    """A new folder for the daemon's data, on the disk of the project. Those of runs that were killed are removed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with locked(FOLDER):
        for old in FOLDER.glob("data-*"):
            with contextlib.suppress(BlockingIOError), locked(old, fcntl.LOCK_NB):
                shutil.rmtree(old, ignore_errors=True)
        data = Path(tempfile.mkdtemp(prefix="data-", dir=FOLDER))
        lock = contextlib.ExitStack()
        lock.enter_context(locked(data))
    with lock:
        try:
            yield data
        finally:
            shutil.rmtree(data, ignore_errors=True)


@contextlib.contextmanager
def locked(folder: Path, options: int = 0) -> Generator[None]:
    """Hold a folder's lock, which the kernel takes back from a process that dies."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | options)
        yield
    finally:
        os.close(descriptor)


def command_environment(host: str) -> dict[str, str]:
    """The user's own contexts and certificates are about another daemon."""
    others = ("DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")
    return {name: value for name, value in os.environ.items() if name not in others} | {
        "DOCKER_HOST": host,
        "XMGEN_TEST_REGISTRY": REGISTRY,
    }


def load_base_image(host: str, daemon: subprocess.Popen[bytes]) -> None:
    """Wait until the daemon answers, and import the base image."""
    deadline = time.monotonic() + SECONDS_TO_START
    while True:
        if daemon.poll() is not None or time.monotonic() > deadline:
            log = (FOLDER / "dockerd.log").read_text(encoding="utf-8", errors="replace")
            sys.exit(f"error: dockerd does not start; the end of its log:\n{log[-3000:]}")
        try:
            client: Any = docker.DockerClient(base_url=host, timeout=SECONDS_TO_START)
            client.ping()
            break
        except DockerException:
            time.sleep(0.1)
    client.api.import_image_from_file(str(FOLDER / "base.tar"), repository=BASE_IMAGE, tag="latest")
    client.close()


def wait_for(command: subprocess.Popen[bytes]) -> int:
    """Its exit code. Process 1 also has to collect the children of others that have died."""
    while True:
        try:
            pid, status = os.wait()
        except KeyboardInterrupt:
            # The command got the same Ctrl-C and ends by itself.
            continue
        if pid == command.pid:
            return exit_code(os.waitstatus_to_exitcode(status))


def exit_code(returncode: int) -> int:
    """As a shell gives it: 128 and the signal's number for a command that a signal ended."""
    return 128 - returncode if returncode < 0 else returncode


def stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        server.kill()


def _stop(signum: int, frame: FrameType | None) -> None:
    sys.exit(128 + signum)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
