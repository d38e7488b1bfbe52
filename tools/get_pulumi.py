"""Make sure that there is a Pulumi CLI with its Python language host, and say where it came from.

    python tools/get_pulumi.py

The first of these that works is used:

1. the one on PATH, when it is new enough;
2. the official installer, which puts the pinned version into `.tools/bin`;
3. Go, with which the same version is built into `.tools/bin`.

What 2 or 3 put there earlier is used again. Nothing outside `.tools` is changed. Exit code 1 when none works.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTALLER = "https://get.pulumi.com"
MINIMUM = (3, 207, 0)
"""What a stack needs; the lower bound of the Python SDK in pyproject.toml is the same."""

GO_MINIMUM = (1, 26)
INSTALLED = "pulumi-installed"
"""In `.tools`: says that the installer put the CLI there, and not Go."""

BINARIES = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec")

Version = tuple[int, int, int]


class Unusable(Exception):
    """Why one of the ways does not work here; empty when there is nothing to say."""


def main() -> int:
    tools = ROOT / ".tools"
    pinned = pinned_version(ROOT / "tools" / "pulumi" / "go.mod")
    for way in (on_path, in_tools, install, build):
        try:
            print(way(os.environ, tools, pinned), flush=True)
        except Unusable as reason:
            if str(reason):
                print(f"Pulumi: {reason}", flush=True)
        else:
            return 0
    print(
        "\nerror: no Pulumi CLI. Any one of these is enough:\n"
        f"  - Pulumi {_text(MINIMUM)} or newer on PATH: https://www.pulumi.com/docs/install/\n"
        f"  - a network that reaches {INSTALLER}, and curl\n"
        f"  - Go {_text(GO_MINIMUM)} or newer on PATH and a module proxy it can reach",
        file=sys.stderr,
    )
    return 1


def on_path(environment: Mapping[str, str], tools: Path, pinned: Version) -> str:
    """The user's own CLI, left as it is."""
    # One that we put into .tools is not the user's choice, even if the user's PATH names that folder.
    ours = (tools / "bin").resolve()
    folders = [f for f in environment.get("PATH", os.defpath).split(os.pathsep) if f and Path(f).resolve() != ours]
    path = os.pathsep.join(folders)
    executable = shutil.which("pulumi", path=path)
    if executable is None:
        raise Unusable("not on PATH")
    version = installed_version(Path(executable))
    if version is not None and version < MINIMUM:
        raise Unusable(f"{executable} is {_text(version)}, older than {_text(MINIMUM)}")
    # The engine looks for its language host on PATH and beside itself.
    beside = Path(executable).resolve().parent
    if shutil.which("pulumi-language-python", path=f"{path}{os.pathsep}{beside}") is None:
        raise Unusable(f"{executable} comes without its Python language host")
    return f"Pulumi {_text(version)}: {executable} (on PATH)"


def in_tools(environment: Mapping[str, str], tools: Path, pinned: Version) -> str:
    """What an earlier run put there, when it is still what go.mod asks for."""
    if not _complete(tools):
        raise Unusable
    if not (tools / INSTALLED).is_file():
        return _make(environment, pinned)
    version = installed_version(tools / "bin" / "pulumi")
    if version != pinned:
        raise Unusable(f".tools/bin holds {_text(version)}, {_text(pinned)} is wanted")
    return f"Pulumi {_text(version)}: .tools/bin (by the official installer)"


def install(environment: Mapping[str, str], tools: Path, pinned: Version) -> str:
    """The official installer, into `.tools` instead of the home folder."""
    curl = shutil.which("curl", path=environment.get("PATH", os.defpath))
    if curl is None:
        raise Unusable("the official installer needs curl")
    print(f"Pulumi: asking {INSTALLER} for the official installer", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "install.sh"
        # Without a network this must give up soon: the third way still has minutes to go.
        fetch = [curl, "-fsSL", "--connect-timeout", "5", "--max-time", "60", "-o", str(script), INSTALLER]
        _run(fetch, environment, "the official installer cannot be reached", seconds=90)
        (tools / "bin").mkdir(parents=True, exist_ok=True)
        options = ["--version", _text(pinned), "--install-root", str(tools), "--no-edit-path", "--silent"]
        _run(["sh", str(script), *options], environment, "the official installer failed", seconds=900)
    if not _complete(tools) or installed_version(tools / "bin" / "pulumi") != pinned:
        raise Unusable("the official installer left no working CLI")
    (tools / INSTALLED).touch()
    return f"Pulumi {_text(pinned)}: .tools/bin (by the official installer)"


def build(environment: Mapping[str, str], tools: Path, pinned: Version) -> str:
    """The same from Go modules."""
    go = shutil.which("go", path=environment.get("PATH", os.defpath))
    if go is None:
        raise Unusable("Go is not on PATH")
    if (version := go_version(go, environment)) < GO_MINIMUM:
        raise Unusable(f"{go} is {_text(version)}, older than {_text(GO_MINIMUM)}")
    # What an installer left is of another version, else we would not be here; make would take it for built.
    for path in (tools / INSTALLED, *(tools / "bin" / binary for binary in BINARIES)):
        path.unlink(missing_ok=True)
    print(f"Pulumi: building {_text(pinned)} with Go, once; about six minutes on two cores", flush=True)
    return _make(environment, pinned)


def pinned_version(go_mod: Path) -> Version:
    """The engine's version that `tools/pulumi/go.mod` requires."""
    match = re.search(r"github\.com/pulumi/pulumi/pkg/v3 v(\d+)\.(\d+)\.(\d+)", go_mod.read_text())
    if match is None:
        raise ValueError(f"{go_mod} does not require the engine")
    return int(match[1]), int(match[2]), int(match[3])


def installed_version(executable: Path) -> Version | None:
    """What `pulumi version` prints; None for a development build, which has no number.

    Raises Unusable when it does not start.
    """
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = subprocess.run(
            [str(executable), "version"], env=environment, capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        raise Unusable(f"{executable} does not start") from None
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)", done.stdout.strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def go_version(go: str, environment: Mapping[str, str]) -> tuple[int, int]:
    """Go's own choice of toolchain included: an older `go` may fetch the one that go.mod asks for."""
    done = subprocess.run(
        [go, "version"], cwd=ROOT / "tools" / "pulumi", env=dict(environment), capture_output=True, text=True
    )
    match = re.search(r"go(\d+)\.(\d+)", done.stdout)
    if done.returncode != 0 or match is None:
        raise Unusable(f"{go} cannot be used: {_first_line(done.stderr)}")
    return int(match[1]), int(match[2])


def _run(command: list[str], environment: Mapping[str, str], complaint: str, seconds: int) -> None:
    try:
        done = subprocess.run(
            command, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise Unusable(f"{complaint}: no answer in {seconds} s") from None
    if done.returncode != 0:
        raise Unusable(f"{complaint}: {_first_line(done.stderr or done.stdout)}")


def _make(environment: Mapping[str, str], pinned: Version) -> str:
    """Build what is missing or older than its go.mod."""
    targets = [f".tools/bin/{binary}" for binary in BINARIES]
    make = ["make", "--no-print-directory", "--silent", "-C", str(ROOT), *targets]
    # The flags of a make that started us (-n, -B, its job server) are about its own targets.
    if subprocess.run(make, env={**environment, "MAKEFLAGS": ""}).returncode != 0:
        raise Unusable("the build with Go failed; its messages are above")
    return f"Pulumi {_text(pinned)}: .tools/bin (built with Go)"


def _complete(tools: Path) -> bool:
    return all(os.access(tools / "bin" / binary, os.X_OK) for binary in BINARIES)


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else "no reason given"


def _text(version: tuple[int, ...] | None) -> str:
    return ".".join(map(str, version)) if version else "(a development build)"


if __name__ == "__main__":
    sys.exit(main())
