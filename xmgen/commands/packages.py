"""What a stack's program imports of Pulumi's SDKs, and Pulumi's Python has not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from xmgen import extras
from xmgen.errors import OperationError, Problem
from xmgen.project import PULUMI_FILE, Project
from xmgen.stack import configuration


def refuse_missing(project: Project, stack: str) -> None:
    """Raise OperationError for a stack that could not run, before anything of it is kept.

    Pulumi runs the Python that runs xmgen, unless Pulumi.yaml names another environment: of that only Pulumi can tell.
    """
    if not _is_ours(project):
        return
    missing = [name for name in sorted(set(_imported(project.stack(stack)))) if find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        hint = f"{extras.install('gcp')}, of xmgen's checkout, into the environment {sys.prefix}"
        raise OperationError(Problem(f"needs {', '.join(missing)}, which {are} not installed", where=stack, hint=hint))


def _is_ours(project: Project) -> bool:
    runtime: Any = configuration.read_settings(project.root / PULUMI_FILE).get("runtime")
    options: Any = cast("dict[str, Any]", runtime).get("options") if isinstance(runtime, dict) else None
    named = cast("dict[str, Any]", options) if isinstance(options, dict) else {}
    if named.get("toolchain", "pip") != "pip":
        return False
    environment = named.get("virtualenv")
    return not environment or (project.root / str(environment)).resolve() == Path(sys.prefix).resolve()


def _imported(folder: Path) -> Iterator[str]:
    """The packages `pulumi_…` that the modules of a stack begin with."""
    for file in folder.glob("*.py"):
        for node in ast.parse(file.read_bytes()).body:
            match node:
                case ast.Import(names=names):
                    modules = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module), level=0):
                    modules = [module]
                case _:
                    modules = []
            yield from (name for name in (module.partition(".")[0] for module in modules) if name.startswith("pulumi_"))
