"""Stacks whose jobs run an image that is there, compiled into a project; and what a test changes of them by hand."""

from __future__ import annotations

from dataclasses import dataclass, fields

import yaml

from tests.builders import experiment, job
from xmgen.catalog.pools import NodePool
from xmgen.experiment import Accelerator, Container, Experiment, JobRequirements, Kubernetes
from xmgen.plan import planner
from xmgen.program import render as program
from xmgen.project import Project
from xmgen.stack import compiled as compiled_stacks
from xmgen.stack import folder as stack
from xmgen.stack.compiled import CompiledStack

IMAGE = Container(name="trainer", image="python:3.11")
T4 = Kubernetes(requirements=JobRequirements(accelerator=Accelerator(type="t4", count=1), service_tier="spot"))
RETRIED = Kubernetes(requirements=T4.requirements, retries=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(CompiledStack):
    """pools: those that were planned."""

    pools: tuple[NodePool, ...]


def write(project: Project, source: Experiment) -> Written:
    plan = planner.plan(source)
    stack.write(project.root, source.stack, program.render(plan))
    read = compiled_stacks.read(project, source.stack)
    pools = plan.cluster.pools if plan.cluster is not None else ()
    return Written(pools=pools, **{each.name: getattr(read, each.name) for each in fields(read)})


def compiled(
    project: Project, stack: str, *executors: Kubernetes, after: dict[int, list[int]] | None = None
) -> Written:
    jobs = [job(f"--n={number}", executor=each, executable=IMAGE.name) for number, each in enumerate(executors)]
    return write(project, experiment(*jobs, after=after or {}, stack=stack, executables=(IMAGE,)))


def tamper(project: Project, plan: CompiledStack, changes: dict[str, dict[str, object]]) -> None:
    """Change the pods of some of the Jobs, by their position, in the manifests that the program reads."""
    file = project.stack(plan.experiment.stack) / "manifests" / "jobs.yaml"
    jobs = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    for position, change in changes.items():
        jobs[int(position)]["spec"]["template"]["spec"].update(change)
    file.write_text(yaml.safe_dump_all(jobs, sort_keys=False), encoding="utf-8")
