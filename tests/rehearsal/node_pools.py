"""Node pools as the SDK sends them to Google."""

from __future__ import annotations

from typing import Any

from xmgen.catalog.pools import NodePool
from xmgen.executors.gke import cluster
from xmgen.plan.model import Cluster
from xmgen.program.resources_yaml import notation

CLUSTER_ID = "projects/acme/locations/{}/clusters/sweep"


def inputs(pool: NodePool, location: str) -> dict[str, Any]:
    where = Cluster(location=None, system_machine_type="e2-standard-2", pools=(pool,))
    declared: Any = notation(dict(cluster.node_pool(pool, where).inputs))
    if "policyName" in declared.get("placementPolicy", {}):
        declared["placementPolicy"]["policyName"] = pool.name
    return {**declared, "project": "acme", "cluster": CLUSTER_ID.format(location)}
