"""Plan -> the modules of a program that runs on this machine: executables, jobs."""

from __future__ import annotations

from xmgen.plan.model import Plan, header
from xmgen.program import summary
from xmgen.program.python import python


def modules(plan: Plan) -> dict[str, str]:
    """File -> text."""
    head, title = header(plan.experiment), plan.experiment.title
    return {
        "__main__.py": python("stack/__main__.py.j2", header=head, docstring=summary.docstring(plan), title=title),
        "executables.py": python("stack/executables.py.j2", header=head, executables=plan.declared.of("executables")),
        "jobs.py": python("stack/jobs.py.j2", header=head, dependencies=any(unit.depends_on for unit in plan.units)),
    }
