"""Compiling a sweep against writing its manifests with PyYAML's C emitter; and how time and memory grow with it.

Each measurement is made in a process of its own, as a compile is used; the start of Python and imports do not count.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml
from ratio import ROUNDS, judge, size, verdict

from xmgen import compiler
from xmgen.frontends.xmanager import loader as xmanager  # noqa: F401 — imported before the clock starts
from xmgen.stack import folder as stack

TRIALS = size(10_000, 100)
"""Of the largest sweep; others have a tenth and a hundredth of it."""

LAUNCHER = """
from absl import app
from xmanager import xm, xm_local


def main(_):
    with xm_local.create_experiment(experiment_title="sweep") as experiment:
        [executable] = experiment.package(
            [xm.python_container(xm_local.Local.Spec(), path="code", entrypoint=xm.ModuleName("train"))]
        )
        for index in range(TRIALS):
            args = {"epochs": 10, "learning_rate": index / TRIALS, "width": 8 * (index % 16)}
            experiment.add(xm.Job(executable, xm_local.Local(), args=args, env_vars={"SEED": index}))


if __name__ == "__main__":
    app.run(main)
"""


def project(folder: Path, trials: int) -> Path:
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "train.py").write_text("")
    launcher = folder / f"launcher_{trials}.py"
    launcher.write_text(LAUNCHER.replace("TRIALS", str(trials)))
    return launcher


def compile_and_write(launcher: Path) -> None:
    _, files = compiler.compile_source(launcher, root=launcher.parent, stack=launcher.stem)
    stack.write(launcher.parent, launcher.stem, files)


def emit(launcher: Path) -> Callable[[], None]:
    manifests = launcher.parent / "stacks" / launcher.stem / "manifests" / "local.yaml"
    documents = list(yaml.load_all(manifests.read_text(), Loader=yaml.CSafeLoader))

    def write() -> None:
        with (launcher.parent / "emitted.yaml").open("w") as file:
            yaml.dump_all(documents, file, Dumper=yaml.CSafeDumper, sort_keys=False)

    return write


def child(task: str, launcher: Path) -> None:
    """Print the seconds that the task took, and the peak of this process's memory in megabytes."""
    work = (lambda: compile_and_write(launcher)) if task == "compile" else emit(launcher)
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    # Not ru_maxrss: a process inherits it from the one that started it.
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert peak is not None
    print(seconds, int(peak[1]) / 1024)


def measure(task: str, launcher: Path) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, __file__, task, str(launcher)], check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, megabytes = done.stdout.split()
    return float(seconds), float(megabytes)


def emitter_budget(folder: Path) -> bool:
    launcher = project(folder, TRIALS)
    compile_and_write(launcher)
    pairs = [(measure("compile", launcher)[0], measure("emit", launcher)[0]) for _ in range(ROUNDS)]
    return judge(
        f"compile a sweep of {TRIALS:,} trials <= 2 x PyYAML's C emitter writing its manifests",
        ("compile", "emitter"),
        pairs,
        lambda emitter: 2 * emitter,
    )


def growth(folder: Path) -> bool:
    """Ten times the trials may take ten times as long, and half as much again for noise; memory likewise.

    Memory is what a compile adds to that of a hundredth of the trials, which is next to nothing but the program itself.
    """
    base = measure("compile", project(folder, TRIALS // 100))[1]
    small, large = project(folder, TRIALS // 10), project(folder, TRIALS)
    rounds = [(measure("compile", large), measure("compile", small)) for _ in range(ROUNDS)]
    time_factor = statistics.median(a[0] / b[0] for a, b in rounds)
    # Of a few trials it may be nothing at all.
    memory_factor = statistics.median((a[1] - base) / max(b[1] - base, 0.1) for a, b in rounds)
    met, word = verdict(time_factor <= 15 and memory_factor <= 15)
    print(
        f"{TRIALS // 10:,} -> {TRIALS:,} trials: linear in time and memory\n"
        f"  time x {time_factor:.1f}   memory above that of {TRIALS // 100:,} trials x {memory_factor:.1f}   {word}"
    )
    return met


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1], Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as name:
            sys.exit(0 if all([emitter_budget(Path(name)), growth(Path(name))]) else 1)
