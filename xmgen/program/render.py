"""Plan -> the files of a stack. Pure: the same plan gives the same bytes."""

from __future__ import annotations

import re

from xmgen.plan.model import Plan, header
from xmgen.program import gke as program_gke
from xmgen.program import manifests, summary
from xmgen.program import vertex as program_vertex
from xmgen.program.python import python
from xmgen.program.surroundings import surroundings
from xmgen.project import LOCK_FILE
from xmgen.stack import configuration, lock

RUNS = "manifests/local.yaml"


def render(plan: Plan) -> dict[str, str]:
    """The files of the stack's folder: path relative to it -> text."""
    if plan.cluster:
        files = program_gke.files(plan)
    elif plan.vertex:
        files = program_vertex.files(plan)
    else:
        files = _local_files(plan)
    files["SUMMARY.md"] = summary.render(plan, surroundings(plan), configuration.of_files(files))
    return {**files, LOCK_FILE: lock.dumps(plan.experiment)}


def _local_files(plan: Plan) -> dict[str, str]:
    title = plan.experiment.title
    files = {
        "__main__.py": python(
            "stack/__main__.py.j2",
            header=header(plan.experiment),
            docstring=summary.docstring(plan),
            title=title,
        ),
        "executables.py": python(
            "stack/executables.py.j2",
            header=header(plan.experiment),
            executables=[
                {
                    "name": executable.name,
                    "arguments": [(_snake_case(key), value) for key, value in executable.inputs.items()],
                }
                for executable in plan.executables
            ],
        ),
        "jobs.py": python(
            "stack/jobs.py.j2",
            header=header(plan.experiment),
            dependencies=any(unit.depends_on for unit in plan.units),
        ),
        RUNS: _manifests(plan),
    }
    for executable in plan.executables:
        if executable.dockerfile is not None:
            files[f"images/{executable.name}/Dockerfile"] = executable.dockerfile
    return files


def _manifests(plan: Plan) -> str:
    """One YAML document per resource, in the user's order."""
    documents = (manifest for unit in plan.units for manifest in unit.manifests)
    return f"# {header(plan.experiment)}\n{manifests.dump(documents)}"


def _snake_case(key: str) -> str:
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", key)
