"""The provider imports no front end, and nothing that brings one: not even late, in a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT


def _module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_module(file): file for file in (ROOT / "xmgen").rglob("*.py")}


def imported(module: str) -> Iterator[str]:
    """By the text of a module, wherever it says so, but for what only a type checker reads."""
    pending: list[ast.AST] = [ast.parse(MODULES[module].read_text(encoding="utf-8"))]
    while pending:
        match pending.pop():
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=orelse):
                pending += orelse
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(origin), names=names):
                yield from (origin, *(f"{origin}.{each.name}" for each in names))
            case node:
                pending += ast.iter_child_nodes(node)


def test_the_provider_brings_no_front_end() -> None:
    brought_by = {module: "" for module in MODULES if module.startswith("xmgen.provider")}
    pending = list(brought_by)
    while pending:
        module = pending.pop()
        packages = [module.rpartition(".")[0]] if "." in module else []
        for name in [*imported(module), *packages]:
            if name in MODULES and name not in brought_by:
                brought_by[name] = module
                pending.append(name)
    ways = {name: by for name, by in brought_by.items() if name.startswith(("xmgen.frontends", "xmgen.commands"))}
    assert ways == {}
