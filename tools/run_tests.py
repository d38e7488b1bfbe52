"""Run every test: what is quick first, while the tools that the others need are still being built.

    .venv/bin/python tools/run_tests.py

Exit code 0 only when every step passed. In CI (environment variable CI) a skipped test is a failed one; see
tests/conftest.py.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from with_docker import private_daemon_possible

ROOT = Path(__file__).resolve().parents[1]
SETUP_LOG = ROOT / ".tools" / "setup.log"
PYTHON = sys.executable
BIN = Path(PYTHON).parent
PYTEST = [PYTHON, "-m", "pytest", "--durations=10", "--durations-min=5"]

QUICK = {
    "lint": [str(BIN / "ruff"), "check"],
    "format": [str(BIN / "ruff"), "format", "--check"],
    "types": [str(BIN / "pyright")],
    "unit tests": [*PYTEST, "-m", "not engine and not docker and not kubernetes and not rehearsal and not gcp"],
    # Slower: the SDKs of Google Cloud are large.
    "programs on Google Cloud": [*PYTEST, "-m", "gcp and not engine and not rehearsal"],
}
SLOW = {
    "engine tests": [*PYTEST, "-m", "engine and not docker"],
    "kubernetes tests": [*PYTEST, "-m", "kubernetes"],
    "docker tests": [PYTHON, str(ROOT / "tools" / "with_docker.py"), *PYTEST, "-m", "docker"],
}
REHEARSAL = [*PYTEST, "-m", "rehearsal"]


@dataclass
class Step:
    name: str
    passed: bool
    seconds: float


def main() -> int:
    started = time.monotonic()
    setup = start_setup()
    try:
        steps = [run(name, command) for name, command in QUICK.items()]
        if all(step.passed for step in steps):
            steps.append(finish(setup, started))
            if steps[-1].passed:
                rehearsal = {"rehearsal tests": REHEARSAL} if rehearsal_possible() else {}
                steps += [run(name, command) for name, command in {**SLOW, **rehearsal}.items()]
    finally:
        end(setup)
    print("\n==> Summary")
    for step in steps:
        print(f"{'passed' if step.passed else 'FAILED'}  {step.seconds:6.0f} s  {step.name}")
    return 0 if all(step.passed for step in steps) else 1


def start_setup() -> subprocess.Popen[bytes]:
    """Get Pulumi, for a daemon of our own what the Docker tests need, and an API server; in the background."""
    targets = ["pulumi"]
    if private_daemon_possible():
        targets += [".tools/docker/base.tar", ".tools/docker/docker-registry"]
    # Where there is no Go, those tests take what is on PATH.
    if shutil.which("go"):
        targets += [".tools/bin/etcd", ".tools/bin/kube-apiserver"]
    SETUP_LOG.parent.mkdir(exist_ok=True)
    # Behind the quick tests: their failures are to show early.
    command = ["nice", "-n", "10", "make", "--no-print-directory", "--silent", "--keep-going", *targets]
    with SETUP_LOG.open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "MAKEFLAGS": ""},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # A group that can be ended as a whole, compilers included.
            start_new_session=True,
        )


def rehearsal_possible() -> bool:
    """Whether the programs of a rehearsal are there, which take long to build and which nothing else needs."""
    names = ("kube-controller-manager", "kube-scheduler", "kwok")
    path = f"{ROOT / '.tools' / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    provider = ROOT / ".tools" / "plugins" / "pulumi-resource-kubernetes"
    return provider.exists() and all(shutil.which(name, path=path) for name in names)


def finish(setup: subprocess.Popen[bytes], started: float) -> Step:
    """Show what the set-up has said so far, and go on until it ends."""
    print("\n==> set-up, in the background since the start", flush=True)
    with SETUP_LOG.open(encoding="utf-8", errors="replace") as log:
        while True:
            ended = setup.poll() is not None
            print(log.read(), end="", flush=True)
            if ended:
                return Step("set-up", setup.returncode == 0, time.monotonic() - started)
            time.sleep(0.5)


def end(setup: subprocess.Popen[bytes]) -> None:
    """Stop the set-up, compilers and all, if it is still at work."""
    if setup.poll() is None:
        os.killpg(setup.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            setup.wait(10)
        # Whatever of its group takes no notice.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(setup.pid, signal.SIGKILL)


def run(name: str, command: list[str]) -> Step:
    print(f"\n==> {name}: {' '.join(Path(word).name if os.sep in word else word for word in command)}", flush=True)
    started = time.monotonic()
    code = call(command)
    step = Step(name, code == 0, time.monotonic() - started)
    result = "passed" if step.passed else f"FAILED (exit code {code})"
    print(f"==> {name}: {result} in {step.seconds:.0f} s", flush=True)
    return step


def call(command: list[str]) -> int:
    """Exit code of a command, which never outlives us."""
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL)
    try:
        return process.wait()
    except KeyboardInterrupt:
        # It got the same Ctrl-C and cleans up after itself.
        process.wait()
        raise
    except SystemExit:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
        raise


def terminated(signum: int, frame: FrameType | None) -> None:
    sys.exit(128 + signum)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, terminated)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
