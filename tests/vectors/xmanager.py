"""Runs examples of XManager's and compares what we record with what XManager itself recorded for them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

from tests.vectors import comparison, records
from tests.vectors.invocation import Invocation, invocation
from xmgen import names
from xmgen.errors import XmgenError
from xmgen.experiment import Experiment
from xmgen.frontends.xmanager import loader as xmanager
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api.xm_local import conversion

LAUNCHERS = Path(__file__).resolve().parents[1] / "launchers"
"""Launch scripts of our own, with vectors."""


def run(vectors: Path, source: Path, *, others: bool = False) -> bool:
    """Print a line per vector of the folder `vectors`, and below it what differs. Whether all are the same.

    source: a checkout with the `examples/<name>/launcher.py` that the vectors' file names say.
    others: also compile the examples that have no vector; each must compile or be refused in words.
    """
    files = sorted(vectors.glob("*.json")) if vectors.is_dir() else []
    if not files:
        print(f"FAIL {vectors}: no vectors there")
        return False
    with copied(source) as root:
        results = [_report(file.stem, _compare(file, root)) for file in files]
        if others:
            compared = {file.stem for file in files}
            scripts = sorted((root / "examples").glob("*/launcher.py"))
            results += [_report_other(script, root) for script in scripts if script.parent.name not in compared]
    print(f"{sum(results)} of {len(results)} examples are as they should be")
    return all(results)


@contextlib.contextmanager
def copied(source: Path) -> Iterator[Path]:
    """The examples in a folder of their own: a script may make the compile write beside them."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        if (source / "examples").is_dir():
            shutil.copytree(source / "examples", root / "examples", ignore_dangling_symlinks=True)
        yield root


def _report(name: str, differences: list[str]) -> bool:
    print(f"{'FAIL' if differences else 'ok  '} {name}")
    for difference in differences:
        print(f"       {difference}")
    return not differences


def _compare(file: Path, source: Path) -> list[str]:
    script = source / "examples" / file.stem / "launcher.py"
    try:
        vector = json.loads(file.read_bytes())
    except ValueError as error:
        return [f"{file} is no JSON: {error}"]
    if not script.is_file():
        return [f"no such example: {script.relative_to(source)}"]
    if not isinstance(vector, dict):
        return [f"{file} holds no object"]
    try:
        ours = record(script, source, invocation(file.stem, script, vector))
    except XmgenError as error:
        return [f"does not compile: {error}"]
    return comparison.differences(vector, ours)


def record(script: Path, root: Path, how: Invocation) -> records.ExperimentRecord:
    """What we record when the script is run in that way."""
    with records.noting_given() as given:
        recorded, experiment = _experiment(script, root, how)
        return records.record(recorded, experiment, root, given)


def _experiment(script: Path, root: Path, how: Invocation) -> tuple[recording.Recording, Experiment]:
    stack = names.stack_name(script.parent.name)
    with mock.patch.dict(os.environ, how.env):
        recorded = xmanager.record(script, root=root, stack=stack, flags=how.flags)
    return recorded, conversion.to_experiment(recorded, stack=stack, source=script.relative_to(root).as_posix())


def _report_other(script: Path, root: Path) -> bool:
    """An example without a vector must compile, or be refused if it is one of those that must."""
    name = script.parent.name
    try:
        _, experiment = _experiment(script, root, Invocation(flags=FLAGS_OF_OTHERS.get(name, ())))
    except XmgenError as error:
        print(f"{'ok  ' if name in REFUSED else 'FAIL'} {name}: refused: {error}")
        return name in REFUSED
    print(f"ok   {name}: compiles to {sum(len(unit.jobs) for unit in experiment.units)} jobs")
    return True


# Without the flag the launch script itself raises TypeError.
FLAGS_OF_OTHERS: Mapping[str, tuple[str, ...]] = {
    "cifar10_tensorflow_k8s_tensorboard": ("--tensorboard_log_dir=gs://bkt/logs",)
}
# Trials that are chosen while the experiment runs: docs/xmanager.md.
REFUSED = {"vizier"}
