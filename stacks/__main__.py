"""Runs the program of the selected stack, stacks/<stack>/__main__.py."""

import runpy
import sys
from pathlib import Path

import pulumi

stack = pulumi.get_stack()
program = Path(__file__).parent / stack / "__main__.py"
if not program.is_file():
    compiled = sorted(path.parent.name for path in Path(__file__).parent.glob("*/__main__.py"))
    raise pulumi.RunError(
        f"no experiment is compiled for the stack {stack!r}: {program.parent.name}/ does not exist below stacks/; "
        + (f"compiled are {', '.join(compiled)}" if compiled else "`xmgen compile` makes one")
    )
# The modules of a stack import each other.
sys.path.insert(0, str(program.parent))
runpy.run_path(str(program), run_name="__main__")
