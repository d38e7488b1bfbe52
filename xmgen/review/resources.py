"""The resources that a plan declares, as a reviewer compares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xmgen.engine.trials import RUN_TYPE
from xmgen.plan import Plan, Value

EXECUTABLE_TYPE = "xmgen:local:Executable"


@dataclass(frozen=True, slots=True)
class Resource:
    """step: 1 for what can be created at once, else 1 more than the last it waits for.
    inputs: as the program has them, and the text of a generated Dockerfile.
    """

    type: str
    name: str
    step: int
    depends_on: tuple[str, ...]
    inputs: Mapping[str, Value]


def resources(plan: Plan) -> list[Resource]:
    """In the order in which Pulumi can create them; within a step, in the experiment's."""
    result = [
        Resource(EXECUTABLE_TYPE, executable.name, 1, (), {**executable.inputs, "Dockerfile": executable.dockerfile})
        for executable in plan.executables
    ]
    steps: dict[str, int] = {}
    for unit in plan.units:
        # A unit waits for its executables, which are all of step 1.
        steps[unit.name] = 1 + max((steps[name] for name in unit.depends_on), default=1)
        result.append(Resource(RUN_TYPE, unit.name, steps[unit.name], unit.depends_on, unit.manifests[0]))
    return sorted(result, key=lambda resource: resource.step)
