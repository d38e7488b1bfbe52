"""Writes an experiment.yaml into a small project and loads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from xmgen.errors import InputError
from xmgen.experiment import Experiment
from xmgen.frontends import spec

HEAD = """\
title: T
executables:
  trainer: {kind: python_container, path: code, entrypoint: {module_name: train}}
work_units:
"""


def project(root: Path) -> Path:
    """A project with some code."""
    (root / "code").mkdir(exist_ok=True)
    (root / "code/train.py").write_text("print('train')\n")
    return root


def load(root: Path, text: str | bytes) -> Experiment:
    file = project(root) / "experiment.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return spec.load(file, root=root, stack="s")


def load_units(root: Path, units: str) -> Experiment:
    """units: what stands below `work_units:`, without indentation."""
    return load(root, HEAD + "".join(f"  {line}\n" for line in units.splitlines()))


def problems(root: Path, text: str | bytes) -> list[str]:
    """Every problem of the file, as the user sees it, without the file's name."""
    with pytest.raises(InputError) as caught:
        load(root, text)
    return [str(problem).removeprefix("experiment.yaml:").lstrip() for problem in caught.value.problems]
