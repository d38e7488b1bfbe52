"""What runs, shows and reviews a compiled stack reads what is committed: it has no planner, and no front end."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PLANS = ("xmgen.compiler", "xmgen.frontends", "xmgen.plan.planner")
"""What plans, and with it another version of xmgen would do another thing than what is committed."""

COMMANDS = {
    "up, preview, destroy, refresh": "from xmgen.commands import operate",
    "status": "from xmgen.commands import status",
    "logs": "from xmgen.commands import logs",
    "inspect": "from xmgen.commands import inspect",
    "rehearse": "from xmgen.commands import rehearse",
    "review": "from xmgen.commands import review",
}

OF_A_STACK = """
from pathlib import Path
from xmgen import project
from xmgen.commands import confirmation, target
from xmgen.executors.base import runtimes
from xmgen.executors.gke import moves
from xmgen.pulumi_cli import trials
from xmgen.stack import configuration, resource_order
runtimes()
here = project.find(Path({root!r}))
for name in here.stacks():
    compiled = target.compiled_stack(here, name, None, ())
    trials.rows(compiled), trials.jobs(compiled), confirmation.question_of_up(compiled, None)
    configuration.of_stack(here, name)
    moves.wanted(here, compiled, lambda: '{{"deployment": {{}}}}')
    [unit.manifests for unit in compiled.units], resource_order.in_order(compiled)
"""


def imported(code: str) -> set[str]:
    """The modules that a fresh interpreter has after this."""
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.__stdout__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code", [*COMMANDS.values(), OF_A_STACK.format(root=str(ROOT))], ids=[*COMMANDS, "every committed stack, read"]
)
def test_nothing_after_the_compile_plans(code: str) -> None:
    assert {module for module in imported(code) if module.startswith(PLANS)} == set()


def imports(folder: str) -> Iterator[tuple[str, str]]:
    """The modules of a folder of the package, and what they import, wherever in them."""
    for file in sorted((ROOT / "xmgen" / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                yield from ((_name(file), alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from ((_name(file), f"{node.module}.{alias.name}") for alias in node.names)


def _name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("folder", ["executors", "pulumi_cli", "stack", "rehearsal", "provider", "plan", "program"])
def test_nothing_below_imports_commands(folder: str) -> None:
    assert [(who, what) for who, what in imports(folder) if what.startswith(("xmgen.commands", "xmgen.cli"))] == []


NAMED = ("xmgen.executors.gke", "xmgen.executors.local", "xmgen.executors.vertex")


def test_commands_name_no_executor() -> None:
    """But the one that rehearses what runs on GKE."""
    found = [each for folder in ("cli", "commands", "pulumi_cli") for each in imports(folder)]
    assert {who for who, what in found if what.startswith(NAMED)} == {"xmgen.commands.rehearse"}
