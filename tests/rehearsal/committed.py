"""The committed stacks on GKE, and those on whose clusters they are."""

from __future__ import annotations

from tests.conftest import ROOT
from xmgen import project
from xmgen.commands import target
from xmgen.plan.model import Plan

PROJECT = project.find(ROOT)


def plans() -> dict[str, Plan]:
    every = {stack: target.existing(PROJECT, stack) for stack in PROJECT.stacks()}
    return {stack: plan for stack, plan in every.items() if plan.cluster is not None}


def owner(plan: Plan) -> Plan | None:
    assert plan.cluster is not None
    return target.existing(PROJECT, plan.cluster.name) if plan.cluster.kind == "stack" else None
