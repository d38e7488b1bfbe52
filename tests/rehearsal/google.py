"""The simulated cloud without a rehearsal around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xmgen.rehearsal.cloud.cloud import Cloud
from xmgen.rehearsal.cloud.kinds import Endpoint
from xmgen.rehearsal.cloud.store import Item, Store
from xmgen.resource_types import ACCOUNT, API, BUCKET, CLUSTER, NETWORK, NODE_POOL, SUBNETWORK

CLUSTER_ID = "projects/acme/locations/us-central2-b/clusters/sweep"


class Google:
    """The simulated cloud of a project, with a cluster in us-central2-b."""

    def __init__(self, folder: Path) -> None:
        self.removed: list[Item] = []
        self.folder = folder
        self.cloud = self.again()
        for api in ("compute", "container", "iam", "artifactregistry"):
            self.ask("create", API, service=f"{api}.googleapis.com", disableOnDestroy=False)
        network = self.ask("create", NETWORK, name="sweep")["id"]
        self.network = network
        self.ask("create", ACCOUNT, accountId="sweep-nodes")
        self.ask("create", BUCKET, name="sweep-output-0123456")
        subnetwork = self.ask("create", SUBNETWORK, name="sweep", region="us-central2", network=network)["id"]
        self.ask(
            "create",
            CLUSTER,
            name="sweep",
            location="us-central2-b",
            network=network,
            subnetwork=subnetwork,
            deletionProtection=False,
            workloadIdentityConfig={"workloadPool": "acme.svc.id.goog"},
        )

    def again(self) -> Cloud:
        """As after a restart."""
        store = Store(self.folder / "cloud.json")
        self.cloud = Cloud(store, self.folder / "dials.json", Endpoint("127.0.0.1:1", "authority"), self.removed.append)
        return self.cloud

    def ask(self, operation: str, type: str, id: str = "", **inputs: Any) -> dict[str, Any]:
        urn = f"urn:pulumi:dev::experiments::{type}::thing"
        request = {
            "operation": operation,
            "type": type,
            "urn": urn,
            "project": "acme",
            "id": id,
            "inputs": inputs,
            # Of a read: nobody imports it.
            "state": True,
        }
        return self.cloud.answer(request)

    def pool(self, name: str = "pool", **inputs: Any) -> dict[str, Any]:
        """Create a node pool. Machine and autoscaling have defaults that are accepted."""
        config = {"machineType": "n1-standard-8", **inputs.pop("nodeConfig", {})}
        scaling = inputs.pop("autoscaling", {"totalMinNodeCount": 0, "totalMaxNodeCount": 3})
        return self.ask(
            "create", NODE_POOL, name=name, cluster=CLUSTER_ID, nodeConfig=config, autoscaling=scaling, **inputs
        )
