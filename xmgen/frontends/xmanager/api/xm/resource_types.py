"""Countable resources and their names in XManager."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from xmgen import catalog
from xmgen.errors import did_you_mean
from xmgen.frontends.xmanager.api.xm.problems import unknown

E = TypeVar("E", bound=enum.Enum)


class _AnyCase(enum.EnumMeta):
    """Looks members up in upper or lower case."""

    def __getitem__(cls: type[E], name: str) -> E:  # pyright: ignore[reportIncompatibleMethodOverride, reportGeneralTypeIssues]
        try:
            return super().__getitem__(name.upper())  # type: ignore[misc, no-any-return]
        except KeyError:
            raise unknown(f"unknown {cls.__name__} {name!r}", hint=cls._hint(name.lower())) from None  # pyright: ignore

    def _hint(cls: type[E], name: str) -> str:  # pyright: ignore[reportGeneralTypeIssues]
        return did_you_mean(name, map(str.lower, cls.__members__))


class _Resources(_AnyCase):
    def _hint(cls, name: str) -> str:
        others = {member.lower() for member in cls.__members__} - catalog.names().keys()
        return catalog.suggestion(name, [*sorted(others), catalog.LOCAL_GPU])


class Architecture(enum.Enum):
    """Of the CPU. HASWELL stands for x86-64."""

    HASWELL = 1
    ARM = 2


def _add_accelerators(members: dict[str, Any]) -> None:
    """To the members that XManager has: the catalog's other accelerators, and its other names of all of them."""
    numbers = itertools.count(1_000_001)
    for name, accelerator in catalog.names().items():
        value = members[accelerator.upper()] if accelerator.upper() in members else next(numbers)
        for member in (accelerator.upper(), name.upper()):
            if member not in members:
                members[member] = value


class ResourceType(enum.Enum, metaclass=_Resources):
    """A countable resource. Every model of accelerator is one of its own. The values are XManager's, those above a
    million xmgen's; further accelerators and names are the catalog's.
    """

    CPU = 100002
    MEMORY = 39
    RAM = 39  # noqa: PIE796 - an alias
    EPHEMERAL_STORAGE = 100003
    DISK = 100003  # noqa: PIE796 - an alias

    LOCAL_GPU = 100006
    P4 = 21
    T4 = 22
    L4_24TH = 68
    P100 = 14
    V100 = 17
    A100 = 46
    A100_80GIB = 66
    H100 = 70
    H100_MEGA = 113
    H200 = 86
    B200 = 87
    B300 = 112
    GB200 = 89
    GB300 = 100
    VR200 = 110
    B40_48TH = 93

    TPU_V2 = 3
    TPU_V3 = 16
    TPU_V4 = 34
    TPU_V5E = 60
    TPU_V5P = 59
    TPU_V6E = 63
    TPU_V7X = 92

    _add_accelerators(locals())

    def architecture(self) -> Architecture:
        """Of the machines that carry this accelerator. Raises ValueError where that is not fixed."""
        if self not in _ALL_GPUS and self not in _ALL_TPUS:
            raise ValueError(f"{self} stands for no architecture")
        return Architecture.ARM if self in _ON_ARM else Architecture.HASWELL

    def __str__(self) -> str:
        return self.name


_MEMBERS = list(ResourceType)
_ALL_TPUS = [member for member in _MEMBERS if member.name.lower() in catalog.catalog().tpus]
_ALL_GPUS = [member for member in _MEMBERS[_MEMBERS.index(ResourceType.P4) :] if member not in _ALL_TPUS]
_ON_ARM = {
    ResourceType.VR200,
    *(
        ResourceType[machine.accelerator]
        for machine in catalog.catalog().machines.values()
        if machine.accelerator and machine.architecture == "arm64"
    ),
}


class ServiceTier(enum.Enum, metaclass=_AnyCase):
    """How reliably capacity is wanted, from on-demand to whatever is spare."""

    PROD = 200
    BATCH = 100
    FREEBIE = 25


class _Subset(type):
    """A class that behaves like an enum of some members of ResourceType, which stay members of ResourceType."""

    _members: frozenset[ResourceType]

    def __call__(cls, value: Any) -> Any:
        resource = ResourceType(value)
        if resource not in cls:
            raise ValueError(f"{value} is not a valid {cls.__name__}")
        return resource

    def __getitem__(cls, name: str) -> ResourceType:
        resource: ResourceType = ResourceType[name]
        if resource not in cls:
            raise AttributeError(f"{cls.__name__} has no {name!r}")
        return resource

    def __iter__(cls) -> Iterator[ResourceType]:
        return iter(sorted(cls._members, key=_MEMBERS.index))

    def __contains__(cls, resource: object) -> bool:
        return resource in cls._members

    def contains(cls, value: ResourceType) -> bool:
        return value in cls


def _subset(name: str, members: Iterable[ResourceType]) -> Any:
    chosen = frozenset(members)
    constants = {key: member for key, member in ResourceType.__members__.items() if member in chosen}
    return _Subset(name, (), {**constants, "_members": chosen, "__module__": __name__})


TpuType = _subset("TpuType", _ALL_TPUS)
GpuType = _subset("GpuType", _ALL_GPUS)
AcceleratorType = _subset("AcceleratorType", [ResourceType.LOCAL_GPU, *_ALL_TPUS, *_ALL_GPUS])
