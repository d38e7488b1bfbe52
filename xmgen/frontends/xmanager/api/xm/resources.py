"""What a job needs: CPUs, memory, accelerators and their topology."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from xmgen.frontends.xmanager.api.xm.problems import InvalidValue, invalid, unsupported
from xmgen.frontends.xmanager.api.xm.resource_types import (
    AcceleratorType,
    Architecture,
    GpuType,
    ResourceType,
    ServiceTier,
    TpuType,
)

__all__ = [
    "AcceleratorType",
    "Architecture",
    "GpuType",
    "InvalidTpuTopologyError",
    "JobRequirements",
    "ResourceDict",
    "ResourceQuantity",
    "ResourceType",
    "ServiceTier",
    "Topology",
    "TpuType",
]


class InvalidTpuTopologyError(Exception):
    """A text that describes no topology."""


class Topology:
    """How accelerators are connected: `4` on one host, a grid of `4x4`, optionally `_twisted` or `_untwisted`."""

    def __init__(self, name: str) -> None:
        if not re.fullmatch(r"\d+(x0*[1-9]\d*)*(_(un)?twisted)?", name, re.ASCII) or re.match("0+x", name):
            raise InvalidTpuTopologyError(f"{name!r} is no topology such as '4x4'")
        self._name = name
        self.dimensions = [int(size) for size in name.split("_")[0].split("x")]

    @property
    def chip_count(self) -> int:
        return math.prod(self.dimensions)

    @property
    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"xm.Topology({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topology) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


ResourceQuantity = int | float | str | Topology


class ResourceDict(dict[ResourceType, float]):
    """Amounts of resources, which can be added and multiplied."""

    def __str__(self) -> str:
        return ", ".join(sorted(f"{resource}: {amount}" for resource, amount in self.items()))

    def __add__(self, other: ResourceDict) -> ResourceDict:
        result = ResourceDict()
        for resource in [*self, *other]:
            result[resource] = self.get(resource, 0) + other.get(resource, 0)
        return result

    def __mul__(self, factor: float) -> ResourceDict:
        result = ResourceDict()
        for resource, amount in self.items():
            result[resource] = amount * factor
        return result

    __rmul__ = __mul__


class JobRequirements:
    """What each task of a job needs.

    Resources are named as in `ResourceType`, in any case: `JobRequirements(cpu=4, ram=16 * xm.GiB, t4=1)`. An amount
    is a number or, for accelerators, a topology (`tpu_v5e='2x4'`), with `*N` behind it for N independent slices.

    task_requirements: the amounts for one task.
    accelerator:       the accelerator; a job has at most one kind.
    topology:          the accelerators' topology, of one slice.
    architecture:      of the CPU; that of the accelerator's machines unless given.
    location:          where to run.
    service_tier:      how reliably capacity is wanted.
    replicas:          how many identical tasks. A GPU topology of several dimensions implies it.
    num_slices:        how many independent slices of the topology.
    """

    def __init__(
        self,
        resources: Mapping[Any, ResourceQuantity] | None = None,
        *,
        architecture: Architecture | None = None,
        location: str | None = None,
        replicas: int | None = None,
        service_tier: ServiceTier | None = None,
        num_slices: int | None = None,
        **kw_resources: ResourceQuantity,
    ) -> None:
        _check("location", location, str, "a text")
        _check("service_tier", service_tier, ServiceTier, "an xm.ServiceTier")
        _check("architecture", architecture, Architecture, "an xm.Architecture")
        self.location = location
        self.task_requirements = ResourceDict()
        self.accelerator: ResourceType | None = None
        self.topology: Topology | None = None
        self._given_topology = False
        self._service_tier = service_tier
        for name, quantity in [*(resources or {}).items(), *kw_resources.items()]:
            if name == "replicas":
                if replicas is not None:
                    raise invalid("replicas has been specified twice")
                replicas = _positive(quantity, "replicas")
            else:
                num_slices = self._add(name, quantity, num_slices)
        self._num_slices = 1 if num_slices is None else _positive(num_slices, "num_slices")
        self._replicas_given = replicas is not None
        self.replicas: int = self._count_replicas(None if replicas is None else _positive(replicas, "replicas"))
        self._architecture_given = architecture is not None
        self.architecture = architecture or _architecture(self.accelerator)
        self._check_architecture()

    def _add(self, name: Any, quantity: ResourceQuantity, num_slices: int | None) -> int | None:
        """Adds one resource. Returns the number of slices, as far as it is known then."""
        if not isinstance(name, str | ResourceType):
            raise unsupported(f"{name!r} is no resource", hint="a name such as 'cpu', or an xm.ResourceType")
        resource: ResourceType = ResourceType[name] if isinstance(name, str) else name
        amount, topology, slices = _parse(name, quantity)
        if resource in self.task_requirements:
            raise invalid(f"{resource} has been specified twice")
        if resource in AcceleratorType:
            if self.accelerator is not None:
                raise invalid(f"a job has one kind of accelerator, not {self.accelerator} and {resource}")
            if not amount.is_integer():
                raise invalid(f"{resource} comes in whole numbers, not as {quantity!r}")
            self.accelerator = resource
            self.topology = topology or Topology(f"{amount:.0f}")
            # `Topology('8')` and '8' ask for a number.
            self._given_topology = topology is not None and len(topology.dimensions) > 1
        elif topology is not None or slices is not None:
            raise invalid(f"{resource} is no accelerator: its amount is a number, not {quantity!r}")
        self.task_requirements[resource] = amount
        if slices is not None and num_slices is not None and slices != num_slices:
            raise invalid(f"{quantity!r} means {slices} slices, and num_slices is {num_slices}")
        return num_slices if slices is None else slices

    def _count_replicas(self, replicas: int | None) -> int:
        if self.accelerator not in GpuType or self.topology is None or self.accelerator is ResourceType.B40_48TH:
            return replicas or 1
        if len(self.topology.dimensions) == 1 and self._num_slices == 1:
            return replicas or 1
        # One replica is one host, and the first dimension of a GPU topology is what one host holds.
        implied = math.prod(self.topology.dimensions[1:]) * self._num_slices
        if replicas not in (None, implied):
            raise invalid(
                f"{self.accelerator} with topology {self.topology.name} and {self._num_slices} slices means"
                f" {implied} replicas, not {replicas}"
            )
        return implied

    def _check_architecture(self) -> None:
        needed = _architecture(self.accelerator)
        if needed is not None and self.architecture is not needed:
            raise invalid(f"{self.accelerator} comes with {needed}, not with {self.architecture}")

    @property
    def service_tier(self) -> ServiceTier:
        return self._service_tier or ServiceTier.PROD

    @service_tier.setter
    def service_tier(self, new_service_tier: ServiceTier) -> None:
        _check("service_tier", new_service_tier, ServiceTier, "an xm.ServiceTier")
        self._service_tier = new_service_tier

    @property
    def num_slices(self) -> int:
        return self._num_slices

    @property
    def has_topology(self) -> bool:
        """Whether a topology was asked for, not just a number of accelerators."""
        return self._given_topology

    @property
    def explicit(self) -> dict[str, Any]:
        """What was asked for in so many words: the arguments that make an equal JobRequirements."""
        amounts: dict[ResourceType, ResourceQuantity] = dict(self.task_requirements)
        if self.accelerator is not None and self._given_topology and self.topology is not None:
            amounts[self.accelerator] = self.topology
        return {
            "resources": amounts,
            "architecture": self.architecture if self._architecture_given else None,
            "location": self.location,
            "replicas": self.replicas if self._replicas_given else None,
            "service_tier": self._service_tier,
            "num_slices": self._num_slices if self._num_slices != 1 else None,
        }

    def merge(self, other: JobRequirements) -> JobRequirements:
        """A copy in which everything that `other` asks for replaces what this asks for."""
        mine, others = self.explicit, other.explicit
        if other.accelerator is not None and self.accelerator is not None:
            del mine["resources"][self.accelerator]
        merged: dict[str, Any] = {name: value if others[name] is None else others[name] for name, value in mine.items()}
        merged["resources"] = {**mine["resources"], **others["resources"]}
        return JobRequirements(**merged)

    def __repr__(self) -> str:
        parts = [
            f"{resource.name.lower()}={self.topology if resource in TpuType else amount!r}"
            for resource, amount in self.task_requirements.items()
        ]
        explicit = self.explicit
        if self.location:
            parts.append(f"location={self.location!r}")
        if explicit["architecture"]:
            parts.append(f"architecture=xm.{self.architecture}")
        if self.service_tier is not ServiceTier.PROD:
            parts.append(f"service_tier=xm.{self.service_tier}")
        if self.replicas != 1:
            parts.append(f"replicas={self.replicas}")
        if self.num_slices != 1:
            parts.append(f"num_slices={self.num_slices}")
        return f"xm.JobRequirements({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobRequirements) and self._all() == other._all()

    __hash__ = None  # type: ignore[assignment] - the tier and the replicas may be set

    def _all(self) -> tuple[Any, ...]:
        return (
            self.task_requirements,
            self.accelerator,
            self.topology,
            self.architecture,
            self.location,
            self.service_tier,
            self.replicas,
            self.num_slices,
        )


def _check(name: str, value: object, kind: type, what: str) -> None:
    """Launch scripts are not type-checked."""
    if value is not None and not isinstance(value, kind):
        choices = ", ".join(f"{what.split()[-1]}.{each.name}" for each in kind) if issubclass(kind, Enum) else ""
        raise unsupported(f"JobRequirements.{name} must be {what} or None, got {value!r}", hint=choices)


def _architecture(accelerator: ResourceType | None) -> Architecture | None:
    if accelerator is None or accelerator is ResourceType.LOCAL_GPU:
        return None
    return accelerator.architecture()


def _parse(name: object, quantity: ResourceQuantity) -> tuple[float, Topology | None, int | None]:
    """(amount of one slice, topology, slices); None where the quantity does not say."""
    try:
        if isinstance(quantity, Topology):
            return float(quantity.chip_count), quantity, None
        if not isinstance(quantity, str):
            return _amount(quantity), None, None
        text, star, count = quantity.partition("*")
        slices = _positive(count, "the number of slices") if star else None
        if "x" in text:
            topology = Topology(text)
            return float(topology.chip_count), topology, slices
        return _amount(text), None, slices
    except (InvalidTpuTopologyError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, InvalidValue):
            raise
        raise invalid(
            f"cannot understand the amount of {name}: {quantity!r}",
            hint="a number (`ram=4 * xm.GiB`), or for an accelerator a topology such as '2x4'",
        ) from error


def _amount(value: object) -> float:
    amount = float(value)  # type: ignore[arg-type] - a wrong type is the caller's TypeError
    if not math.isfinite(amount) or amount < 0:
        raise ValueError(value)
    return amount


def _positive(value: object, what: str) -> int:
    try:
        number = float(value)  # type: ignore[arg-type] - a wrong type is reported as any other wrong value
    except (OverflowError, TypeError, ValueError):
        number = 0.0
    if number < 1 or not number.is_integer():
        raise invalid(f"{what} must be a positive integer, got {value!r}")
    return int(number)
