"""The rehearsal of a sweep of 200 Jobs: under three minutes, and what it takes beside Pulumi's own work.

The other side are the same `up`, `up` again and `destroy`, called as they are against the same control plane. What the
rehearsal adds is waiting for all pods to end, and looking at what is there before and afterwards.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from compile_sweep import LAUNCHER
from ratio import exit_with, judge, size

from xmgen import compiler, project
from xmgen.rehearsal.rehearsal import Options, Rehearsal
from xmgen.rehearsal.report import markdown
from xmgen.stack import compiled as compiled_stacks
from xmgen.stack import folder as stack
from xmgen.stack import init
from xmgen.stack.compiled import CompiledStack

ROOT = Path(__file__).resolve().parents[1]
SDK = ROOT / ".tools" / "gcp-sdk"
STACK = "sweep"
TRIALS = size(200, 4)
SECONDS = 180.0


def compiled(root: Path) -> CompiledStack:
    """The sweep of the other benchmarks, a T4 for every trial."""
    init.init(root)
    (root / "code").mkdir()
    (root / "code" / "train.py").write_text("")
    launcher = root / "launcher.py"
    text = LAUNCHER.replace("TRIALS", str(TRIALS))
    text = text.replace("xm_local.Local()", "xm_local.Kubernetes(xm.JobRequirements(t4=1))")
    launcher.write_text(text.replace("xm_local.Local.Spec", "xm_local.Kubernetes.Spec"))
    _, files = compiler.compile_source(launcher, root=root, stack=STACK)
    stack.write(root, STACK, files)
    return compiled_stacks.read(project.read(root), STACK)


def rehearse(rehearsal: Rehearsal, sweep: CompiledStack) -> float:
    """Seconds; those of its phases are printed."""
    started = time.perf_counter()
    report = rehearsal.run(sweep)
    seconds = time.perf_counter() - started
    if not report.fits or len(report.landings) != TRIALS:
        sys.exit(markdown(report))
    print("  rehearsed: " + ", ".join(f"{phase} {taken:.1f} s" for phase, taken in report.seconds.items()), flush=True)
    return seconds


def plain(rehearsal: Rehearsal, sweep: CompiledStack) -> float:
    """Seconds of the engine's commands alone."""
    started = time.perf_counter()
    rehearsal.prepare(sweep)
    settings = rehearsal.folder / "project" / "stacks" / f"Pulumi.{STACK}.yaml"
    for operation in ("up", "up", "destroy"):
        options = ["--stack", STACK, "--yes", "--skip-preview", "--continue-on-error", "--config-file", str(settings)]
        rehearsal.pulumi.run(operation, *options)
    return time.perf_counter() - started


def main() -> bool:
    if not (SDK / ".stamp").exists():
        print("the SDKs of Google Cloud are not installed: make .tools/gcp-sdk/.stamp")
        return False
    sys.path.insert(0, str(SDK))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SDK), str(ROOT)])
    os.environ["XMGEN_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "project"
        root.mkdir()
        sweep = compiled(root)
        started = time.perf_counter()
        with Rehearsal(project.read(root), Path(name) / "rehearsal", Options()) as rehearsal:
            begun = time.perf_counter() - started
            print(f"  control plane: {begun:.1f} s")
            pair = (begun + rehearse(rehearsal, sweep), plain(rehearsal, sweep))
    names = ("rehearsal", "up, up, destroy alone")
    return judge(f"rehearsal of {TRIALS} Jobs <= {SECONDS:.0f} s", names, [pair], lambda alone: SECONDS)


if __name__ == "__main__":
    exit_with(main())
