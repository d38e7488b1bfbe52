"""What a stack will declare: the planner's result, plain data from which the program is rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xmgen.experiment import Experiment

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]
"""What YAML, JSON and a Python literal have in common."""

Manifest = dict[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedExecutable:
    """name: the resource's logical name and the key by which manifests mean it. inputs: the resource's inputs.
    dockerfile: text of the generated Dockerfile; None when there is none to generate.
    """

    name: str
    inputs: Mapping[str, Value]
    dockerfile: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedUnit:
    """name: the logical name. position: in `Experiment.units`. depends_on: logical names.
    manifest: the document from which the program creates the resource.
    """

    name: str
    identity: str
    position: int
    manifest: Manifest
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    experiment: Experiment
    executables: tuple[PlannedExecutable, ...]
    units: tuple[PlannedUnit, ...]
    notes: tuple[str, ...] = field(default=())
    """What a reader of the summary should know, such as a requirement that has no effect."""
