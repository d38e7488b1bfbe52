"""What inspect, review and status say of stacks on GKE."""

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
from xmgen.review import report
from xmgen.review.compare import ResourceChange, compare
from xmgen.review.resources import resources

CHANGED = replace(TRAINER, digest="sha256:changed")


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


def changes(old: Experiment, new: Experiment) -> list[ResourceChange]:
    return list(compare("sweep", planner.plan(old), planner.plan(new)).resources)


def test_changed_code_changes_the_image_and_its_jobs() -> None:
    old, new = sweep("1"), sweep("1", digest="sha256:new")
    train, evaluate = planner.plan(new).units
    assert changes(old, new) == [
        ResourceChange("changed", IMAGE, "trainer", ("tag", "digest")),
        ResourceChange("replaced", JOB, train.name, ("image",)),
        ResourceChange("replaced", JOB, evaluate.name, ("image", "after")),
    ]


def test_a_trial_more_widens_its_pool() -> None:
    old, new = experiment(job("--lr=1")), experiment(job("--lr=1"), job("--lr=2"))
    [pool] = planner.plan(new).cluster.pools  # type: ignore[union-attr]
    assert changes(old, new) == [
        ResourceChange("changed", NODE_POOL, pool.name, ("autoscaling",)),
        ResourceChange("added", JOB, planner.plan(new).units[1].name),
    ]


def test_a_jobs_own_name_which_is_all_over_a_slice_is_no_change() -> None:
    old, new = (experiment(job(executor=kubernetes(SLICE)), executables=(each,)) for each in (TRAINER, CHANGED))
    assert changes(old, new)[1:] == [
        ResourceChange("replaced", JOB, planner.plan(new).units[0].name, ("image",)),
    ]


def test_a_pool_is_compared_as_the_program_has_it() -> None:
    one, other = (job(f"--zone={zone}", executor=kubernetes(T4, location=f"europe-west4-{zone}")) for zone in "ab")
    both, alone = experiment(one, other), experiment(one)
    [kept] = planner.plan(alone).cluster.pools  # type: ignore[union-attr]
    assert changes(both, alone)[:2] == [
        ResourceChange("replaced", CLUSTER, "sweep", ("location",)),
        # On a cluster of one zone it does not say its own.
        ResourceChange("replaced", NODE_POOL, kept.name, ("nodeLocations", "cluster")),
    ]


def test_a_cluster_that_comes_to_have_filestore_changes() -> None:
    old, new = cluster_only(), replace(cluster_only(), filestore=True)
    assert changes(old, new) == [ResourceChange("changed", CLUSTER, "team", ("filestore",))]


def test_a_service_is_compared_by_its_program() -> None:
    served = (job(name="worker"), job(name="ps", executable="ps", executor=kubernetes(on={"service": True})))
    server = replace(TRAINER, name="ps", path="ps")
    old, new, other = (
        experiment(served, executables=executables)
        for executables in ((TRAINER, server), (TRAINER, replace(server, digest="sha256:new")), (CHANGED, server))
    )
    worker, service = (f"{planner.plan(old).units[0].name}-{name}" for name in ("worker", "ps"))
    assert changes(old, new)[1:] == [ResourceChange("replaced", JOB, service, ("image",))]
    assert changes(old, other)[1:] == [
        ResourceChange("replaced", JOB, worker, ("image",)),
        ResourceChange("replaced", JOB, service, ("waiter",)),
    ]


def test_markdown_counts_jobs_and_names_the_rest() -> None:
    change = compare("sweep", planner.plan(sweep("1")), planner.plan(sweep("1", digest="sha256:new")))
    text = report.markdown([change])
    assert "- `kubernetes:batch/v1:Job`: 2 replaced" in text
    assert "- `docker-build:index:Image` `trainer`: changed (`tag`, `digest`)" in text


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
