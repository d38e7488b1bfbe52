"""The generated program, run under Pulumi's mocks: what comes out is byte for byte what went in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import programs, type_checks
from tests.builders import XID, experiment, job, python_container
from xmgen.experiment import Container, Experiment, ShellSafeArg
from xmgen.plan import planner
from xmgen.program import render as program

NASTY = [
    "{{ 7 * 7 }}",
    "{% raw %}",
    "'''",
    '"""',
    "\\",
    "$(HOME)",
    "\r\n---\n",
    "- a: &b *b",
    "<xmgen:config:project>",
    "🎉",
]
# What a process can be given: any text without NUL that has a UTF-8 form.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.sampled_from(NASTY)
NAME = TEXT.filter(lambda text: text != "")


def declared(compiled: Experiment, folder: Path) -> list[programs.Declared]:
    programs.write(folder, program.render(planner.plan(compiled)))
    return programs.run(folder).resources


def test_a_program_declares_its_executables_and_one_run_per_unit(tmp_path: Path) -> None:
    trial = job("--lr=0.1", ShellSafeArg("$HOME"), env={"A": "b"})
    compiled = experiment(
        trial,
        job(name="evaluate", executable="redis"),
        executables=(python_container(), Container(name="redis", image="redis:7")),
        after={1: [0]},
    )
    first, second = planner.plan(compiled).units
    expected = [
        programs.Declared(
            "xmgen:local:Executable",
            "trainer",
            {
                "directory": "code/trainer",
                "digest": "sha256:" + "0" * 64,
                "command": ["python", "-m", "train"],
                "workingDirectory": "code/trainer",
                "dockerfile": "stacks/sweep/images/trainer/Dockerfile",
            },
        ),
        programs.Declared("xmgen:local:Executable", "redis", {"image": "redis:7"}),
        programs.Declared(
            "xmgen:local:Run",
            first.name,
            {
                "name": first.name,
                "identity": first.identity,
                "jobs": [
                    {
                        "name": "train",
                        "hostname": f"{XID}_1_train",
                        "executable": {"packaged": "trainer"},
                        "args": ["--lr=0.1", {"shell": "$HOME"}],
                        "env": {"A": "b"},
                    }
                ],
            },
        ),
        programs.Declared(
            "xmgen:local:Run",
            second.name,
            {
                "name": second.name,
                "identity": second.identity,
                "jobs": [{"name": "evaluate", "hostname": f"{XID}_2_evaluate", "executable": {"packaged": "redis"}}],
                "after": {first.name: f"attempt of {first.name}"},
            },
        ),
    ]
    # What waits for nothing is registered in any order.
    assert sorted(declared(compiled, tmp_path), key=by_name) == sorted(expected, key=by_name)


def by_name(resource: programs.Declared) -> tuple[str, str]:
    return resource.type, resource.name


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=NAME, name=NAME, args=st.lists(TEXT, max_size=4), env=st.dictionaries(NAME, TEXT, max_size=3))
def test_what_goes_in_comes_out(tmp_path: Path, title: str, name: str, args: list[str], env: dict[str, str]) -> None:
    executable = python_container(name, path="code/x")
    compiled = experiment(job(*args, name=name, executable=name, env=env), title=title, executables=(executable,))
    run = declared(compiled, tmp_path)[-1].inputs["jobs"][0]
    assert (run["name"], run.get("args", []), run.get("env", {})) == (name, args, env)


@settings(max_examples=25, deadline=None)
@given(title=NAME, name=NAME, source=NAME)
def test_no_text_of_the_users_changes_the_programs_structure(title: str, name: str, source: str) -> None:
    """Whatever the texts: the same statements, which differ in constants only."""

    def shape(files: dict[str, str]) -> list[str]:
        return [skeleton(files[path]) for path in ("__main__.py", "executables.py", "jobs.py")]

    def compiled(title: str, name: str, source: str) -> dict[str, str]:
        executable = python_container(name, path="code/x")
        base = experiment(job(name=name, executable=name), title=title, executables=(executable,))
        return program.render(planner.plan(Experiment(**{**fields(base), "source": source})))

    assert shape(compiled(title, name, source)) == shape(compiled("a", "b", "c"))


def skeleton(source: str) -> str:
    import ast

    class Blank(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.Constant:
            return ast.Constant(value=type(node.value).__name__)

    return ast.dump(Blank().visit(ast.parse(source)))


def fields(compiled: Experiment) -> dict[str, Any]:
    return {name: getattr(compiled, name) for name in Experiment.__dataclass_fields__}


def test_the_same_input_gives_the_same_bytes_anywhere(tmp_path: Path) -> None:
    script = (
        "from tests.builders import *; import json, sys;"
        "from xmgen.plan import planner; from xmgen.program import render as program;"
        "files = program.render(planner.plan(experiment(job('--a=1', env={'B': '1', 'A': '2'}), job('--a=2'))));"
        "sys.stdout.write(json.dumps(files))"
    )
    root = Path(__file__).parents[2]
    outputs = set[bytes]()
    for seed, folder, zone in (("0", tmp_path, "UTC"), ("1", Path("/"), "Asia/Tokyo"), ("2", root, "America/Lima")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(root), "COLUMNS": "20"}
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, check=True
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_nothing_generated_names_a_machine_or_a_moment(tmp_path: Path) -> None:
    files = program.render(planner.plan(experiment()))
    text = "".join(files.values())
    assert str(Path.home()) not in text
    assert str(tmp_path.anchor + "tmp") not in text
    import xmgen

    # The version stands in the lock file alone: another changes no other byte.
    named = [path for path, content in files.items() if xmgen.__version__ in content]
    assert named == ["experiment.lock.json"]
    newer = program.render(planner.plan(experiment()), "99.0")
    assert [path for path in files if files[path] != newer[path]] == named


def test_a_generated_program_type_checks(tmp_path: Path) -> None:
    compiled = experiment(job("--a=1"), job("--a=2"), after={1: [0]})
    programs.write(tmp_path / "sweep", program.render(planner.plan(compiled)))
    assert type_checks.problems([tmp_path / "sweep"]) == []


@pytest.mark.parametrize("document", ["--a=1", "yes", "0o7", "1e3", "2020-01-01", "~", "null", " x ", "#", "a: b", ""])
def test_yaml_does_not_reinterpret_an_argument(document: str, tmp_path: Path) -> None:
    assert declared(experiment(job(document)), tmp_path)[-1].inputs["jobs"][0]["args"] == [document]
