"""Run every test: what is quick first, while the tools that the others need are still being built.

    .venv/bin/python tools/run_tests.py

The tools are built one stage after the other; the tests that need a stage begin when it is done. Exit code 0 only when
every step passed. In CI (environment variable CI) a skipped test is a failed one; see tests/conftest.py.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
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


WITH_DOCKER = [PYTHON, str(ROOT / "tools" / "with_docker.py")]
FOR_OUR_DAEMON = (".tools/docker/base.tar", ".tools/docker/docker-registry")


@dataclass(frozen=True)
class Stage:
    """Tools, and the tests that need them and those of the stages before.

    targets: make's. go: whether they are programs that Go builds; where there is no Go, those on PATH are taken.
    """

    name: str
    targets: tuple[str, ...]
    tests: dict[str, list[str]]
    go: bool = False


STAGES = (
    Stage(
        "Pulumi, Docker",
        ("pulumi", *FOR_OUR_DAEMON),
        {
            "engine tests": [*PYTEST, "-m", "engine and not docker"],
            "docker tests": [*WITH_DOCKER, *PYTEST, "-m", "docker and not rehearsal"],
        },
    ),
    Stage(
        "API server",
        (".tools/bin/etcd", ".tools/bin/kube-apiserver"),
        {"kubernetes tests": [*PYTEST, "-m", "kubernetes"]},
        go=True,
    ),
    # Last: its programs take longest to build, and its tests longest to run.
    Stage(
        "rehearsal",
        (
            ".tools/bin/kwok",
            ".tools/bin/kube-scheduler",
            ".tools/bin/kube-controller-manager",
            ".tools/plugins/pulumi-resource-kubernetes",
        ),
        {
            "rehearsal tests": [*PYTEST, "-m", "rehearsal and not docker"],
            "rehearsal tests with Docker": [*WITH_DOCKER, *PYTEST, "-m", "rehearsal and docker"],
        },
        go=True,
    ),
)


@dataclass
class Step:
    name: str
    passed: bool
    seconds: float


def main() -> int:
    setup = SetUp(STAGES)
    setup.start()
    try:
        steps = [run(name, command) for name, command in QUICK.items()]
        if all(step.passed for step in steps):
            for stage in STAGES:
                steps.append(setup.finish(stage))
                # Those that follow need it, too.
                if not steps[-1].passed:
                    break
                steps += [run(name, command) for name, command in stage.tests.items()]
    finally:
        setup.end()
    print("\n==> Summary")
    for step in steps:
        print(f"{'passed' if step.passed else 'FAILED'}  {step.seconds:6.0f} s  {step.name}")
    return 0 if all(step.passed for step in steps) else 1


class SetUp:
    """Makes the tools of the stages in the background, one after the other: two linkers at once need much memory."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = stages
        self._started = time.monotonic()
        self._results: dict[str, Step] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        SETUP_LOG.parent.mkdir(exist_ok=True)
        self._log = SETUP_LOG.open("wb")
        self._shown = SETUP_LOG.open(encoding="utf-8", errors="replace")

    def start(self) -> None:
        self._thread.start()

    def finish(self, stage: Stage) -> Step:
        """Show what the set-up has said so far, and go on until this stage is done."""
        print(f"\n==> set-up, in the background since the start: {stage.name}", flush=True)
        while True:
            running = self._thread.is_alive()
            result = self._results.get(stage.name)
            print(self._shown.read(), end="", flush=True)
            if result is not None:
                return result
            if not running:
                # It could not even begin.
                return self._step(stage, passed=False)
            time.sleep(0.5)

    def end(self) -> None:
        """Stop what is still at work, compilers and all."""
        with self._lock:
            self._ended = True
            process = self._process
        if process is not None and process.poll() is None:
            # It may end by itself before each of the two, and its group with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            # Whatever of its group takes no notice.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self._thread.join()
        self._log.close()
        self._shown.close()

    def _run(self) -> None:
        for stage in self._stages:
            with self._lock:
                if self._ended:
                    return
                self._process = subprocess.Popen(
                    setup_command(stage),
                    cwd=ROOT,
                    env={**os.environ, "MAKEFLAGS": ""},
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=subprocess.STDOUT,
                    # A group that can be ended as a whole, compilers included.
                    start_new_session=True,
                )
            self._results[stage.name] = self._step(stage, passed=self._process.wait() == 0)

    def _step(self, stage: Stage, *, passed: bool) -> Step:
        return Step(f"set-up: {stage.name}", passed, time.monotonic() - self._started)


def setup_command(stage: Stage) -> list[str]:
    if stage.go and shutil.which("go") is None:
        names = ", ".join(Path(target).name for target in stage.targets)
        text = f"  there is no Go to build {names}: those on PATH are used, and tests that lack one are skipped"
        return ["echo", text]
    # Without a daemon of our own the Docker tests take another image, and no registry.
    targets = [target for target in stage.targets if target not in FOR_OUR_DAEMON or private_daemon_possible()]
    # Behind the tests: their failures are to show early.
    return ["nice", "-n", "10", "make", "--no-print-directory", "--silent", "--keep-going", *targets]


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
