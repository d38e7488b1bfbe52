"""Which node pools an experiment gets."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmgen import catalog
from xmgen.catalog.model import PlacementPolicy
from xmgen.catalog.placement import GpuNode, Placement, Taint, TpuNode
from xmgen.catalog.pools import Demand, NodePool, PoolPlan, plan_pools
from xmgen.catalog.selection import available_resources, select
from xmgen.experiment import Accelerator, JobRequirements

GIB = 2**30


def demand(
    name: str = "",
    count: float | None = None,
    topology: str | None = None,
    *,
    width: int = 1,
    slices: int = 1,
    reservation: str | None = None,
    **rest: Any,
) -> Demand:
    asked = Accelerator(type=name, count=count, topology=topology, slices=slices) if name else None
    found = select(JobRequirements(accelerator=asked, **rest), reservation=reservation)
    assert isinstance(found, Placement), str(found)
    return Demand(placement=found, width=width)


def summary(plan: PoolPlan) -> list[tuple[str, int]]:
    return sorted((pool.machine_type, pool.max_nodes) for pool in plan.pools)


def test_a_pool_of_spot_gpus() -> None:
    asked = demand("t4", 1, width=3, service_tier="FREEBIE", location="us-central1-a")
    plan = plan_pools([asked])
    name = "t4-1-spot-n1-standard-2-351686"
    assert plan == PoolPlan(
        pools=(
            NodePool(
                name=name,
                machine_type="n1-standard-2",
                architecture="amd64",
                provisioning="spot",
                reservation=None,
                gpu=GpuNode(label="nvidia-tesla-t4", count=1, driver="DEFAULT"),
                tpu=None,
                policy=None,
                boot_disk="pd-balanced",
                boot_disk_gb=100,
                local_ssds=0,
                zones=("us-central1-a",),
                region="us-central1",
                min_nodes=0,
                max_nodes=3,
                location_policy="ANY",
                taints=(
                    Taint(key="nvidia.com/gpu", value="present", by_gke=True),
                    Taint(key="cloud.google.com/gke-spot", value="true"),
                ),
                labels={
                    "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
                    "cloud.google.com/gke-nodepool": name,
                    "cloud.google.com/gke-spot": "true",
                    "kubernetes.io/arch": "amd64",
                    "node.kubernetes.io/instance-type": "n1-standard-2",
                    "xmgen/nodes": asked.placement.node_class,
                },
            ),
        ),
    )
    assert plan.pools[0].declared_taints == (Taint(key="cloud.google.com/gke-spot", value="true"),)
    assert plan.pools[0].declared_labels == {"xmgen/nodes": asked.placement.node_class}


def test_a_slice_of_several_hosts_is_a_pool() -> None:
    plan = plan_pools([demand("v5e", topology="4x4", slices=2, width=2)])
    assert [pool.name for pool in plan.pools] == [f"tpu-v5e-4x4-55454d-{number}" for number in (1, 2, 3, 4)]
    assert {(pool.machine_type, pool.max_nodes, pool.policy, pool.tpu) for pool in plan.pools} == {
        (
            "ct5lp-hightpu-4t",
            4,
            PlacementPolicy(kind="compact", topology="4x4"),
            TpuNode(label="tpu-v5-lite-podslice", topology="4x4", chips_per_host=4, hosts=4),
        )
    }


@pytest.mark.parametrize(
    ("asked", "pools", "said"),
    [
        ([demand("v5e", topology="4x4", width=100)], 100, None),
        ([demand("v5e", topology="4x4", width=300)], 100, "300 slices of tpu_v5e 4x4"),
        ([demand("v5e", topology="4x4", width=1, slices=120)], 120, None),
        ([demand("v5e", topology="4x4", width=2, slices=120)], 120, "240 slices of tpu_v5e 4x4"),
    ],
)
def test_a_sweep_on_slices_gets_as_many_as_a_cluster_has_room_for(
    asked: list[Demand], pools: int, said: str | None
) -> None:
    plan = plan_pools(asked)
    base = plan.pools[0].name.removesuffix("-1")
    assert [pool.name for pool in plan.pools] == [f"{base}-{number}" for number in range(1, pools + 1)]
    rest = f" could be in use at once. Each is a node pool: there are {pools}, and jobs wait for one."
    assert plan.notes == ((f"{said}{rest}",) if said else ())


def test_single_hosts_share_a_pool() -> None:
    assert summary(plan_pools([demand("v5e", 8, slices=3, width=2), demand("v5e", topology="2x4")])) == [
        ("ct5lp-hightpu-8t", 7)
    ]


@pytest.mark.parametrize(
    ("demands", "pools"),
    [
        # the same need twice
        ([demand(cpu=1, width=4), demand(cpu=1, width=2)], [("e2-standard-2", 6)]),
        # a smaller job goes to the larger machine, three of it on one
        ([demand(cpu=3), demand(cpu=1, width=6)], [("e2-standard-4", 3)]),
        # but not to one of more than four times its vCPUs
        ([demand(cpu=1), demand(cpu=7)], [("e2-standard-8", 2)]),
        ([demand(cpu=1), demand(cpu=14)], [("e2-standard-16", 1), ("e2-standard-2", 1)]),
        ([demand(cpu=1), demand(cpu=3), demand(cpu=14)], [("e2-standard-16", 2), ("e2-standard-2", 1)]),
        # nor to one that lacks the memory
        ([demand(cpu=1, ram=11 * GIB), demand(cpu=3, ram=GIB)], [("e2-highcpu-4", 1), ("e2-highmem-2", 1)]),
        # the boot disk is the largest of its jobs', unless they differ too much
        ([demand(disk=100 * GIB), demand()], [("e2-standard-2", 2)]),
        ([demand(disk=900 * GIB), demand()], [("e2-standard-2", 1), ("e2-standard-2", 1)]),
        # GPUs: same model and number
        ([demand("t4", 1), demand("t4", 1, cpu=6)], [("n1-standard-8", 2)]),
        ([demand("t4", 1), demand("t4", 2)], [("n1-standard-2", 1), ("n1-standard-4", 1)]),
        ([demand("t4", 1), demand("v100", 1)], [("n1-standard-2", 1), ("n1-standard-2", 1)]),
        ([demand("l4", 1, replicas=3, width=2), demand("l4", 1)], [("g2-standard-4", 7)]),
        # on demand, spot and reserved nodes are different pools, and so are places and architectures
        ([demand("l4", 1), demand("l4", 1, service_tier="FREEBIE")], [("g2-standard-4", 1), ("g2-standard-4", 1)]),
        ([demand("l4", 1), demand("l4", 1, reservation="r")], [("g2-standard-4", 1), ("g2-standard-4", 1)]),
        ([demand(location="us-east1-b"), demand(location="us-east1-c")], [("e2-standard-2", 1), ("e2-standard-2", 1)]),
        ([demand(), demand(architecture="arm64")], [("c4a-standard-2", 1), ("e2-standard-2", 1)]),
    ],
)
def test_which_jobs_share(demands: list[Demand], pools: list[tuple[str, int]]) -> None:
    assert summary(plan_pools(demands)) == pools


def test_the_class_of_nodes_does_not_depend_on_the_size_of_machines() -> None:
    """Jobs select by it: another job's larger machine must not change them, or they would run again."""
    small, large = demand("t4", 1), demand("t4", 1, cpu=6, ram=30 * GIB)
    assert small.placement.node_class == large.placement.node_class
    assert small.placement.node_class != demand("t4", 2).placement.node_class


def test_a_width_of_nothing_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="width"):
        plan_pools([Demand(placement=demand().placement, width=0)])


requirements = st.sampled_from(
    [
        {},
        {"cpu": 3},
        {"cpu": 20},
        {"cpu": 7, "service_tier": "FREEBIE"},
        {"cpu": 1, "ram": 50 * GIB},
        {"disk": 300 * GIB},
        {"cpu": 2, "architecture": "ARM"},
        {"name": "t4", "count": 1},
        {"name": "t4", "count": 1, "cpu": 20, "location": "us-central1-a"},
        {"name": "t4", "count": 4, "service_tier": "FREEBIE"},
        {"name": "l4", "count": 1, "service_tier": "BATCH", "disk": 900 * GIB},
        {"name": "gb300", "count": 4, "reservation": "a-reservation"},
        {"name": "tpu_v5e", "topology": "4x4"},
        {"name": "tpu_v5e", "topology": "4x4", "slices": 3, "service_tier": "FREEBIE"},
        {"name": "tpu_v7x", "topology": "4x4x12", "reservation": "another"},
    ]
)
demands = st.lists(st.tuples(requirements, st.integers(1, 5)), min_size=1, max_size=12)


def planned(asked: list[tuple[dict[str, Any], int]]) -> tuple[list[Demand], PoolPlan]:
    made = [demand(**fields, width=width) for fields, width in asked]
    return made, plan_pools(made)


@given(demands)
def test_every_job_has_nodes_that_it_fits(asked: list[tuple[dict[str, Any], int]]) -> None:
    made, plan = planned(asked)
    for wanted in made:
        placement = wanted.placement
        meant = [pool for pool in plan.pools if pool.labels["xmgen/nodes"] == placement.node_class]
        for pool in meant:
            assert (pool.gpu, pool.tpu) == (placement.gpu, placement.tpu)
            assert placement.node_selector.items() <= pool.labels.items()
            assert {taint.key for taint in pool.taints} <= {each.key for each in placement.tolerations}
        machines = catalog.catalog().machines
        fitting = [
            pool
            for pool in meant
            if available_resources(machines[pool.machine_type], pool.boot_disk_gb).covers(placement.requests)
        ]
        multi_host = placement.tpu is not None and placement.tpu.multi_host
        assert len(fitting) >= (wanted.width * placement.slices if multi_host else 1)


@given(demands)
def test_names_are_valid_and_unique(asked: list[tuple[dict[str, Any], int]]) -> None:
    _, plan = planned(asked)
    names = [pool.name for pool in plan.pools]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][-a-z0-9]{0,37}[a-z0-9]", name) for name in names)
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", pool.labels["xmgen/nodes"]) for pool in plan.pools)


@given(demands, st.randoms())
def test_order_changes_nothing(asked: list[tuple[dict[str, Any], int]], random: Any) -> None:
    _, plan = planned(asked)
    positions = list(range(len(asked)))
    random.shuffle(positions)
    _, shuffled = planned([asked[position] for position in positions])
    assert shuffled.pools == plan.pools


@given(demands, st.tuples(requirements, st.integers(1, 5)))
def test_one_more_of_a_known_job_renames_nothing(
    asked: list[tuple[dict[str, Any], int]], more: tuple[dict[str, Any], int]
) -> None:
    _, plan = planned([*asked, more])
    _, wider = planned([*asked, more, more])
    assert {pool.name for pool in plan.pools} <= {pool.name for pool in wider.pools}
