"""Nodes as GKE makes them, for every machine type: the jobs that the planner meant for a pool can run on its nodes.

The rehearsal's own tables of labels and taints are not the catalog's, so that what is wrong there shows here.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal.machines import KNOWN, matrix, pools_of
from tests.rehearsal.node_pools import CLUSTER_ID, inputs
from xmgen.catalog import selection
from xmgen.executors.gke import plan as gke
from xmgen.plan import planner
from xmgen.plan.model import Plan
from xmgen.program import render as program
from xmgen.rehearsal.cloud.nodes import Template, template
from xmgen.rehearsal.cloud.refusals import refusal
from xmgen.rehearsal.cloud.scheduling import obstacles, quantity
from xmgen.rehearsal.cloud.store import Item, Store
from xmgen.resource_types import CLUSTER, NODE_POOL, RESOURCE_POLICY

PLANS = {name: planner.plan(matrix(name)) for name in ("zone", "others")}
LOCATIONS = {"zone": "us-central2-b", "others": "europe-west4-a"}


def store(name: str, folder: Path) -> Store:
    """A cluster, and the policies that pools name."""
    found, plan = Store(folder / f"{name}.json"), PLANS[name]
    location = LOCATIONS[name]
    found.put(Item(id=CLUSTER_ID.format(location), type=CLUSTER, inputs={"location": location}, outputs={}))
    assert plan.cluster is not None
    for pool in plan.cluster.pools:
        if topology := gke.workload_policy(pool):
            region = location.rpartition("-")[0]
            policy = {"workloadPolicy": {"acceleratorTopology": topology}}
            id = f"projects/acme/regions/{region}/resourcePolicies/{pool.name}"
            found.put(Item(id=id, type=RESOURCE_POLICY, inputs=policy, outputs={}))
    return found


def templates(name: str, folder: Path) -> dict[str, Template]:
    plan, known = PLANS[name], store(name, folder)
    assert plan.cluster is not None
    given = {pool.name: inputs(pool, LOCATIONS[name]) for pool in plan.cluster.pools}
    return {
        pool: template(Item(id=pool, type=NODE_POOL, inputs=each, outputs={}), known) for pool, each in given.items()
    }


def meant_for(plan: Plan) -> dict[str, set[str]]:
    assert plan.cluster is not None
    return pools_of(plan.units, plan.cluster.pools)


def pods(plan: Plan) -> dict[str, dict[str, Any]]:
    jobs: list[Any] = [manifest for unit in plan.units for manifest in unit.manifests]
    return {job["metadata"]["name"]: job["spec"]["template"] for job in jobs}


@pytest.mark.parametrize("name", PLANS)
def test_every_pool_is_accepted(name: str, tmp_path: Path) -> None:
    plan, known = PLANS[name], store(name, tmp_path)
    assert plan.cluster is not None
    found = {pool.name: refusal(NODE_POOL, inputs(pool, LOCATIONS[name]), known) for pool in plan.cluster.pools}
    assert {pool: str(why) for pool, why in found.items() if why} == {}


@pytest.mark.parametrize("name", PLANS)
def test_the_program_says_a_topology_of_slices_of_tpus_alone(name: str) -> None:
    plan = PLANS[name]
    assert plan.cluster is not None
    slices = [pool for pool in plan.cluster.pools if pool.tpu and pool.tpu.multi_host]
    assert program.render(plan)["cluster.py"].count('"tpu_topology": ') == len(slices)


@pytest.mark.parametrize("name", PLANS)
def test_jobs_may_run_on_the_nodes_meant_for_them_and_on_no_others(name: str, tmp_path: Path) -> None:
    nodes, meant = templates(name, tmp_path), meant_for(PLANS[name])
    for job, pod in pods(PLANS[name]).items():
        possible = {pool for pool, node in nodes.items() if not obstacles(pod, node.labels, node.taints)}
        assert possible == meant[job], job


@pytest.mark.parametrize("name", PLANS)
def test_nodes_have_the_accelerators_that_pods_ask_for(name: str, tmp_path: Path) -> None:
    nodes, meant = templates(name, tmp_path), meant_for(PLANS[name])
    for job, pod in pods(PLANS[name]).items():
        requests = pod["spec"]["containers"][0]["resources"]["requests"]
        for resource in requests.keys() & {"nvidia.com/gpu", "google.com/tpu"}:
            assert {nodes[pool].allocatable[resource] for pool in meant[job]} == {requests[resource]}, job


def test_a_node_of_a_spot_gpu_pool(tmp_path: Path) -> None:
    plan = PLANS["others"]
    assert plan.cluster is not None
    pool = next(pool for pool in plan.cluster.pools if pool.machine_type == "a3-highgpu-1g")
    node = templates("others", tmp_path)[pool.name].node("gke-0", "europe-west4-a")
    assert node["spec"]["taints"] == [
        {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
    ]
    assert node["metadata"]["labels"] == {
        "cloud.google.com/gke-accelerator": "nvidia-h100-80gb",
        "cloud.google.com/gke-accelerator-count": "1",
        "cloud.google.com/gke-boot-disk": "pd-balanced",
        "cloud.google.com/gke-nodepool": pool.name,
        "cloud.google.com/gke-provisioning": "spot",
        "cloud.google.com/gke-spot": "true",
        "cloud.google.com/machine-family": "a3",
        "iam.gke.io/gke-metadata-server-enabled": "true",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "gke-0",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "a3-highgpu-1g",
        "topology.kubernetes.io/region": "europe-west4",
        "topology.kubernetes.io/zone": "europe-west4-a",
        "xmgen/nodes": pool.labels["xmgen/nodes"],
    }


@pytest.mark.parametrize(
    ("machine", "change"),
    [
        ("ct5p-hightpu-4t", {"label": "tpu-v5-slice"}),
        ("ct5lp-hightpu-4t", {"label": "tpu-v5e-slice"}),
    ],
)
def test_a_wrong_label_in_the_catalog_shows(
    machine: str, change: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planner believes the catalog, and then no node has the label that the job selects."""
    right = KNOWN.machines[machine]
    assert right.tpu is not None
    wrong = dataclasses.replace(right, tpu=dataclasses.replace(right.tpu, **change))
    source = matrix("others")
    monkeypatch.setitem(KNOWN.machines, machine, wrong)  # type: ignore[arg-type]
    # Choices are remembered.
    monkeypatch.setattr(selection, "_selected", selection._selected.__wrapped__)
    jobs = pods(planner.plan(source))
    labels = {node.pool: node.labels for node in templates("others", tmp_path).values()}
    unable = [job for job, pod in jobs.items() if all(obstacles(pod, each, []) for each in labels.values())]
    assert unable, "a job that no pool can take"


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [("1", 1000), ("250m", 250), ("1Gi", 2**30 * 1000), ("1.5", 1500), ("2k", 2_000_000), ("100M", 10**11)],
)
def test_quantities(text: str, thousandths: int) -> None:
    assert quantity(text) == thousandths
