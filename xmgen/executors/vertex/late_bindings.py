"""Becomes a shell command in which every `%objectname(workerpool0)%` is the address of that worker pool.

    python3 late_bindings.py COMMAND ARGUMENT...

It is put into images for Vertex AI, which have nothing but Python's standard library. The addresses come from
CLUSTER_SPEC, see https://cloud.google.com/vertex-ai/docs/training/distributed-training#cluster-variables. They are put
into COMMAND and into environment variables. Arguments are the command's "$1", "$2", … and arrive as they are.
"""

from __future__ import annotations

import json
import os
import re
import sys

# A job of one machine may have no CLUSTER_SPEC.
ALONE = '{"cluster": {"workerpool0": ["127.0.0.1:29500"]}}'
pools = json.loads(os.environ.get("CLUSTER_SPEC") or ALONE)["cluster"]


def bound(text: str) -> str:
    """The text with addresses."""
    return re.sub(r"%objectname\((.*?)\)%", address, text)


def address(match: re.Match[str]) -> str:
    """Of the first machine of a worker pool."""
    machines: list[str] | None = pools.get(match.group(1))
    if not machines:
        sys.exit(match.group(0) + ": there is no such worker pool, only " + ", ".join(sorted(pools)))
    return machines[0]


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    environment = {name: bound(value) for name, value in os.environ.items()}
    os.execve("/bin/sh", ["/bin/sh", "-c", bound(command), "sh", *arguments], environment)
