"""Addresses of a Vertex job's worker pools. Most answer in the container, from Vertex's CLUSTER_SPEC.

https://cloud.google.com/vertex-ai/docs/training/distributed-training#cluster-variables
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from xmgen.frontends.xmanager.api.xm import problems

_LATE_BINDING = re.compile(r"%objectname\((.*?)\)%")


def get_workerpool_address(workerpool: str) -> str:
    """A text that the container's entry point replaces with `host:port` of a worker pool's first machine."""
    return f"%objectname({workerpool})%"


def map_workerpool_address_args(args: list[str]) -> list[str]:
    """The arguments with addresses for `get_workerpool_address`'s texts; as they are outside a worker pool."""
    spec = _cluster_spec()
    return args if spec is None else [_with_addresses(arg, spec) for arg in args]


def print_workerpool_address_args(argv: list[str]) -> None:
    """What `map_workerpool_address_args` makes of all but the program's name, one a line."""
    for arg in map_workerpool_address_args(argv[1:]):
        print(arg)


def create_workerpool_address_env_vars_script(path: str) -> None:
    """Write a shell script that exports the variables that hold such texts, with addresses."""
    spec = _cluster_spec()
    exports = [
        f"export {name}={_with_addresses(value, spec)}"
        for name, value in os.environ.items()
        if spec is not None and _LATE_BINDING.match(value)
    ]
    Path(path).write_text("#!/bin/bash\n\n" + "\n".join(exports), encoding="utf-8")


def get_master_address_port() -> tuple[str, str]:
    """Host and port of the first machine of the first pool; this machine's own outside a worker pool."""
    spec = _cluster_spec()
    if spec is None or "workerpool0" not in spec["cluster"]:
        return "127.0.0.1", "29500"
    host, port = spec["cluster"]["workerpool0"][0].split(":")
    return host, port


def get_world_size_rank() -> tuple[int, int]:
    """The number of machines of all pools, and this one's position among them."""
    spec = _cluster_spec()
    if spec is None:
        return 1, 0
    pools: dict[str, list[str]] = spec["cluster"]
    task: dict[str, Any] = spec["task"]
    before = list(pools)[: list(pools).index(task["type"])]
    return sum(map(len, pools.values())), sum(len(pools[name]) for name in before) + task["index"]


def create_cluster_specs(workers: Sequence[str]) -> list[str]:
    """The CLUSTER_SPEC of each worker (`host:port`), a pool of its own each."""
    cluster = {f"workerpool{index}": [worker] for index, worker in enumerate(workers)}
    return [
        json.dumps({"cluster": cluster, "task": {"type": name, "index": index}}) for index, name in enumerate(cluster)
    ]


def get_region() -> NoReturn:
    raise problems.refuse(
        "utils.get_region()", "the stack's configuration has the region: pulumi config set gcp:region"
    )


def get_closest_bucket(bucket_names: list[str]) -> NoReturn:
    del bucket_names
    raise problems.refuse("utils.get_closest_bucket()", "name the bucket, for example with a flag of the script")


def _cluster_spec() -> dict[str, Any] | None:
    text = os.environ.get("CLUSTER_SPEC")
    return json.loads(text) if text else None


def _with_addresses(text: str, spec: dict[str, Any] | None) -> str:
    pools: dict[str, list[str]] = spec["cluster"] if spec else {}

    def address(match: re.Match[str]) -> str:
        return pools[match.group(1)][0]

    return _LATE_BINDING.sub(address, text)
