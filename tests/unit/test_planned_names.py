"""Google and Kubernetes take the name of everything that a plan declares, whatever the user calls things."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import experiment, job, python_container
from xmgen import names
from xmgen import resource_types as types
from xmgen.errors import InputError
from xmgen.executors.gke.planner import GkePlanner
from xmgen.experiment import Accelerator, Executor, JobRequirements, Kubernetes, Reference, Vertex
from xmgen.plan import planner
from xmgen.plan.model import Plan
from xmgen.plan.resources import Declared, Resource

SLICES = JobRequirements(accelerator=Accelerator(type="tpu_v7x", topology="2x2x2"))
EXECUTORS: list[Executor] = [
    Kubernetes(),
    Kubernetes(requirements=JobRequirements(accelerator=Accelerator(type="l4_24th", count=1)), priority=-3),
    Kubernetes(requirements=SLICES),
    Vertex(),
]
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1)


def planned(executor: Executor, stack: str, title: str = "t", name: str = "trainer", **rest: Any) -> Plan:
    made = experiment(
        job("--lr=0.1", name=name, executable=name, executor=executor),
        stack=stack,
        title=title,
        executables=(python_container(name, path="code/trainer"),),
    )
    return planner.plan(replace(made, **rest))


@given(st.sampled_from(EXECUTORS), TEXTS.map(names.stack_name), TEXTS, TEXTS, st.from_regex(r"\A[a-z]{1,20}\Z"))
@settings(deadline=None, max_examples=30)
def test_every_declared_name_obeys_its_rule(executor: Executor, stack: str, title: str, name: str, board: str) -> None:
    # The planner refuses a plan with any other.
    planned(executor, stack, title, name, references=(Reference(kind="tensorboard", name=board),))


def names_of(plan: Plan, *of: str) -> set[tuple[str, str]]:
    return {(resource.type, str(resource.name)) for resource in plan.declared.resources if resource.type in of}


@pytest.mark.parametrize("stack", ["2024-run", "s" * 33, "s" * 40])
def test_a_stack_whose_name_is_none_for_a_cluster_has_another_on_google(stack: str) -> None:
    plan = planned(Kubernetes(), stack)
    own = (types.NETWORK, types.SUBNETWORK, types.ROUTER, types.ROUTER_NAT, types.CLUSTER, types.REPOSITORY)
    assert names_of(plan, *own) == {(type, names.on_google(stack)) for type in own}
    assert names_of(plan, types.NAMESPACE, types.BUCKET) == {
        (types.NAMESPACE, stack),
        (types.BUCKET, f"{stack}-output"),
    }


def test_a_name_that_google_would_refuse_is_refused_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = (
        Resource(variable="network", name="2024-run", type=types.NETWORK, inputs={}),
        Resource(variable="jobs", name="jobs", type=types.ACCOUNT, inputs={"accountId": "jobs"}),
    )
    monkeypatch.setattr(GkePlanner, "declared", lambda self, plan: Declared(runs="gke", resources=wrong))
    with pytest.raises(InputError) as refused:
        planned(Kubernetes(), "sweep")
    assert [problem.message for problem in refused.value.problems] == [
        "no network can be called '2024-run-0123abc': at most 63 lower-case letters, digits and hyphens, a letter "
        "first and no hyphen last",
        "no service account can be called 'jobs': 6 to 30 lower-case letters, digits and hyphens, a letter first and "
        "no hyphen last",
    ]
