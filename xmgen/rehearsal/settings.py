"""The settings of a stack in a rehearsal: the user's own, less secrets, and something for what is not set yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xmgen.project import Project
from xmgen.stack import configuration
from xmgen.stack.compiled import CompiledStack

PROJECT = "rehearsal"
PLACEHOLDER = "rehearsal"


def write(project: Project, compiled: CompiledStack, file: Path) -> list[str]:
    """Write the file that the engine reads instead of the user's. Returns what the rehearsal has filled in, as
    `--set` names it.
    """
    import yaml

    stack = compiled.name
    own: dict[str, Any] = configuration.read_settings(project.settings(stack)).get("config") or {}
    config = {key: value for key, value in own.items() if not configuration.has_secret(value)}
    program = [setting.name for setting in configuration.of_stack(project, stack) if setting.needed]
    needed = [*(_full(project, name) for name in program), *(key for key in own if key not in config)]
    there = config.keys() | {_full(project, name) for name in configuration.defaulted(project)}
    filled = [key for key in dict.fromkeys(needed) if key not in there]
    settings = {"config": {**config, **{key: PROJECT if key == "gcp:project" else PLACEHOLDER for key in filled}}}
    file.parent.mkdir(parents=True, exist_ok=True)
    before = configuration.read_settings(file)
    file.write_text(
        yaml.safe_dump({**{key: value for key, value in before.items() if key != "config"}, **settings}),
        encoding="utf-8",
    )
    return [key.removeprefix(f"{project.name}:") for key in filled]


def _full(project: Project, name: str) -> str:
    """With its namespace, as Pulumi writes it."""
    return name if ":" in name else f"{project.name}:{name}"
