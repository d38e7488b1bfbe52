"""Slips of the pen in calls of the launch API are told in a line, with what was meant; others as Python tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from xmgen.errors import InputError, Problem
from xmgen.frontends.xmanager import loader as xmanager


def problems(folder: Path, text: str) -> list[Problem]:
    script = folder / "launcher.py"
    script.write_text(f"from xmanager import xm, xm_local\n{text}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        xmanager.load(script, root=folder, stack="sweep")
    return list(caught.value.problems)


SEE = "docs/xmanager.md says what there is"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("xm.Jobb", "xmanager.xm has no 'Jobb'", "did you mean 'Job'?"),
        ("xm_local.secrets('x')", "xmanager.xm_local has no 'secrets'", "did you mean 'secret'?"),
        ("xm.ServiceTier.PRODD", "ServiceTier has no 'PRODD'", "did you mean 'PROD'?"),
        ("xm_local.create_experiment('x').ad", "LocalExperiment has no 'ad'", "did you mean 'add'?"),
        ("xm.JobRequirements(cpu=1).wattage", "JobRequirements has no 'wattage'", SEE),
        ("xm.Job(arg=1)", "Job takes no argument 'arg'", "did you mean 'args'?"),
        ("xm_local.Local(requirments=1)", "Local takes no argument 'requirments'", "did you mean 'requirements'?"),
        ("xm.ModuleName('x', module=1)", "ModuleName takes no argument 'module'", "did you mean 'module_name'?"),
        (
            "with xm_local.create_experiment('x') as experiment: experiment.add(1, arg=2)",
            "Experiment.add takes no argument 'arg'",
            "did you mean 'args'?",
        ),
        (
            "xm.Job(executable=1)",
            "Job: missing 1 required positional argument: 'executor'",
            "it takes args, env_vars, executable, executor, name",
        ),
        ("from xmanager.xm import Jobb", "xmanager.xm has no 'Jobb'", "did you mean 'Job'?"),
        ("from xmanager import xm_locl", "there is no module xmanager.xm_locl", "did you mean 'xmanager.xm_local'?"),
        ("import xmanager.xm_locl", "there is no module xmanager.xm_locl", "did you mean 'xmanager.xm_local'?"),
    ],
)
def test_a_slip_of_the_pen_has_a_hint_and_no_traceback(text: str, message: str, hint: str, tmp_path: Path) -> None:
    assert problems(tmp_path, text) == [Problem(message, "launcher.py:2", hint)]


@pytest.mark.parametrize(
    "text",
    [
        "(lambda a: a)(b=1)",
        "class Job:\n    def __init__(self, a): pass\nJob(arg=1)",
        "1 .foo",
        "import no_such_module",
        "max(default=1, cmp=2)",
    ],
)
def test_slips_in_the_scripts_own_names_have_their_traceback(text: str, tmp_path: Path) -> None:
    [problem] = problems(tmp_path, text)
    assert problem.message.startswith("the launch script raised ")
    assert "Traceback (most recent call last)" in problem.hint
