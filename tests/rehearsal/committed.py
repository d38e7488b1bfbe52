"""The committed stacks on GKE, and those on whose clusters they are."""

from __future__ import annotations

from tests.conftest import ROOT
from xmgen import project
from xmgen.commands import target
from xmgen.stack.compiled import CompiledStack

PROJECT = project.find(ROOT)


def stacks() -> dict[str, CompiledStack]:
    every = {name: target.existing(PROJECT, name) for name in PROJECT.stacks()}
    return {name: stack for name, stack in every.items() if stack.cluster is not None}


def owner(stack: CompiledStack) -> CompiledStack | None:
    assert stack.cluster is not None
    return target.existing(PROJECT, stack.cluster.name) if stack.cluster.kind == "stack" else None
