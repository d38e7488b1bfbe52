"""The settings of a stack in a rehearsal: the user's own, less secrets, and something for what is not set yet."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xmgen.engine import backend
from xmgen.plan import Plan
from xmgen.project import PULUMI_FILE, Project

PROJECT = "rehearsal"
PLACEHOLDER = "rehearsal"


def write(project: Project, plan: Plan, file: Path) -> list[str]:
    """Write the file that the engine reads instead of the user's. Returns the keys that the rehearsal has filled in."""
    import yaml

    stack = plan.experiment.stack
    own: dict[str, Any] = backend.read_settings(project.settings(stack)).get("config") or {}
    config = {key: value for key, value in own.items() if not backend.has_secret(value)}
    needed = [*required(project, project.stack(stack)), *(key for key in own if key not in config)]
    there = config.keys() | _defaulted(project)
    filled = [key for key in dict.fromkeys(needed) if key not in there]
    settings = {"config": {**config, **{key: PROJECT if key == "gcp:project" else PLACEHOLDER for key in filled}}}
    file.parent.mkdir(parents=True, exist_ok=True)
    before = backend.read_settings(file)
    file.write_text(
        yaml.safe_dump({**{key: value for key, value in before.items() if key != "config"}, **settings}),
        encoding="utf-8",
    )
    return filled


def required(project: Project, folder: Path) -> list[str]:
    """The configuration that a stack's program cannot do without, as far as it says so in plain words."""
    keys: list[str] = []
    for file in sorted(folder.glob("*.py")):
        for node in _always(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=of, attr="require" | "require_secret" | "require_bool"),
                    args=[ast.Constant(value=str(key))],
                ):
                    keys.append(f"{_namespace(of, project.name)}:{key}")
                case _:
                    pass
    return list(dict.fromkeys(keys))


def _always(node: ast.AST) -> Iterator[ast.AST]:
    """What runs whatever the configuration says: of a condition, only its test."""
    yield node
    inside = [node.test] if isinstance(node, ast.If | ast.IfExp) else ast.iter_child_nodes(node)
    for each in inside:
        yield from _always(each)


def _namespace(of: ast.expr, project: str) -> str:
    """`pulumi.Config("gcp")` is the provider's; everything else the project's own."""
    match of:
        case ast.Call(args=[ast.Constant(value=str(namespace))]):
            return namespace
        case _:
            return project


def _defaulted(project: Project) -> frozenset[str]:
    """What the project's own Pulumi.yaml has a default for."""
    declared: dict[str, Any] = backend.read_settings(project.root / PULUMI_FILE).get("config") or {}
    return frozenset(f"{project.name}:{key}" for key in declared)
