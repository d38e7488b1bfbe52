"""Generated Python: rendered from a template, parsed, formatted."""

from __future__ import annotations

import ast
import functools
import subprocess

from xmgen.errors import OperationError
from xmgen.plan.model import Value
from xmgen.program import printer
from xmgen.templating import register
from xmgen.templating import render as render_template

register(
    comment_lines=printer.comment_lines,
    constructor=printer.constructor,
    declaration=printer.declaration,
    depends_on=printer.depends_on,
    expression=printer.expression,
    indent_code=printer.indent_code,
)


def python(template: str, **values: Value | object) -> str:
    """A module: rendered, parsed, imports sorted and unused ones dropped, formatted."""
    source = render_template(template, **values)
    ast.parse(source, filename=template)
    return formatted(_ruff(source, "check", "--quiet", "--fix", "--select=I,F401", *_IMPORTS))


def formatted(source: str) -> str:
    return _ruff(source, "format", "--quiet")


# Which modules are the stack's own is said here: ruff would look for them in the current folder.
_IMPORTS = (
    "--config=src=[]",
    "--config=lint.isort.known-first-party=['cluster', 'executables', 'images', 'jobs', 'project']",
)


def _ruff(source: str, *arguments: str) -> str:
    # --isolated: the settings of a project that we happen to run in must not change a byte.
    command = [_ruff_program(), *arguments, "--isolated", "--config=line-length=120", "--no-cache", "-"]
    # The input is a program's text, the command a fixed list.
    done = subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    if done.returncode != 0:
        raise OperationError(f"the generated code could not be formatted: {done.stderr.strip()}")
    return done.stdout


@functools.cache
def _ruff_program() -> str:
    from ruff import find_ruff_bin  # pyright: ignore[reportMissingTypeStubs]

    return find_ruff_bin()
