"""Run the tests: those of some phases, or of all.

    .venv/bin/python tools/run_tests.py [PHASE...]

The tools that phases need are made in the background, one set after the other; the tests of a phase begin when its
sets are there. What is quick comes first, and what fails there ends the run. Exit code 0 only when every step passed.
In CI (environment variable CI) a skipped test is a failed one; see tests/conftest.py.
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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from with_docker import private_daemon_possible

ROOT = Path(__file__).resolve().parents[1]
SETUP_LOG = ROOT / ".tools" / "setup.log"
PYTHON = sys.executable
BIN = Path(PYTHON).parent
PYTEST = [PYTHON, "-m", "pytest", "--durations=10", "--durations-min=5"]
WITH_DOCKER = [PYTHON, str(ROOT / "tools" / "with_docker.py")]
FOR_OUR_DAEMON = (".tools/docker/base.tar", ".tools/docker/docker-registry")


@dataclass(frozen=True)
class ToolSet:
    """targets: make's. go: whether they are programs that Go builds; where there is no Go, those on PATH are taken."""

    name: str
    targets: tuple[str, ...]
    go: bool = False


@dataclass(frozen=True)
class Phase:
    """commands: by what they are called. tools: the sets that have to be there. quick: whether a failure ends the run
    before slower phases begin.
    """

    commands: dict[str, list[str]]
    tools: tuple[ToolSet, ...] = ()
    quick: bool = False


SDKS = ToolSet("SDKs of Google Cloud", (".tools/gcp-sdk/.stamp",))
ENGINE = ToolSet("Pulumi", ("pulumi",))
DOCKER = ToolSet("Docker", FOR_OUR_DAEMON)
API_SERVER = ToolSet("API server", (".tools/bin/etcd", ".tools/bin/kube-apiserver"), go=True)
CLUSTER = ToolSet(
    "cluster",
    (
        ".tools/bin/kwok",
        ".tools/bin/kube-scheduler",
        ".tools/bin/kube-controller-manager",
        ".tools/plugins/pulumi-resource-kubernetes",
    ),
    go=True,
)
TOOL_SETS = (SDKS, ENGINE, DOCKER, API_SERVER, CLUSTER)
"""In the order in which they are made. The last one takes longest, and so do the tests that need it."""

PHASES = {
    "lint": Phase(
        {
            "lint": [str(BIN / "ruff"), "check"],
            "format": [str(BIN / "ruff"), "format", "--check"],
            "types": [str(BIN / "pyright")],
        },
        quick=True,
    ),
    "unit": Phase(
        {"unit tests": [*PYTEST, "-m", "not engine and not docker and not kubernetes and not rehearsal and not gcp"]},
        quick=True,
    ),
    "programs": Phase(
        {"programs on Google Cloud": [*PYTEST, "-m", "gcp and not engine and not rehearsal"]}, (SDKS,), quick=True
    ),
    # Where the marks are in few folders, those are named: to look into all files for them takes ten seconds.
    "engine": Phase(
        {"engine tests": [*PYTEST, "-m", "engine and not docker", "tests/engine", "tests/vertex"]}, (SDKS, ENGINE)
    ),
    "docker": Phase(
        {"docker tests": [*WITH_DOCKER, *PYTEST, "-m", "docker and not rehearsal", "tests/docker"]},
        (SDKS, ENGINE, DOCKER),
    ),
    "kubernetes": Phase({"kubernetes tests": [*PYTEST, "-m", "kubernetes", "tests/kubernetes"]}, (API_SERVER,)),
    # Two processes, each with a control plane of its own: these tests mostly wait.
    "rehearsal": Phase(
        {
            "rehearsal tests": [*PYTEST, "-n", "2", "-m", "rehearsal and not docker", "tests/rehearsal"],
            "rehearsal tests with Docker": [*WITH_DOCKER, *PYTEST, "-m", "rehearsal and docker", "tests/rehearsal"],
        },
        TOOL_SETS,
    ),
    "benchmarks": Phase(
        {"benchmarks": [PYTHON, str(ROOT / "benchmarks"), "--quick"]}, (SDKS, ENGINE, API_SERVER, CLUSTER)
    ),
}
"""By name, in the order in which they run."""


@dataclass
class Step:
    name: str
    passed: bool
    seconds: float


def main(names: Sequence[str]) -> int:
    """names: of phases; all of them when there is none."""
    if unknown := [name for name in names if name not in PHASES]:
        sys.exit(f"error: there is no phase {unknown[0]}; there are {', '.join(PHASES)}")
    chosen = [phase for name, phase in PHASES.items() if name in names or not names]
    setup = SetUp([each for each in TOOL_SETS if any(each in phase.tools for phase in chosen)])
    setup.start()
    try:
        steps = list(run_phases(chosen, setup))
    finally:
        setup.end()
    print("\n==> Summary")
    for step in steps:
        print(f"{'passed' if step.passed else 'FAILED'}  {step.seconds:6.0f} s  {step.name}")
    return 0 if all(step.passed for step in steps) else 1


def run_phases(phases: Iterable[Phase], setup: SetUp) -> Iterable[Step]:
    made: set[ToolSet] = set()
    failed = False
    for phase in phases:
        if failed and not phase.quick:
            return
        for tools in phase.tools:
            if tools not in made:
                step = setup.finish(tools)
                yield step
                # Those that follow need it, too.
                if not step.passed:
                    return
                made.add(tools)
        for name, command in phase.commands.items():
            step = run(name, command)
            yield step
            failed = failed or (phase.quick and not step.passed)


class SetUp:
    """Makes sets of tools in the background, one after the other: two linkers at once need much memory."""

    def __init__(self, sets: Sequence[ToolSet]) -> None:
        self._sets = sets
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

    def finish(self, tools: ToolSet) -> Step:
        """Show what the set-up has said so far, and go on until this set is made."""
        print(f"\n==> set-up, in the background since the start: {tools.name}", flush=True)
        while True:
            running = self._thread.is_alive()
            result = self._results.get(tools.name)
            print(self._shown.read(), end="", flush=True)
            if result is not None:
                return result
            if not running:
                # It could not even begin.
                return self._step(tools, passed=False)
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
        for tools in self._sets:
            with self._lock:
                if self._ended:
                    return
                self._process = subprocess.Popen(
                    setup_command(tools),
                    cwd=ROOT,
                    env={**os.environ, "MAKEFLAGS": ""},
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=subprocess.STDOUT,
                    # A group that can be ended as a whole, compilers included.
                    start_new_session=True,
                )
            self._results[tools.name] = self._step(tools, passed=self._process.wait() == 0)

    def _step(self, tools: ToolSet, *, passed: bool) -> Step:
        return Step(f"set-up: {tools.name}", passed, time.monotonic() - self._started)


def setup_command(tools: ToolSet) -> list[str]:
    if tools.go and shutil.which("go") is None:
        names = ", ".join(Path(target).name for target in tools.targets)
        text = f"  there is no Go to build {names}: those on PATH are used, and tests that lack one are skipped"
        return ["echo", text]
    # Without a daemon of our own the Docker tests take another image, and no registry.
    targets = [target for target in tools.targets if target not in FOR_OUR_DAEMON or private_daemon_possible()]
    if not targets:
        return ["true"]
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
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
