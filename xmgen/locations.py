"""Zones and regions of Google Cloud by their names: what they look like, and which lies in which. Pure."""

from __future__ import annotations

import re

REGION = r"[a-z]+-[a-z]+[0-9]+"
ZONE = rf"{REGION}-(?:[a-z]|ai[0-9]+[a-z]?)"
"""Patterns. https://cloud.google.com/compute/docs/regions-zones; AI zones (`us-central1-ai1a`) have a longer suffix."""


def is_region(text: str) -> bool:
    """`us-central1`."""
    return re.fullmatch(REGION, text) is not None


def is_zone(text: str) -> bool:
    """`us-central1-a`."""
    return re.fullmatch(ZONE, text) is not None


def is_location(text: str) -> bool:
    return is_region(text) or is_zone(text)


def region_of(location: str) -> str:
    """Of a zone or region: `us-central1-a` -> `us-central1`."""
    return "-".join(location.split("-")[:2])


def is_within(inner: str, outer: str) -> bool:
    """Whether a location is another one, or a zone of it."""
    return inner == outer or inner.startswith(f"{outer}-")


def usual_zones(location: str) -> list[str]:
    """The zone itself; of a region three, as many as GKE takes of it."""
    return [location] if is_zone(location) else [f"{location}-{letter}" for letter in "abc"]
