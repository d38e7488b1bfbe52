"""How many nodes a simulated pool has, and what its pods ask for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from xmgen.rehearsal.api import Answer, Api
from xmgen.rehearsal.cloud.nodes import template
from xmgen.rehearsal.cloud.pools import Pools, View, least, most
from xmgen.rehearsal.cloud.quota import Quota
from xmgen.rehearsal.cloud.scheduling import quantity
from xmgen.rehearsal.cloud.store import Item, Store
from xmgen.resource_types import CLUSTER, NODE_POOL

ZONE, REGION = "europe-west4-a", "europe-west4"


def a_cluster(folder: Path, location: str) -> Store:
    store = Store(folder / "cloud.json")
    id = f"projects/acme/locations/{location}/clusters/c"
    store.put(Item(id=id, type=CLUSTER, inputs={"location": location}, outputs={}))
    return store


def a_pool(store: Store, *, machineType: str, **inputs: Any) -> Item:
    cluster = store.of(CLUSTER)[0].id
    inputs = {"name": "cpu", "cluster": cluster, "nodeConfig": {"machineType": machineType}, **inputs}
    pool = Item(id=f"{cluster}/nodePools/cpu", type=NODE_POOL, inputs=inputs, outputs={})
    store.put(pool)
    return pool


@pytest.mark.parametrize(
    ("location", "inputs", "range"),
    [
        (ZONE, {"nodeCount": 2}, (2, 2)),
        (REGION, {"nodeCount": 2}, (6, 6)),
        (REGION, {"nodeCount": 2, "nodeLocations": [ZONE]}, (2, 2)),
        (REGION, {"initialNodeCount": 1}, (3, 3)),
        (ZONE, {"autoscaling": {"minNodeCount": 1, "maxNodeCount": 4}}, (1, 4)),
        (REGION, {"autoscaling": {"minNodeCount": 1, "maxNodeCount": 4}}, (3, 12)),
        (REGION, {"autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 4}}, (0, 4)),
        (REGION, {"autoscaling": {"totalMinNodeCount": 2, "totalMaxNodeCount": 4}, "nodeCount": 9}, (2, 4)),
    ],
)
def test_numbers_of_nodes_are_those_of_each_zone_and_totals_of_all(
    location: str, inputs: dict[str, Any], range: tuple[int, int], tmp_path: Path
) -> None:
    store = a_cluster(tmp_path, location)
    pool = a_pool(store, machineType="e2-standard-2", **inputs)
    kind = template(pool, store)
    assert (least(pool, kind), most(pool, kind)) == range


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [
        ("2", 2000),
        ("0.5", 500),
        ("1e3", 1_000_000),
        ("1E3", 1_000_000),
        ("250m", 250),
        ("100u", 1),
        ("1500u", 2),
        ("1n", 1),
        ("3k", 3_000_000),
        ("2E", 2 * 10**21),
        ("1Ki", 1024 * 1000),
        ("1.5Gi", 3 * 2**29 * 1000),
        ("1Ti", 2**40 * 1000),
        ("1Pi", 2**50 * 1000),
        ("1Ei", 2**60 * 1000),
    ],
)
def test_quantities_of_kubernetes(text: str, thousandths: int) -> None:
    assert quantity(text) == thousandths


def test_a_machine_of_unknown_size_is_said_to_be_one(tmp_path: Path) -> None:
    store = a_cluster(tmp_path, ZONE)
    a_pool(store, machineType="n2-custom-4-8192", autoscaling={"totalMaxNodeCount": 1})
    api = SimpleNamespace(items=lambda *path, **query: [], request=lambda *call, **query: Answer(200, {}))  # pyright: ignore
    pod = {
        "metadata": {"name": "a-1", "namespace": "sweep"},
        "spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}]},
    }
    pools = Pools(store, cast(Api, api), Quota({}))
    pools.step(View([], [pod]))
    assert pools.helpless == {"a-1": ["cpu: how much its machines (n2-custom-4-8192) leave to jobs is not known"]}
