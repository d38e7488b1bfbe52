"""GKE makes a cluster with a pool that nobody wants: it goes, also when its removal was cut off."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from tests.rehearsal.google import Google
from xmgen.provider.resource import Request
from xmgen.provider.wire import Properties
from xmgen.rehearsal.cloud.kinds import WITHOUT_DEFAULT_POOL
from xmgen.rehearsal.standin import CloudResource, Rehearsal
from xmgen.resource_types import CLUSTER, NODE_POOL
from xmgen.urns import Urn

ID = "projects/acme/locations/us-central2-b/clusters/made"
WITHOUT: Properties = {"name": "made", "initialNodeCount": 1, WITHOUT_DEFAULT_POOL: True}
WITH: Properties = {"name": "made", "initialNodeCount": 1}


@pytest.mark.parametrize("nodes", [1, 0])
def test_a_cluster_is_made_with_a_pool(nodes: int, tmp_path: Path) -> None:
    google = Google(tmp_path)
    made = google.ask("create", CLUSTER, name="made", location="us-central2-b", initialNodeCount=nodes)
    assert made["id"] == ID
    pools = [(item.id, item.owner) for item in google.cloud.store.of(NODE_POOL)]
    assert pools == (
        [(f"{ID}/nodePools/default-pool", f"urn:pulumi:dev::experiments::{CLUSTER}::thing")] if nodes else []
    )
    assert "error" not in google.ask(
        "update", CLUSTER, ID, name="made", location="us-central2-b", deletionProtection=False
    )
    assert google.ask("delete", CLUSTER, ID) == {}
    assert google.cloud.store.of(NODE_POOL) == []


class Asked:
    """A rehearsal that remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []

    async def ask(self, operation: str, **about: Any) -> dict[str, Any]:
        self.requests.append((operation, str(about.get("id", ""))))
        return {"id": ID, "outputs": {}}


REMOVAL = ("delete", f"{ID}/nodePools/default-pool")


@pytest.mark.parametrize(
    ("type", "olds", "news", "requests"),
    [
        pytest.param(CLUSTER, None, WITHOUT, [("create", ""), REMOVAL], id="made"),
        pytest.param(CLUSTER, None, WITH, [("create", "")], id="made, and it may stay"),
        pytest.param(
            CLUSTER, WITH, WITHOUT, [("update", ID), REMOVAL], id="taken in when a kill had cut the removal off"
        ),
        pytest.param(CLUSTER, WITHOUT, WITHOUT, [("update", ID)], id="changed otherwise"),
        pytest.param(NODE_POOL, None, WITHOUT, [("create", "")], id="no cluster"),
    ],
)
def test_the_provider_removes_it(
    type: str, olds: Properties | None, news: Properties, requests: list[tuple[str, str]]
) -> None:
    asked = Asked()
    resource = CloudResource(cast(Rehearsal, asked))
    request = Request(urn=Urn(f"urn:pulumi:dev::experiments::{type}::thing"), log=cast(Any, None))
    if olds is None:
        asyncio.run(resource.create(request, news))
    else:
        asyncio.run(resource.update(request, ID, news, olds, {}))
    assert asked.requests == requests
