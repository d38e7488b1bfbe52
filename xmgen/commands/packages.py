"""What a stack's program needs of Pulumi's SDKs, and Pulumi's Python has not."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from xmgen import extras
from xmgen.errors import OperationError, Problem
from xmgen.project import PULUMI_FILE, Project
from xmgen.stack import configuration, resources
from xmgen.stack.resources import DeclaredResources


def refuse_missing(project: Project, stack: str) -> None:
    """Raise OperationError for a stack that could not run, before anything of it is kept.

    Pulumi runs the Python that runs xmgen, unless Pulumi.yaml names another environment: of that only Pulumi can tell.
    """
    if not _is_ours(project):
        return
    needed = _needed(resources.read(project.stack(stack)))
    missing = [name for name in sorted(needed) if find_spec(name) is None]
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


def _needed(declared: DeclaredResources) -> set[str]:
    """The packages of the resources that the program declares; xmgen is there."""
    types = [resource.type for resource in declared.resources]
    types += [declared.workloads.type] if declared.workloads else []
    providers = {type_.split(":")[2] if type_.startswith("pulumi:") else type_.split(":")[0] for type_ in types}
    return {f"pulumi_{provider.replace('-', '_')}" for provider in providers - {"xmgen"}}
