"""How xmgen's extras are installed, as errors say it. It is in no package index, so a checkout of it is named."""

from __future__ import annotations

from xmgen.errors import Problem


def install(*extras: str) -> str:
    """The command, which works once its path is that of the checkout."""
    return f"pip install '/path/to/xmgen[{','.join(extras)}]'"


def missing_in_rehearsal(package: str) -> Problem:
    """A package that a rehearsal imports is not installed."""
    hint = f"{install('gcp', 'rehearsal')}, of xmgen's checkout, installs what a rehearsal imports"
    return Problem(f"the Python package {package} is missing", hint=hint)
