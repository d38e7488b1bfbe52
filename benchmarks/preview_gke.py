"""`pulumi preview` of a generated stack of 200 Jobs on GKE against a program of literal constructor calls for the same.

The real engine and the real Kubernetes provider; in place of Google Cloud answers that of a rehearsal. Both stacks are
previewed before anything is up, as a pull request's check does it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from compile_gke import JOBS as ALL_JOBS
from compile_gke import LAUNCHER
from program_gke import JOBS, ROOT, SDK, literal_jobs
from ratio import Side, command, exit_with, report

from xmgen import compiler
from xmgen.errors import XmgenError
from xmgen.project import Project
from xmgen.rehearsal.rehearsal import Options, Rehearsal
from xmgen.stack import compiled, init
from xmgen.stack import folder as stack


def side(rehearsal: Rehearsal, name: str, *, literal: bool) -> Side:
    """The preview of the launch script, compiled into a stack of that name."""
    root = rehearsal.project.root
    plan, files = compiler.compile_source(root / "launcher.py", root=root, stack=name)
    if literal:
        files["jobs.py"] = literal_jobs(files["jobs.py"], plan)
    stack.write(root, name, files)
    rehearsal.prepare(compiled.read(rehearsal.project, name))
    settings = rehearsal.folder / "project" / "stacks" / f"Pulumi.{name}.yaml"
    pulumi = rehearsal.pulumi
    arguments = ["preview", "--stack", name, "--config-file", str(settings)]
    return command(name, [str(pulumi.executable), *arguments], cwd=root, env=pulumi.environment())


def main() -> bool:
    if not (SDK / ".stamp").exists():
        print("the SDKs of Google Cloud are not installed: make .tools/gcp-sdk/.stamp")
        return False
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SDK), str(ROOT)])
    os.environ["XMGEN_PYTHON"] = sys.executable
    sys.path.insert(0, str(SDK))
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "project")
        init.init(root)
        (root / "code").mkdir()
        (root / "code" / "train.py").write_text("")
        (root / "launcher.py").write_text(LAUNCHER.replace(f"range({ALL_JOBS})", f"range({JOBS})"))
        try:
            with Rehearsal(Project(root), Path(name, "rehearsal"), Options()) as rehearsal:
                sides = [side(rehearsal, each, literal=each == "literal") for each in ("generated", "literal")]
                return report(
                    f"preview of {JOBS} generated Jobs on GKE <= 1.15 x literal constructor calls",
                    *sides,
                    lambda literal: 1.15 * literal,
                )
        except XmgenError as error:
            print(f"nothing to preview with: {error}")
            return False


if __name__ == "__main__":
    exit_with(main())
