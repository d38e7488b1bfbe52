"""Plan -> the files of a stack. Pure: the same plan gives the same bytes."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterable

import yaml

from xmgen import lock, summary
from xmgen.errors import OperationError
from xmgen.plan import Manifest, Plan, Value, header
from xmgen.templating import render as render_template

LOCK = "experiment.lock.json"
MANIFEST = "manifests/local.yaml"

_NEVER_FOLD = 2**31 - 1
"""Width of a line of YAML: a long argument stays on one line, since a folded one is hard to compare."""


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
        MANIFEST: manifests(plan),
        "SUMMARY.md": summary.render(plan),
        LOCK: lock.dumps(experiment),
    }
    for executable in plan.executables:
        if executable.dockerfile is not None:
            files[f"images/{executable.name}/Dockerfile"] = executable.dockerfile
    return files


def manifests(plan: Plan) -> str:
    """One YAML document per work unit, in the user's order."""
    return f"# {header(plan.experiment)}\n{dump_yaml(unit.manifest for unit in plan.units)}"


class _Dumper(yaml.CSafeDumper):
    """Anchors would make documents that share a value unreadable."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def dump_yaml(documents: Iterable[Manifest]) -> str:
    return yaml.dump_all(
        documents,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        explicit_start=True,
        width=_NEVER_FOLD,
    )


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
