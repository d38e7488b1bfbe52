"""Experiments on Vertex AI for tests, and their manifests as a program of the stack sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tests.builders import experiment as any_experiment
from tests.builders import python_container
from tests.conftest import ROOT
from xmgen.experiment import (
    Accelerator,
    Arg,
    Executable,
    Experiment,
    Job,
    JobRequirements,
    Reference,
    ShellSafeArg,
    Vertex,
)
from xmgen.plan import planner

T4 = Accelerator(type="t4", count=1)
A100 = Accelerator(type="a100", count=1)
TRAINER = python_container("trainer", requirements=True)
BOARD = Reference(kind="tensorboard", name="runs")
RESERVATION = "projects/acme/zones/us-central1-a/reservations/ours"
WORKERPOOL0 = ShellSafeArg("--chief=%objectname(workerpool0)%")

STACKS = sorted(path.parents[2].name for path in ROOT.glob("stacks/*/manifests/vertex/jobs.yaml"))
"""Committed stacks on Vertex AI."""

VALUES = {
    "<xmgen:service-account:jobs>": "sweep-jobs@acme.iam.gserviceaccount.com",
    "<xmgen:bucket:output>": "output-1234",
    "<xmgen:bucket:staging>": "output-1234",
    "<xmgen:config:owner>": "ada",
    "<xmgen:config:gcp:project>": "acme",
}


def vertex(accelerator: Accelerator | None = None, *, on: Mapping[str, Any] | None = None, **asked: Any) -> Vertex:
    """asked: requirements. on: what else of the executor."""
    return Vertex(requirements=JobRequirements(accelerator=accelerator, **asked), **(on or {}))


def job(
    *args: Arg,
    name: str = "train",
    executable: str = "trainer",
    executor: Vertex | None = None,
    env: Mapping[str, str] | None = None,
) -> Job:
    return Job(name=name, executable=executable, executor=executor or vertex(), args=args, env=dict(env or {}))


def experiment(
    *jobs: Job | tuple[Job, ...],
    executables: tuple[Executable, ...] = (TRAINER,),
    after: Mapping[int, Sequence[int]] | None = None,
    references: tuple[Reference, ...] = (),
) -> Experiment:
    made = any_experiment(*(jobs or (job(),)), executables=executables, after=after)
    return replace(made, references=references)


def manifests(compiled: Experiment) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", each) for unit in planner.plan(compiled).units for each in unit.manifests]


def spec(compiled: Experiment) -> dict[str, Any]:
    [manifest] = manifests(compiled)
    return manifest["jobSpec"]


def resolved(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The body of the request: what the program puts in is there, with values of the tests."""
    text = json.dumps(manifest)
    for token, value in VALUES.items():
        text = text.replace(token, value)
    body = json.loads(text)
    spec = body["jobSpec"]
    if spec.get("tensorboard", "").startswith("<xmgen:tensorboard:"):
        spec["tensorboard"] = "projects/acme/locations/us-central1/tensorboards/1"
    return body
