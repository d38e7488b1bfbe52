"""The resources of a stack on this machine: the code of its work units, packaged."""

from __future__ import annotations

from typing import cast

from xmgen import resource_types
from xmgen.plan.model import Plan
from xmgen.plan.resources import Declared, Inputs, Resource, Workloads

RUNS = "manifests/local.yaml"


def declared(plan: Plan) -> Declared:
    return Declared(
        runs="local",
        resources=tuple(
            Resource(
                variable="executables",
                key=executable.name,
                name=executable.name,
                type=resource_types.EXECUTABLE,
                inputs=cast("Inputs", executable.inputs),
            )
            for executable in plan.executables
        ),
        workloads=Workloads(type=resource_types.RUN, manifests=RUNS),
    )
