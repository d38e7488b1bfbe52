"""Service tiers: how a job gets its machines. Pure.

| tier | provisioning |
|---|---|
| none, PROD | the reservation when one is named and the machine can be reserved, else on demand |
| BATCH | flex-start where the machine has it (waits for capacity, at most seven days, cheaper), else on demand |
| FREEBIE | spot (cheapest, may be taken away at any time) |
| on-demand, spot, flex-start, reservation | exactly that |

PROD, BATCH and FREEBIE are XManager's; the last row is for machines that are not sold on demand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xmgen.catalog.model import MachineType, Provisioning
from xmgen.errors import Problem, did_you_mean

_TIERS: Mapping[str, tuple[Provisioning, ...]] = {
    "prod": ("on-demand",),
    "batch": ("flex-start", "on-demand"),
    "freebie": ("spot",),
    "on-demand": ("on-demand",),
    "spot": ("spot",),
    "flex-start": ("flex-start",),
    "reservation": ("reservation",),
}
_WITH_RESERVATION = ("prod", "reservation")
_TIER_FOR: Sequence[tuple[Provisioning, str]] = (
    ("on-demand", "PROD (on demand)"),
    ("flex-start", "BATCH (flex-start)"),
    ("spot", "FREEBIE (spot)"),
    ("reservation", "a reservation"),
)


def wanted(service_tier: str | None, reservation: str | None) -> tuple[Provisioning, ...] | Problem:
    """The ways to get machines that a tier allows, the preferred one first."""
    key = (service_tier or "prod").lower().replace("_", "-")
    if key not in _TIERS:
        return Problem(f"unknown service tier {service_tier!r}", hint=did_you_mean(key, _TIERS))
    if key == "reservation" and not reservation:
        return Problem("the service tier reservation needs the name of a reservation")
    if reservation and key not in _WITH_RESERVATION:
        message = f"asks for the reservation {reservation!r}, but the service tier {key.upper()} takes none"
        return Problem(message, hint="leave out one of them")
    return ("reservation", *_TIERS[key]) if key == "prod" and reservation else _TIERS[key]


def without_accelerator(reservation: str) -> Problem:
    """A reservation that would not be used."""
    message = f"asks for the reservation {reservation!r}, but for no accelerator"
    return Problem(message, hint="leave it out, or ask for the accelerator that it is for")


def provisioning(machine: MachineType, ways: Sequence[Provisioning]) -> Provisioning | None:
    """The first of the ways in which this machine is sold."""
    return next((way for way in ways if way in machine.provisioning), None)


def refusal(machines: Sequence[MachineType], ways: Sequence[Provisioning]) -> Problem:
    """None of the machines is sold in any of the ways."""
    names = ", ".join(machine.name for machine in machines)
    offered = [tier for way, tier in _TIER_FOR if any(way in machine.provisioning for machine in machines)]
    return Problem(f"{names} cannot be had {' or '.join(ways)}", hint=f"allowed: {', '.join(offered)}")
