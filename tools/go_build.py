"""Build one tool of this folder into `.tools/bin`, or a provider of Pulumi's into `.tools/plugins`, with a line of
progress now and then.

    python tools/go_build.py NAME [FOLDER]
    python tools/go_build.py NAME --copy MODULE FILE

`tools/FOLDER/go.mod` pins it, `tools/NAME/go.mod` if no folder is named: a `tool` line says which package to build, or
it is the `main.go` beside it. With `--copy` an executable script of a module that this go.mod requires is put there
instead, as it is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".tools" / "bin"
PLUGINS = ROOT / ".tools" / "plugins"
"""Off PATH, on which Pulumi would find a provider and say so in every run."""
PULUMI_VERSION = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"
KUBERNETES_VERSION = "k8s.io/component-base/version"
VERSION_VARIABLES = {
    "pulumi": {PULUMI_VERSION: "v{0}.{1}.{2}"},
    "pulumi-language-python": {PULUMI_VERSION: "v{0}.{1}.{2}"},
    "kubernetes": {
        f"{KUBERNETES_VERSION}.gitVersion": "v{0}.{1}.{2}",
        f"{KUBERNETES_VERSION}.gitMajor": "{0}",
        f"{KUBERNETES_VERSION}.gitMinor": "{1}",
    },
}
"""By folder, the variables that hold the tools' own version, as their release build sets them from its parts."""

SECONDS_BETWEEN_LINES = 20


def main(arguments: list[str]) -> int:
    go = shutil.which("go")
    if go is None:
        print("error: Go is needed and not on PATH", file=sys.stderr)
        return 1
    match arguments:
        case [name]:
            return build(go, name, name)
        case [name, folder] if not folder.startswith("-"):
            return build(go, name, folder)
        case [name, "--copy", module, file]:
            return copy(go, name, module, file)
        case _:
            sys.exit(__doc__)


def build(go: str, name: str, folder_name: str) -> int:
    """Exit code of the build."""
    folder = ROOT / "tools" / folder_name
    progress = Progress(name)
    package, version = pinned((folder / "go.mod").read_text(encoding="utf-8"), name)
    progress.show("looking for its modules")
    code, listed = run([go, "list", "-deps", package], folder, is_download, "downloaded {} modules", progress)
    if code != 0:
        return code
    packages = frozenset(listed.split())
    output = PLUGINS if name.startswith("pulumi-resource-") else BIN
    output.mkdir(parents=True, exist_ok=True)
    unfinished = output / f".{name}.{os.getpid()}"
    flags = " ".join(["-s -w", *version_flags(folder_name, version)])
    # The linker leaves out what debuggers read (-s -w): the compiler need not write it, a seventh of its work.
    lean = ["-gcflags=all=-dwarf=false", "-ldflags", flags]
    command = [go, "build", "-v", "-trimpath", *lean, "-o", str(unfinished), package]
    try:
        text = f"compiled {{}} of {len(packages)} packages"
        code, _ = run(command, folder, lambda line: line.strip() in packages, text, progress)
        if code == 0:
            unfinished.replace(output / name)
            progress.show("done", last=True)
        return code
    finally:
        unfinished.unlink(missing_ok=True)


def copy(go: str, name: str, module: str, file: str) -> int:
    """Exit code of Go, which finds the module and downloads it where it is missing."""
    command = [go, "mod", "download", "-json", module]
    done = subprocess.run(command, cwd=ROOT / "tools" / name, env=build_environment(), stdout=subprocess.PIPE)
    if done.returncode == 0:
        BIN.mkdir(parents=True, exist_ok=True)
        target = BIN / Path(file).name
        # Not with its mode and times: modules are read-only, and make compares times.
        target.write_bytes((Path(json.loads(done.stdout)["Dir"]) / file).read_bytes())
        target.chmod(0o755)
    return done.returncode


def build_environment() -> dict[str, str]:
    """The caller's, less what would change the result; caches in `.tools` where the caller has no home folder."""
    environment = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    flags = "-mod=readonly -buildvcs=false"
    if not environment.get("HOME"):
        cache = ROOT / ".tools" / "go"
        environment.setdefault("GOPATH", str(cache))
        environment.setdefault("GOCACHE", str(cache / "build"))
        # Else `rm -r .tools` could not remove the modules.
        flags += " -modcacherw"
    # No C compiler is needed, as for the official builds.
    return environment | {"GOFLAGS": flags, "GOWORK": "off", "CGO_ENABLED": "0"}


def pinned(go_mod: str, name: str) -> tuple[str, str]:
    """The package of a tool and the version of the module that has it: of several `tool` lines the one that ends in
    the tool's name. Without such lines it is the `main.go` of the folder, which has no version."""
    tools = re.findall(r"^(?:tool )?\s*([\w.-]+(?:/[\w.-]+)+)$", go_mod, re.MULTILINE)
    if not tools:
        return ".", ""
    tool = tools[0] if len(tools) == 1 else next(each for each in tools if each.endswith(f"/{name}"))
    for module, version in re.findall(r"^(?:require)?\s+(\S+) (v\S+)", go_mod, re.MULTILINE):
        if f"{tool}/".startswith(f"{module}/"):
            return tool, version
    raise ValueError(f"go.mod does not require the module of {tool}")


def version_flags(folder: str, version: str) -> list[str]:
    """What tells the linker to set the version variables of a folder's tools."""
    parts = version.removeprefix("v").split(".")
    return [f"-X {variable}={text.format(*parts)}" for variable, text in VERSION_VARIABLES.get(folder, {}).items()]


def is_download(line: str) -> bool:
    return line.startswith("go: downloading ")


def run(
    command: list[str], folder: Path, counted: Callable[[str], bool], text: str, progress: Progress
) -> tuple[int, str]:
    """Exit code and standard output. Lines on standard error are counted into `text`, or shown when they are not."""
    number = 0
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            command, cwd=folder, env=build_environment(), stdout=output, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        for line in process.stderr or ():
            if counted(line):
                number += 1
                progress.show(text.format(number))
            elif not is_download(line):
                progress.message(line)
        process.wait()
        output.seek(0)
        return process.returncode, output.read()


class Progress:
    """One line that changes in a terminal; elsewhere a line every 20 seconds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = time.monotonic()
        self._terminal = sys.stdout.isatty()
        self._shown = -float(SECONDS_BETWEEN_LINES)

    def show(self, what: str, last: bool = False) -> None:
        elapsed = time.monotonic() - self._started
        text = f"  {self._name}: {what} ({int(elapsed) // 60}:{int(elapsed) % 60:02d})"
        if self._terminal:
            print(f"\r\033[K{text}", end="\n" if last else "", flush=True)
        elif last or elapsed - self._shown >= SECONDS_BETWEEN_LINES:
            print(text, flush=True)
            self._shown = elapsed

    def message(self, line: str) -> None:
        print(f"\r\033[K{line}" if self._terminal else line, end="", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
