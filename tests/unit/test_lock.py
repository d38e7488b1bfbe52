"""`experiment.lock.json` gives back the experiment that was compiled, and nothing else is taken for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import experiment, job
from xmgen.errors import InputError
from xmgen.stack import lock


def test_a_lock_file_gives_the_experiment_back() -> None:
    compiled = experiment(job("--a=1", env={"A": "é\n"}), job(name="b"), after={1: [0]}, title='"{{ x }}" 🎉')
    compiled = replace(compiled, origins={"work unit 1": "launcher.py:1"})
    text = lock.dumps(compiled)
    assert lock.loads(text, "lock") == compiled
    assert "launcher.py:1" not in text


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"version": 1}', '{"version": 99}', "not json", '{"version": 1, "x": 2}']
)
def test_a_text_that_is_no_lock_file_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        lock.loads(text, "stacks/x/experiment.lock.json")
    assert caught.value.problems[0].where == "stacks/x/experiment.lock.json"


HOSTILE: dict[str, tuple[list[str | int], object]] = {
    "a source elsewhere": (["source"], "../launcher.py"),
    "a source anywhere": (["source"], "/tmp/launcher.py"),
    "a source by a detour": (["source"], "a/../../launcher.py"),
    "code elsewhere": (["executables", 0, "path"], "../code"),
    "an executable that is none": (["units", 0, "jobs", 0, "executable"], "nothing"),
    "no executable": (["executables"], []),
    "a unit without jobs": (["units", 0, "jobs"], []),
    "a predecessor that comes later": (["units", 0, "depends_on"], [1]),
    "a predecessor that is itself": (["units", 0, "depends_on"], [0]),
    "a predecessor counted from the end": (["units", 0, "depends_on"], [-1]),
    "no number": (["units", 0, "jobs", 0, "executor", "requirements", "cpu"], float("nan")),
    "a text that is no number": (["units", 0, "jobs", 0, "executor", "requirements", "cpu"], "1e400"),
    "half of a surrogate pair": (["units", 0, "jobs", 0, "args"], ["\ud800"]),
    "no commands": (["executables", 0, "entrypoint"], {"commands": []}),
    "another stack": (["stack"], "../../elsewhere"),
}


@pytest.mark.parametrize("fault", HOSTILE)
def test_a_lock_file_of_somebody_elses_is_not_believed(fault: str) -> None:
    *path, last = HOSTILE[fault][0]
    content = json.loads(lock.dumps(experiment(job("--a=1"), job("--a=2"))))
    place: Any = content
    for key in path:
        place = place[key]
    place[last] = HOSTILE[fault][1]
    with pytest.raises(InputError):
        lock.loads(json.dumps(content), "lock", "sweep")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": 1, "experiment_id": ' + "9" * 5000 + "}"])
def test_a_lock_file_that_python_cannot_take_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        lock.loads(text, "lock")


@pytest.mark.parametrize("make", [lambda file: file.mkdir(), lambda file: file.write_bytes(b"\xff")])
def test_a_lock_file_that_cannot_be_read_is_bad_input(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path / "experiment.lock.json")
    with pytest.raises(InputError, match="cannot be read"):
        lock.read(tmp_path / "experiment.lock.json")
