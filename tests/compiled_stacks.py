"""Stacks as they are compiled, for tests of what reads them, without a folder."""

from __future__ import annotations

from xmgen.experiment import Experiment
from xmgen.plan import planner
from xmgen.plan.planner import Stacks, no_other_stack
from xmgen.program import render as program
from xmgen.stack import compiled
from xmgen.stack.compiled import CompiledStack


def compiled_stack(experiment: Experiment, stacks: Stacks = no_other_stack) -> CompiledStack:
    """stacks: the others, whose cluster it may use."""
    return compiled.of_files(experiment, program.render(planner.plan(experiment, stacks)).get)
