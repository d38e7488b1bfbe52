"""A throw-away Pulumi project with the real engine, the real provider and a program of one's own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
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
        root = folder / "project"
        (root / "stacks" / ".plugin").mkdir(parents=True)
        shutil.copy(PLUGIN, root / "stacks" / ".plugin")
        (root / "Pulumi.yaml").write_text(PULUMI_YAML)
        (folder / "state").mkdir()
        (folder / "runtime").mkdir(mode=0o700)
        project = cls(root, environment(folder))
        project.program("")
        assert project.pulumi("stack", "init", STACK).ok
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
        return digest(file)

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
        """The processes that belong to this project's trials, its watchdogs and its providers."""
        wanted = f"XMGEN_RUNTIME_DIR={self.env['XMGEN_RUNTIME_DIR']}".encode()
        found: list[int] = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


def until(condition: Callable[[], object], what: str, seconds: float = 30) -> None:
    """Waits for something to become true; a generous limit turns a hang into a failure."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still not true: {what}"
        time.sleep(0.02)


def children(pid: int) -> Iterator[int]:
    """The process's children."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        yield from map(int, task.read_text().split())


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
