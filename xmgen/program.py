"""Plan -> the files of a stack. Pure: the same plan gives the same bytes."""

from __future__ import annotations

import ast
import functools
import re
import subprocess

from xmgen import lock, manifests, summary
from xmgen.errors import OperationError
from xmgen.plan import Plan, Value, header
from xmgen.templating import render as render_template

LOCK = "experiment.lock.json"
MANIFEST = "manifests/local.yaml"


def render(plan: Plan) -> dict[str, str]:
    """The files of the stack's folder: path relative to it -> text."""
    experiment = plan.experiment
    files = {
        "__main__.py": _python(
            "stack/__main__.py.j2",
            header=header(experiment),
            docstring=f"{experiment.title}: {summary.overview(plan)}",
            title=experiment.title,
        ),
        "executables.py": _python(
            "stack/executables.py.j2",
            header=header(experiment),
            executables=[
                {
                    "name": executable.name,
                    "arguments": [(_snake_case(key), value) for key, value in executable.inputs.items()],
                }
                for executable in plan.executables
            ],
        ),
        "jobs.py": _python(
            "stack/jobs.py.j2",
            header=header(experiment),
            dependencies=any(unit.depends_on for unit in plan.units),
        ),
        MANIFEST: _manifests(plan),
        "SUMMARY.md": summary.render(plan),
        LOCK: lock.dumps(experiment),
    }
    for executable in plan.executables:
        if executable.dockerfile is not None:
            files[f"images/{executable.name}/Dockerfile"] = executable.dockerfile
    return files


def _manifests(plan: Plan) -> str:
    """One YAML document per work unit, in the user's order."""
    return f"# {header(plan.experiment)}\n{manifests.dump(unit.manifest for unit in plan.units)}"


def _snake_case(key: str) -> str:
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", key)


def _python(template: str, **values: Value | object) -> str:
    """A module: rendered, parsed, imports sorted and unused ones dropped, formatted."""
    source = render_template(template, **values)
    ast.parse(source, filename=template)
    source = _ruff(source, "check", "--quiet", "--fix", "--select=I,F401", *_IMPORTS)
    return _ruff(source, "format", "--quiet")


# Which modules are the stack's own is said here: ruff would look for them in the current folder.
_IMPORTS = ("--config=src=[]", "--config=lint.isort.known-first-party=['executables', 'jobs']")


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
