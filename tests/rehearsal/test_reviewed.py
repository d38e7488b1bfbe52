"""What a review says of an edit before it is merged is what the engine then does: no less, and here no more."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from tests.builders import experiment, job
from tests.rehearsal.edited import Key, Stack
from tests.rehearsal.stacks import IMAGE, T4, write
from tests.reviewing import compared, files
from xmgen.experiment import Experiment, Kubernetes, Volume
from xmgen.project import Project
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.resource_types import JOB

pytestmark = pytest.mark.rehearsal

STACK = "reviewed"


def made(*executors: Kubernetes, title: str = "A sweep") -> Experiment:
    jobs = [job(f"--n={number}", executor=each, executable=IMAGE.name) for number, each in enumerate(executors)]
    return experiment(*jobs, title=title, stack=STACK, executables=(IMAGE,))


DATA = replace(T4, volumes=(Volume(path="/data", bucket="data-of-others", read_only=True),))
WRITTEN = replace(T4, volumes=(Volume(path="/data", bucket="data-of-others"),))
EDITS = (
    made(T4, T4),
    made(T4, T4, T4),
    made(T4, T4, T4, title="Another title"),
    made(T4, T4, DATA, title="Another title"),
    made(T4, T4, WRITTEN, title="Another title"),
    made(T4, title="Another title"),
)


def told(old: Experiment, new: Experiment) -> dict[str, set[Key]]:
    change = compared(files(old), files(new), STACK)
    words = {"added": "create", "removed": "delete", "replaced": "replace", "changed": "update"}
    result: dict[str, set[Key]] = {word: set() for word in words.values()}
    for resource in change.resources:
        result[words[resource.change]].add((resource.type, resource.name))
    for unit in change.units:
        again = "replace" if unit.change == "run again" and not unit.was else "create"
        result["delete" if unit.change == "removed" else again].add((JOB, unit.unit))
        if unit.was:
            result["delete"].add((JOB, unit.was))
    return result


def test_a_review_says_what_the_engine_does(in_scratch: Rehearsal, scratch: Project) -> None:
    stack = Stack(in_scratch)
    stack.up(write(scratch, EDITS[0]))
    for old, new in itertools.pairwise(EDITS):
        done = stack.up(write(scratch, new))
        said = told(old, new)
        assert {how: done.get(how, set()) for how in said} == said
    in_scratch.run(write(scratch, EDITS[-1]))
