"""Node pools as the SDK sends them to Google."""

from __future__ import annotations

import re
from typing import Any

from xmgen.catalog.pools import NodePool
from xmgen.executors.gke import plan as gke

CLUSTER_ID = "projects/acme/locations/{}/clusters/sweep"


def camel(value: Any) -> Any:
    """As the SDK sends it: the names of arguments, but not those of labels."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub(r"_([a-z])", lambda found: found[1].upper(), key): each if key == "labels" else camel(each)
        for key, each in value.items()
    }


def inputs(pool: NodePool, location: str) -> dict[str, Any]:
    arguments = gke.pool_arguments(pool)
    policy = arguments["placement_policy"]
    if arguments["workload_policy"]:
        tpu = {"tpu_topology": arguments["workload_policy"]} if arguments["tpu"] else {}
        policy = {"type": "", "policy_name": pool.name, **tpu}
    return {
        "project": "acme",
        "name": pool.name,
        "cluster": CLUSTER_ID.format(location),
        "autoscaling": camel(arguments["autoscaling"]),
        "nodeLocations": arguments["zones"],
        "nodeConfig": camel(arguments["settings"]),
        **({"placementPolicy": camel(policy)} if policy else {}),
    }
