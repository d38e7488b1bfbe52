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
try:
    runpy.run_path(str(program), run_name="__main__")
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("pulumi_"):
        raise
    raise pulumi.RunError(
        f"the stack {stack!r} needs {error.name}, which is not installed: install xmgen "
        "with its extra, `pip install '/path/to/xmgen[gcp]'`, into the Python environment that Pulumi uses"
    ) from None
