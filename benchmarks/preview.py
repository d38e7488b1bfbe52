"""`pulumi preview` of a generated stack against a program of literal constructor calls for the same resources."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from compile_sweep import LAUNCHER
from ratio import command, exit_with, report, size

from xmgen import compiler
from xmgen.plan.model import Plan
from xmgen.project import Project
from xmgen.pulumi_cli import session
from xmgen.stack import folder as stack
from xmgen.stack import init
from xmgen.templating import python_literal

ROOT = Path(__file__).resolve().parents[1]
TRIALS = size(200, 4)


def literal_program(plan: Plan) -> str:
    """What the generated program declares, without a manifest to read."""
    lines = [
        "import pulumi",
        "from executables import executables",
        "from xmgen.provider.local import Run",
        "runs = {}",
    ]
    for unit in plan.units:
        [manifest] = unit.manifests
        jobs: list[str] = []
        for job in json.loads(json.dumps(manifest["jobs"])):
            executable = python_literal(job.pop("executable"))
            jobs.append(f"{{**{python_literal(job)}, 'executable': executables[{executable}].packaged}}")
        name = python_literal(unit.name)
        lines.append(f"runs[{name}] = Run({name}, identity={python_literal(unit.identity)}, jobs=[{', '.join(jobs)}])")
    lines.append("pulumi.export('title', 'sweep')")
    lines.append("pulumi.export('metrics', {name: run.metrics for name, run in runs.items()})")
    return "\n".join(lines) + "\n"


def main() -> bool:
    path = [Path(sys.executable).parent, ROOT / ".tools" / "bin", os.environ["PATH"]]
    os.environ["PATH"] = os.pathsep.join(map(str, path))
    os.environ["XMGEN_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        init.init(root)
        project = Project(root)
        (root / "code").mkdir()
        (root / "code" / "train.py").write_text("")
        launcher = root / "launcher.py"
        launcher.write_text(LAUNCHER.replace("TRIALS", str(TRIALS)))
        for each in ("generated", "literal"):
            plan, files = compiler.compile_source(launcher, root=root, stack=each)
            stack.write(root, each, files)
        (stack.folder(root, "literal") / "__main__.py").write_text(literal_program(plan))
        sides = []
        for each in ("generated", "literal"):
            opened = session.begin(project, each)
            opened.create_stack()
            pulumi = opened.pulumi
            sides.append(
                command(
                    each,
                    [str(pulumi.executable), "preview", "--stack", each, "--config", "xmgen:runner=process"],
                    cwd=root,
                    env=pulumi.environment(),
                )
            )
        return report(
            f"preview of {TRIALS} generated runs <= 1.15 x literal constructor calls",
            *sides,
            lambda literal: 1.15 * literal,
        )


if __name__ == "__main__":
    exit_with(main())
