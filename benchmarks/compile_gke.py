"""Planning and compiling 1,000 jobs over 20 kinds of machines against PyYAML's C emitter writing their manifests.

Each measurement is made in a process of its own, as a compile is used; the start of Python and imports do not count.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from ratio import ROUNDS, judge, size

from xmgen import compiler
from xmgen.frontends.xmanager import loader as xmanager  # noqa: F401 — imported before the clock starts
from xmgen.stack import folder as stack

JOBS = size(1000, 40)
LAUNCHER = f"""
from absl import app
from xmanager import xm, xm_local

KINDS = [
    dict(t4=1), dict(t4=2), dict(t4=4), dict(p100=1), dict(v100=1), dict(v100=8), dict(l4_24th=1), dict(l4_24th=4),
    dict(a100=1), dict(a100=8), dict(a100_80gib=1), dict(h100=8), dict(tpu_v4="2x2x2"), dict(tpu_v5e="2x2"),
    dict(tpu_v5e="4x4"), dict(tpu_v5p="2x2x1"), dict(tpu_v6e="2x4"), dict(tpu_v7x="2x2x1"), dict(cpu=2), dict(cpu=8),
]


def main(_):
    with xm_local.create_experiment(experiment_title="kinds") as experiment:
        [executable] = experiment.package(
            [xm.python_container(xm_local.Kubernetes.Spec(), path="code", entrypoint=xm.ModuleName("train"))]
        )
        executors = [xm_local.Kubernetes(xm.JobRequirements(**kind)) for kind in KINDS]
        for index in range({JOBS}):
            executor = executors[index % len(executors)]
            args = {{"epochs": 10, "learning_rate": index / {JOBS}, "width": 8 * (index % 16)}}
            experiment.add(xm.Job(executable, executor, name="train", args=args, env_vars={{"SEED": index}}))


if __name__ == "__main__":
    app.run(main)
"""


def project(folder: Path) -> Path:
    (folder / "code").mkdir()
    (folder / "code" / "train.py").write_text("")
    launcher = folder / "kinds.py"
    launcher.write_text(LAUNCHER)
    return launcher


def compile_and_write(launcher: Path) -> float:
    """Seconds."""
    start = time.perf_counter()
    _, files = compiler.compile_source(launcher, root=launcher.parent, stack="kinds")
    stack.write(launcher.parent, "kinds", files)
    return time.perf_counter() - start


def emit(launcher: Path) -> float:
    """Seconds to write the same manifests."""
    manifests = launcher.parent / "stacks" / "kinds" / "manifests" / "jobs.yaml"
    documents = list(yaml.load_all(manifests.read_text(), Loader=yaml.CSafeLoader))
    start = time.perf_counter()
    with (launcher.parent / "again.yaml").open("w") as file:
        yaml.dump_all(documents, file, Dumper=yaml.CSafeDumper, sort_keys=False)
    return time.perf_counter() - start


def in_a_process(side: str, launcher: Path) -> float:
    command = [sys.executable, __file__, side, str(launcher)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        launcher = project(Path(name))
        in_a_process("compile", launcher)
        pairs = [(in_a_process("compile", launcher), in_a_process("emit", launcher)) for _ in range(ROUNDS)]
    met = judge(
        f"plan and compile {JOBS:,} jobs over 20 kinds of machines <= 2 x PyYAML's C emitter writing their manifests",
        ("compile", "emitter"),
        pairs,
        lambda emitter: 2 * emitter,
    )
    return 0 if met else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        side = {"compile": compile_and_write, "emit": emit}[sys.argv[1]]
        print(side(Path(sys.argv[2])))
    else:
        sys.exit(main())
