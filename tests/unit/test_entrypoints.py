"""The module that a PythonContainer starts has to be somewhere."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.builders import experiment, python_container
from tests.unit.spec_files import load, problems
from xmgen.errors import InputError, Problem
from xmgen.experiment import ModuleName
from xmgen.frontends.xmanager import loader as xmanager
from xmgen.plan import entrypoints, planner

FILES = ["train.py", "data/__init__.py", "data/fetch.py", "tool/__main__.py", "notes.txt"]
HERE = (None, None)


def refused(module: str, hint: str) -> tuple[None, Problem]:
    return None, Problem(f"there is no module {module!r} in code/model", hint=hint)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("train", HERE),
        ("data.fetch", HERE),
        ("tool", HERE),
        ("http.server", HERE),
        ("trian", refused("trian", "did you mean 'train'?")),
        ("data", refused("data", "known: data.fetch, tool, train")),
        ("data.fetsh", refused("data.fetsh", "did you mean 'data.fetch'?")),
        ("notes", ("", None)),
        ("model.train", refused("model.train", "did you mean 'train'?")),
        ("torch.distributed.run", ("", None)),
    ],
)
def test_a_module_is_here_or_elsewhere_or_misspelt(module: str, expected: tuple[str | None, Problem | None]) -> None:
    assert entrypoints.elsewhere(module, FILES, path="code/model", deep=False, installs=False) == expected


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("trian", ("train", None)),
        ("data.fetsh", refused("data.fetsh", "did you mean 'data.fetch'?")),
    ],
)
def test_modules_of_an_image_that_has_more(module: str, expected: tuple[str | None, Problem | None]) -> None:
    assert entrypoints.elsewhere(module, FILES, path="code/model", deep=False, installs=True) == expected


@pytest.mark.parametrize(
    ("module", "expected"),
    [("model.train", HERE), ("model.tool", HERE), ("train", refused("train", "did you mean 'model.train'?"))],
)
def test_modules_that_are_imported_from_above_the_folder(
    module: str, expected: tuple[str | None, Problem | None]
) -> None:
    assert entrypoints.elsewhere(module, FILES, path="code/model", deep=True, installs=False) == expected


def test_a_module_that_something_has_to_install_is_noted() -> None:
    container = python_container(entrypoint=ModuleName("trian"), elsewhere="train")
    assert planner.plan(experiment(executables=(container,))).notes == (
        "trainer runs the module trian, which is not in code/trainer: something has to install it. "
        "Did you mean 'train'?",
    )


SPEC = """\
title: T
executables:
  trainer: {{kind: python_container, path: code, entrypoint: {{module_name: trian}}{more}}}
work_units:
  a: {{job: {{executable: trainer, executor: {{kind: local}}}}}}
"""


def test_in_an_experiment_yaml(tmp_path: Path) -> None:
    assert problems(tmp_path, SPEC.format(more="")) == [
        "3 executables.trainer: there is no module 'trian' in code\n  did you mean 'train'?"
    ]
    [executable] = load(tmp_path, SPEC.format(more=", base_image: ours")).executables
    assert getattr(executable, "elsewhere", None) == "train"
    [executable] = load(tmp_path, SPEC.format(more=", docker_instructions: [RUN true]")).executables
    assert getattr(executable, "elsewhere", None) is None


def test_in_a_launch_script(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/train.py").write_text("")
    script = tmp_path / "launcher.py"
    script.write_text(
        textwrap.dedent(
            """\
            from xmanager import xm, xm_local
            with xm_local.create_experiment('x') as experiment:
                [code] = experiment.package([
                    xm.python_container(xm_local.Local.Spec(), xm.ModuleName('trian'), path='code')])
                experiment.add(xm.Job(code, xm_local.Local()))
            """
        )
    )
    with pytest.raises(InputError) as caught:
        xmanager.load(script, root=tmp_path, stack="sweep")
    assert caught.value.problems == (
        Problem("there is no module 'trian' in code", "launcher.py:4", "did you mean 'train'?"),
    )
