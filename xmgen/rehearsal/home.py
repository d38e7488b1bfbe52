"""What the engine finds in a rehearsal: a PULUMI_HOME of its own with the stand-ins, and a program for credentials.

Nothing of it is written outside the rehearsal's folder, and the user's own PULUMI_HOME is only read.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from xmgen import extras
from xmgen.errors import OperationError, Problem
from xmgen.project import Project
from xmgen.pulumi_cli import pulumi as cli
from xmgen.rehearsal.credentials import write_private

KUBERNETES = "kubernetes"
STAND_INS = ("gcp", "docker-build")
AUTH_PLUGIN = "gke-gcloud-auth-plugin"


@dataclass(frozen=True, slots=True)
class Home:
    """pulumi: the PULUMI_HOME. bin: the folder that comes first on PATH."""

    pulumi: Path
    bin: Path


def make(folder: Path, project: Project, token: str) -> Home:
    """token: what lets a client into the control plane. Raises OperationError when something is missing."""
    versions, problems = _versions()
    provider = _kubernetes_provider(project, versions.get(KUBERNETES, ""))
    if isinstance(provider, Problem):
        problems.append(provider)
    if problems or isinstance(provider, Problem):
        raise OperationError(*problems)
    home = Home(folder / "pulumi-home", folder / "bin")
    plugins = home.pulumi / "plugins"
    shutil.rmtree(plugins, ignore_errors=True)
    plugins.mkdir(parents=True)
    _link_others(plugins)
    for name in STAND_INS:
        _executable(_plugin(plugins, name, versions[name]), _stand_in(name, versions[name]))
    _plugin(plugins, KUBERNETES, versions[KUBERNETES]).symlink_to(provider)
    home.bin.mkdir(exist_ok=True)
    credential = folder / "credential.json"
    write_private(credential, json.dumps(_credential(token)).encode())
    _executable(home.bin / AUTH_PLUGIN, f"#!/bin/sh\nexec cat {shlex.quote(str(credential))}\n")
    return home


def _versions() -> tuple[dict[str, str], list[Problem]]:
    """Of the installed SDKs: the engine asks for plugins of just these."""
    found: dict[str, str] = {}
    missing: list[str] = []
    for name in (*STAND_INS, KUBERNETES):
        try:
            found[name] = metadata.version(f"pulumi-{name}")
        except metadata.PackageNotFoundError:
            missing.append(f"pulumi-{name}")
    if not missing:
        return found, []
    return found, [extras.missing_in_rehearsal(name) for name in missing]


def _kubernetes_provider(project: Project, version: str) -> Path | Problem:
    """Pulumi's own, of this version; else the one that `tools/` built, whatever it is; else the newest installed one,
    since the SDK and the provider understand each other across versions.
    """
    name = f"pulumi-resource-{KUBERNETES}"
    installed = _user_home() / "plugins"
    others = sorted(installed.glob(f"resource-{KUBERNETES}-v*/{name}"), key=_version, reverse=True)
    exact = installed / f"resource-{KUBERNETES}-v{version}" / name
    for candidate in (exact, *(folder / "plugins" / name for folder in cli.tools(project)), *others):
        if candidate.is_file():
            return candidate.resolve()
    return Problem(
        "Pulumi's Kubernetes provider is missing",
        hint=f"`pulumi plugin install resource {KUBERNETES} v{version}` gets it. `make .tools/plugins/{name}` in "
        f"xmgen's checkout builds one, which the same command installs with `--file CHECKOUT/.tools/plugins/{name}`",
    )


def _version(plugin: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", plugin.parent.name)]


def _user_home() -> Path:
    return Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")


def _link_others(plugins: Path) -> None:
    """The user's other plugins, which a program of theirs may need."""
    taken = tuple(f"resource-{name}-v" for name in (*STAND_INS, KUBERNETES))
    for installed in (_user_home() / "plugins").glob("*"):
        if not installed.name.startswith(taken):
            (plugins / installed.name).symlink_to(installed.resolve())


def _plugin(plugins: Path, name: str, version: str) -> Path:
    """Where the engine looks for a plugin's executable."""
    folder = plugins / f"resource-{name}-v{version}"
    folder.mkdir()
    return folder / f"pulumi-resource-{name}"


def _stand_in(name: str, version: str) -> str:
    # -P: a file of the user's must not take the place of a module that is imported.
    command = shlex.join([sys.executable, "-P", "-m", "xmgen.rehearsal.standin", name])
    return f'#!/bin/sh\nXMGEN_STANDIN_VERSION={version} exec {command} "$@"\n'


def _executable(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def _credential(token: str) -> dict[str, object]:
    return {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
