"""An executor's options are the same in the experiment, in experiment.yaml, in the launch API and in the docs."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import annotated_types
import attrs
import pytest

from tests.conftest import ROOT
from xmgen import experiment as ir
from xmgen.executors import limits
from xmgen.frontends.spec import executors as spec
from xmgen.frontends.xmanager.api import xm_local

EXECUTORS = ("Local", "Kubernetes", "Vertex")
RECORDS = (*EXECUTORS, "DockerOptions", "TensorboardCapability", "Volume")
XMANAGERS = {"experimental_stream_output": "stream_output", "tpu_capability": "tpu_runtime_version"}
"""Options that XManager calls otherwise."""
ONLY_IN_SCRIPTS = {"cloud_provider"}
"""Of which GKE is the only value."""


def documented(kind: str) -> set[str]:
    page = (ROOT / "docs" / "experiment-yaml.md").read_text().split("\n\n")
    [table] = [part for part in page if part.startswith("| kind |") and "| `vertex` |" in part]
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in table.splitlines()]
    found, current = set[str](), ""
    for named, key in rows:
        current = named or current
        if current in ("all", f"`{kind.lower()}`") and (option := re.fullmatch(r"`(\w+)(\.\w+)?`", key)):
            found.add(option[1])
    return found


@pytest.mark.parametrize("name", RECORDS)
def test_options_are_the_same_everywhere(name: str) -> None:
    ours = {field.name for field in fields(getattr(ir, name))} - {"kind"}
    launched = {field.name for field in attrs.fields(getattr(xm_local, name))} - ONLY_IN_SCRIPTS
    assert {XMANAGERS.get(option, option) for option in launched} == ours
    assert set(getattr(spec, name).model_fields) - {"kind"} == ours
    if name in EXECUTORS:
        assert documented(name) == ours


def bounds(option: Any) -> limits.Limit:
    metadata = [each for part in (option, *getattr(option.annotation, "__args__", ())) for each in _metadata(part)]
    [least] = [each.ge for each in metadata if isinstance(each, annotated_types.Ge)]
    [most] = [each.le for each in metadata if isinstance(each, annotated_types.Le)]
    return limits.Limit(least, most)


def _metadata(part: Any) -> list[Any]:
    found = [*getattr(part, "metadata", ()), *getattr(part, "__metadata__", ())]
    return found + [inner for each in found for inner in getattr(each, "metadata", ())]


@pytest.mark.parametrize("name", [name for name in limits.OPTIONS if limits.OPTIONS[name] is not limits.BYTES])
def test_ranges_are_the_same_in_a_file_and_in_a_script(name: str) -> None:
    [option] = [model.model_fields[name] for model in (spec.Kubernetes, spec.Vertex) if name in model.model_fields]
    assert bounds(option)[:2] == limits.OPTIONS[name][:2]
