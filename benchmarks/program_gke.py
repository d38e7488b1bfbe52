"""The generated program of 200 Jobs on GKE against one of literal constructor calls for the same resources.

Under Pulumi's mocks, whole processes: without an account no plugin of Google Cloud answers a preview, which does the
same for both sides beside that.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path

from compile_gke import JOBS as ALL_JOBS
from compile_gke import LAUNCHER
from ratio import command, exit_with, report, size

from xmgen import compiler
from xmgen.plan.model import Plan
from xmgen.stack import folder as stack
from xmgen.templating import python_literal

ROOT = Path(__file__).resolve().parents[1]
SDK = ROOT / ".tools" / "gcp-sdk"
JOBS = size(200, 20)
CONFIG = {
    "experiments:location": "europe-west4-a",
    "experiments:owner": "ada",
    "experiments:deleteOutputs": "false",
    "gcp:project": "acme",
}


def literal_jobs(generated: str, plan: Plan) -> str:
    """`jobs.py` without a manifest to read."""
    start = generated.index("jobs: dict[str, kubernetes.batch.v1.Job] = {}")
    lines = [generated[:start], "jobs: dict[str, kubernetes.batch.v1.Job] = {}", ""]
    needed = re.findall(r"depends_on=(.*),$", generated[start:], re.MULTILINE)[-1]
    for unit in plan.units:
        for manifest in unit.manifests:
            text = python_literal({"metadata": manifest["metadata"], "spec": manifest["spec"]})
            text = text.replace("'<xmgen:bucket:output>'", "output.name")
            for image in plan.images:
                token = f"'<xmgen:image:{image.name}:{image.tag}>'"
                text = text.replace(token, f"images[{token}]")
            name = manifest["metadata"]["name"]  # type: ignore[index,call-overload]
            resource = manifest["metadata"]["annotations"]["xmgen/resource"]  # type: ignore[index,call-overload]
            options = f"ResourceOptions(provider=provider, depends_on={needed}, delete_before_replace=True)"
            lines.append(f"jobs[{name!r}] = kubernetes.batch.v1.Job({resource!r}, opts={options}, **{text})")
    return "\n".join(lines) + "\n"


def main() -> bool:
    if not (SDK / ".stamp").exists():
        print("the SDKs of Google Cloud are not installed: make .tools/gcp-sdk/.stamp")
        return False
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "code").mkdir()
        (root / "code" / "train.py").write_text("")
        launcher = root / "kinds.py"
        launcher.write_text(LAUNCHER.replace(f"range({ALL_JOBS})", f"range({JOBS})"))
        sides = []
        for each in ("generated", "literal"):
            plan, files = compiler.compile_source(launcher, root=root, stack=each)
            if each == "literal":
                files["jobs.py"] = literal_jobs(files["jobs.py"], plan)
            stack.write(root, each, files)
            play = {each: {"folder": str(stack.folder(root, each)), "config": CONFIG}}
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SDK), str(ROOT)])}
            runner = [sys.executable, "-m", "tests.gcp_programs"]
            sides.append(command(each, runner, cwd=ROOT, env=environment, input=json.dumps(play).encode()))
        return report(
            f"program of {JOBS} generated Jobs <= 1.15 x literal constructor calls",
            *sides,
            lambda literal: 1.15 * literal,
        )


if __name__ == "__main__":
    exit_with(main())
