"""A throw-away Pulumi project with the real engine, the real provider and a program of one's own."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "stacks" / ".plugin" / "pulumi-resource-xmgen"
STACK = "dev"

PULUMI_YAML = """\
name: experiments
runtime: {name: python, options: {toolchain: pip}}
main: stacks/
stackConfigDir: stacks
plugins:
  providers:
  - {name: xmgen, path: stacks/.plugin}
"""


TRIAL = """\
#!/bin/sh
# Runs its first argument as a script. `mark` notes something in the project's file `marks`.
mark() { echo "$*" >> "$PROJECT/marks"; }
eval "$1"
"""

PROGRAM = """\
import json
import pulumi
from xmgen.provider.local import Executable, Run

plan = json.loads({plan!r})
executables = {{name: Executable(name, **inputs) for name, inputs in plan["executables"].items()}}
runs = {{}}
for unit in plan["units"]:
    runs[unit["name"]] = Run(
        unit["name"],
        identity=unit["identity"],
        jobs=[{{**job, "executable": executables[job["executable"]].packaged}} for job in unit["jobs"]],
        after=[runs[name] for name in unit["after"]],
    )
    pulumi.export(unit["name"], runs[unit["name"]].metrics)
"""


def environment(home: Path) -> dict[str, str]:
    """The environment of a user of the project, with a Pulumi home and a state of their own."""
    path = [Path(sys.executable).parent, ROOT / ".tools" / "bin", os.environ["PATH"]]
    return {
        **os.environ,
        "PATH": os.pathsep.join(map(str, path)),
        "PYTHONPATH": str(ROOT),
        "XMGEN_PYTHON": sys.executable,
        "XMGEN_RUNTIME_DIR": str(home / "runtime"),
        "PULUMI_HOME": str(home / "pulumi"),
        "PULUMI_BACKEND_URL": f"file://{home}/state",
        "PULUMI_CONFIG_PASSPHRASE": "correct horse",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }


@dataclass
class Outcome:
    code: int
    output: str

    @property
    def ok(self) -> bool:
        return self.code == 0


@dataclass
class Project:
    """root: its folder. program: where the stack's program is written."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, folder: Path, config: dict[str, str] | None = None) -> Project:
        shutil.copytree(_template(), folder, dirs_exist_ok=True)
        project = cls(folder / "project", environment(folder))
        for key, value in {"runner": "process", "cpus": "4", **(config or {})}.items():
            project.configure(key, value)
        return project

    def configure(self, key: str, value: str) -> None:
        """As `pulumi config set xmgen:<key>` does, without starting it."""
        settings = self.root / "stacks" / f"Pulumi.{STACK}.yaml"
        kept = [line for line in settings.read_text().splitlines() if line and f"xmgen:{key}:" not in line]
        if "config:" not in kept:
            kept.append("config:")
        settings.write_text("\n".join([*kept, f"  xmgen:{key}: {json.dumps(value)}"]) + "\n")

    def program(self, text: str) -> None:
        header = "import pulumi\nfrom xmgen.provider.local import Executable, Run\n"
        (self.root / "stacks" / "__main__.py").write_text(header + textwrap.dedent(text))

    def code(self, name: str, text: str) -> str:
        """Writes the program file `code/<name>` and returns its digest."""
        from xmgen.sources import digest

        file = self.root / "code" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text))
        file.chmod(0o755)
        return digest(file)

    def declare(self, *units: dict[str, Any], **executables: dict[str, Any]) -> None:
        """A program with these units (see `unit`). They run `trial` unless other executables are given."""
        used = {job["executable"] for unit in units for job in unit["jobs"]}
        if "trial" in used - executables.keys():
            digest = self.code("trial", TRIAL)
            trial = {"directory": "code/trial", "digest": digest, "command": ["./trial"], "working_directory": "code"}
            executables = {"trial": trial, **executables}
        plan = {"executables": executables, "units": list(units)}
        for unit in units:
            for job in unit["jobs"]:
                job["env"] = {"PROJECT": str(self.root), **job.get("env", {})}
        (self.root / "stacks" / "__main__.py").write_text(PROGRAM.format(plan=json.dumps(plan)))

    # Pulumi

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.root,
            env={**self.env, **env},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def pulumi(self, *arguments: str, **env: str) -> Outcome:
        process = self.start(*arguments, **env)
        output, _ = process.communicate(timeout=120)
        return Outcome(process.returncode, output)

    def up(self, *arguments: str, **env: str) -> Outcome:
        return self.pulumi("up", "--yes", "--skip-preview", "--continue-on-error", "--stack", STACK, *arguments, **env)

    def start_up(self, **env: str) -> subprocess.Popen[str]:
        return self.start("up", "--yes", "--skip-preview", "--continue-on-error", "--stack", STACK, **env)

    def recover(self) -> Outcome:
        """`up` after a kill: the lock of the dead is cleared first."""
        shutil.rmtree(
            Path(self.env["PULUMI_BACKEND_URL"].removeprefix("file://")) / ".pulumi" / "locks", ignore_errors=True
        )
        return self.up()

    def preview(self) -> Outcome:
        return self.pulumi("preview", "--diff", "--stack", STACK)

    def destroy(self) -> Outcome:
        return self.pulumi("destroy", "--yes", "--skip-preview", "--stack", STACK)

    def state(self) -> dict[str, dict[str, Any]]:
        """The resources of the stack by name, without providers and the stack itself."""
        backend = Path(self.env["PULUMI_BACKEND_URL"].removeprefix("file://"))
        checkpoint = json.loads((backend / ".pulumi" / "stacks" / "experiments" / f"{STACK}.json").read_text())
        resources = checkpoint["checkpoint"]["latest"].get("resources") or []
        return {
            resource["urn"].split("::")[-1]: resource for resource in resources if resource["type"].startswith("xmgen:")
        }

    # What ran

    def run_folder(self, name: str) -> Path:
        return self.root / ".xmgen" / STACK / "runs" / name

    def marks(self) -> list[str]:
        """What the trials noted with `mark`, in order."""
        file = self.root / "marks"
        return file.read_text().splitlines() if file.exists() else []

    def processes(self) -> list[int]:
        """The processes of this project's trials, with its watchdogs, providers and engines.

        Pulumi's language host is left out: it outlives an engine that was killed, which is not ours to mend.
        """
        return [pid for pid, command in self._everything() if "pulumi-language-python" not in command]

    def running(self, words: str) -> set[int]:
        """Those of its processes whose command line holds this; between two words is a NUL character."""
        return {pid for pid, command in self._everything() if words in command}

    def close(self) -> None:
        """Ends what a test has left behind."""
        for pid, _ in self._everything():
            with contextlib.suppress(ProcessLookupError):
                kill(pid)

    def _everything(self) -> Iterator[tuple[int, str]]:
        wanted = f"XMGEN_RUNTIME_DIR={self.env['XMGEN_RUNTIME_DIR']}".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name), (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue


def unit(
    name: str, *scripts: str, after: Sequence[str] = (), jobs: Sequence[dict[str, Any]] = (), **job: Any
) -> dict[str, Any]:
    """A unit of one `trial` job per shell script (`a`, `b`, …), or of the given jobs. job: what all of them have."""
    scripted = [{"name": "abc"[index], "args": [script]} for index, script in enumerate(scripts)]
    complete = [{"executable": "trial", **job, **given} for given in [*scripted, *jobs]]
    identity = hashlib.sha256(json.dumps([name, complete]).encode()).hexdigest()
    return {"name": name, "identity": identity, "jobs": complete, "after": list(after)}


@functools.cache
def _template() -> Path:
    """A project with an empty stack: `pulumi stack init` need not be paid for in every test."""
    folder = Path(tempfile.mkdtemp(prefix="xmgen-template-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    root = folder / "project"
    (root / "stacks" / ".plugin").mkdir(parents=True)
    shutil.copy(PLUGIN, root / "stacks" / ".plugin")
    (root / "Pulumi.yaml").write_text(PULUMI_YAML)
    (folder / "state").mkdir()
    (folder / "runtime").mkdir(mode=0o700)
    project = Project(root, environment(folder))
    project.program("")
    outcome = project.pulumi("stack", "init", STACK)
    assert outcome.ok, outcome.output
    return folder


def until(condition: Callable[[], object], what: str, seconds: float = 30) -> None:
    """Waits for something to become true; a generous limit turns a hang into a failure."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still not true: {what}"
        time.sleep(0.02)


def children(pid: int) -> Iterator[int]:
    """The process's children."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        # A thread may have ended since.
        with contextlib.suppress(OSError):
            yield from map(int, task.read_text().split())


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
