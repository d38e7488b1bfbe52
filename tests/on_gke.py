"""Experiments whose jobs run on GKE, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tests.builders import experiment as any_experiment
from tests.builders import python_container
from xmgen.experiment import (
    Accelerator,
    Arg,
    ClusterChoice,
    Executable,
    Experiment,
    Job,
    JobRequirements,
    Kubernetes,
    PoolRequest,
    Reference,
)
from xmgen.names import experiment_id
from xmgen.plan import planner
from xmgen.plan.model import Manifest

T4 = Accelerator(type="t4", count=1)
SLICE = Accelerator(type="tpu_v5e", topology="4x4")
TRAINER = python_container("trainer", requirements=True)


def kubernetes(
    accelerator: Accelerator | None = None, *, on: Mapping[str, Any] | None = None, **asked: Any
) -> Kubernetes:
    """asked: requirements. on: what else of the executor."""
    return Kubernetes(requirements=JobRequirements(accelerator=accelerator, **asked), **(on or {}))


def job(
    *args: Arg,
    name: str = "train",
    executable: str = "trainer",
    executor: Kubernetes | None = None,
    env: Mapping[str, str] | None = None,
) -> Job:
    return Job(name=name, executable=executable, executor=executor or kubernetes(T4), args=args, env=dict(env or {}))


def experiment(
    *jobs: Job | tuple[Job, ...],
    title: str = "A sweep",
    stack: str = "sweep",
    executables: tuple[Executable, ...] = (TRAINER,),
    after: Mapping[int, Sequence[int]] | None = None,
    references: tuple[Reference, ...] = (),
    cluster: ClusterChoice | None = None,
) -> Experiment:
    made = any_experiment(*(jobs or (job(),)), title=title, stack=stack, executables=executables, after=after)
    return replace(made, references=references, cluster=cluster)


def cluster_only(*pools: PoolRequest, stack: str = "team", location: str | None = "europe-west4-a") -> Experiment:
    return Experiment(
        title="Team",
        stack=stack,
        source="clusters/team.cluster.yaml",
        experiment_id=experiment_id(stack),
        executables=(),
        units=(),
        cluster=ClusterChoice(kind="own", location=location) if location else None,
        pools=pools,
    )


def manifests(made: Experiment) -> list[Manifest]:
    """Every Job, in order."""
    return [manifest for unit in planner.plan(made).units for manifest in unit.manifests]


def manifest(*args: Arg, **of_job: Any) -> Manifest:
    """The Job of an experiment with one."""
    [found] = manifests(experiment(job(*args, **of_job)))
    return found


def pod(manifest: Manifest) -> dict[str, Any]:
    return cast("dict[str, Any]", manifest)["spec"]["template"]["spec"]


def container(manifest: Manifest) -> dict[str, Any]:
    [found] = pod(manifest)["containers"]
    return found


def names(jobs: Sequence[Manifest]) -> list[str]:
    return [str(cast("dict[str, Any]", each)["metadata"]["name"]) for each in jobs]
