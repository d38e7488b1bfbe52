"""Compiling a sweep against writing its manifests with PyYAML's C emitter; and how time and memory grow with it."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from ratio import Side, exit_with, measure, report

from xmgen import compiler, stack

LAUNCHER = """
import itertools

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
    _, files = compiler.compile_source(launcher, root=launcher.parent, stack="sweep")
    stack.write(launcher.parent, "sweep", files)


def peak_megabytes(launcher: Path) -> float:
    """Peak memory of a process of its own that compiles."""
    done = subprocess.run([sys.executable, __file__, str(launcher)], check=True, capture_output=True, text=True)
    return float(done.stdout)


def emitter_budget(folder: Path) -> bool:
    launcher = project(folder, 10_000)
    plan, _ = compiler.compile_source(launcher, root=folder, stack="sweep")
    manifests = [manifest for unit in plan.units for manifest in unit.manifests]

    def emit() -> None:
        with (folder / "manifests.yaml").open("w") as file:
            yaml.dump_all(manifests, file, Dumper=yaml.CSafeDumper, sort_keys=False)

    return report(
        "compile a sweep of 10,000 trials <= 2 x PyYAML's C emitter writing its manifests",
        Side("compile", lambda: compile_and_write(launcher)),
        Side("emitter", emit),
        lambda emitter: 2 * emitter,
    )


def growth(folder: Path) -> bool:
    """Ten times the trials may take ten times as long, and half as much again for noise; memory likewise.

    Memory is what a compile adds to that of a hundred trials, which is next to nothing but the program itself.
    """
    small, large = project(folder, 1_000), project(folder, 10_000)
    pairs = measure(Side("10,000", lambda: compile_and_write(large)), Side("1,000", lambda: compile_and_write(small)))
    time_factor = statistics.median(a / b for a, b in pairs)
    base, thousand, ten_thousand = (peak_megabytes(project(folder, trials)) for trials in (100, 2_000, 20_000))
    memory_factor = (ten_thousand - base) / (thousand - base)
    met = time_factor <= 15 and memory_factor <= 15
    print(
        "1,000 -> 10,000 trials: linear in time and memory\n"
        f"  time x {time_factor:.1f}   memory above that of 100 trials x {memory_factor:.1f} "
        f"({base:.0f}, {thousand:.0f}, {ten_thousand:.0f} MB)   {'met' if met else 'MISSED'}"
    )
    return met


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compile_and_write(Path(sys.argv[1]))
        # Not ru_maxrss: a process inherits it from the one that started it.
        print(int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024)
    else:
        with tempfile.TemporaryDirectory() as name:
            exit_with(emitter_budget(Path(name)), growth(Path(name)))
