"""What inspect and status say of stacks on GKE."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.compiled_stacks import compiled_stack
from tests.on_gke import SLICE, T4, TRAINER, cluster_only, experiment, job, kubernetes
from xmgen.experiment import ClusterChoice, Experiment, PoolRequest
from xmgen.plan import planner
from xmgen.pulumi_cli import events, trials
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_cli.trials import combined, job_status
from xmgen.resource_types import CLUSTER, IMAGE, JOB, NODE_POOL
from xmgen.review.resources import resources


def sweep(*rates: str, **of_image: Any) -> Experiment:
    trials = [job(f"--lr={rate}") for rate in rates]
    last = job("--evaluate", executor=kubernetes(cpu=1))
    count = len(rates)
    return experiment(*trials, last, executables=(replace(TRAINER, **of_image),), after={count: range(count)})


def test_resources_in_the_order_in_which_they_are_created() -> None:
    plan = planner.plan(sweep("1", "2"))
    first, second, last = plan.units
    cpu, gpu = plan.cluster.pools  # type: ignore[union-attr]
    found = [(each.step, each.type, each.name, each.depends_on) for each in resources(plan)]
    assert found == [
        (1, CLUSTER, "sweep", ()),
        (1, IMAGE, "trainer", ()),
        (2, NODE_POOL, cpu.name, ("sweep",)),
        (2, NODE_POOL, gpu.name, ("sweep",)),
        (3, JOB, first.name, ()),
        (3, JOB, second.name, ()),
        (4, JOB, last.name, (first.name, second.name)),
    ]


def test_every_job_of_a_group_and_every_slice_is_a_resource() -> None:
    slices = replace(SLICE, slices=2)
    plan = planner.plan(experiment((job(name="a"), job(name="b")), job(executor=kubernetes(slices))))
    group, multi = plan.units
    names = [each.name for each in resources(plan) if each.type == JOB]
    assert names == [f"{group.name}-a", f"{group.name}-b", f"{multi.name}-0", f"{multi.name}-1"]
    services = [each.name for each in resources(plan) if each.type == "kubernetes:core/v1:Service"]
    assert services == ["experiments"]


def test_a_stack_on_anothers_cluster_has_none() -> None:
    made = experiment(cluster=ClusterChoice(kind="stack", name="team"))
    pool = PoolRequest(requirements=kubernetes(T4).requirements)
    plan = planner.plan(made, {"team": cluster_only(pool)}.__getitem__)
    assert [each.type for each in resources(plan)] == [IMAGE, JOB]


# How trials stand


def state(*conditions: tuple[str, str], **more: Any) -> dict[str, Any]:
    listed = [{"type": kind, "status": status} for kind, status in conditions]
    return {"outputs": {"status": {"conditions": listed}}, **more}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, "waiting"),
        ({"outputs": {}}, "running"),
        (state(), "running"),
        (state(("Suspended", "True")), "running"),
        (state(("SuccessCriteriaMet", "True"), ("Complete", "True")), "finished"),
        (state(("Failed", "True")), "failed"),
        (state(("Failed", "False")), "running"),
        (state(initErrors=["deadline exceeded"]), "failed"),
    ],
)
def test_how_a_job_stands(found: dict[str, Any] | None, expected: str) -> None:
    assert job_status(None if found is None else StateResource.of(found)) == expected


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["finished", "finished"], "finished"),
        (["finished", "running"], "running"),
        (["running", "failed"], "failed"),
        (["waiting", "finished"], "waiting"),
    ],
)
def test_how_a_unit_of_several_jobs_stands(statuses: list[Any], expected: str) -> None:
    assert combined(statuses) == expected


def test_status_reads_the_stacks_state() -> None:
    stack = compiled_stack(experiment((job(name="a"), job(name="b")), job("--lr=1")))
    group, single = stack.units
    done = state(("Complete", "True"))
    jobs = {f"{group.name}-a": done, f"{group.name}-b": state(initErrors=["no machine"]), single.name: done}
    export = json.dumps(
        {
            "deployment": {
                "resources": [
                    {"urn": f"urn:pulumi:sweep::experiments::{JOB}::{name}", "type": JOB, **each}
                    for name, each in jobs.items()
                ]
            }
        }
    )
    found = trials.recorded(stack, export)
    assert [(unit.name, unit.status, unit.reasons) for unit in found] == [
        (group.name, "failed", ("no machine",)),
        (single.name, "finished", ()),
    ]
    assert [unit.status for unit in trials.recorded(stack, None)] == ["waiting", "waiting"]


def test_progress_follows_the_jobs() -> None:
    stack = compiled_stack(experiment((job(name="a"), job(name="b"))))
    [unit] = stack.units
    progress = events.progress(trials.rows(stack), trials.jobs(stack))

    def created(name: str, new: dict[str, Any]) -> str:
        metadata = {"op": "create", "type": JOB, "urn": f"urn:x::{unit.name}-{name}", "new": new}
        progress.apply({"resOutputsEvent": {"metadata": metadata}})
        return progress.units[unit.name].status

    assert [created("a", {}), created("b", {}), created("b", state(("Failed", "True")))] == [
        "running",
        "running",
        "failed",
    ]
