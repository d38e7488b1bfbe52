"""What a zone is, what a region, and which lies in which."""

from __future__ import annotations

import pytest

from xmgen import locations


@pytest.mark.parametrize(
    ("text", "region", "zone"),
    [
        ("us-central1", True, False),
        ("us-central1-a", False, True),
        ("northamerica-northeast2", True, False),
        ("us-central1-ai1a", False, True),
        ("us-central1-ai12", False, True),
        ("us-central1-aa", False, False),
        ("us-central", False, False),
        ("us-central1-", False, False),
        ("US-central1", False, False),
        ("us-central1\n", False, False),
        ("us", False, False),
        ("", False, False),
    ],
)
def test_zones_and_regions(text: str, region: bool, zone: bool) -> None:
    assert (locations.is_region(text), locations.is_zone(text)) == (region, zone)
    assert locations.is_location(text) == (region or zone)


@pytest.mark.parametrize(
    ("location", "region"),
    [("us-central1-a", "us-central1"), ("us-central1", "us-central1"), ("us-central1-ai1a", "us-central1"), ("", "")],
)
def test_the_region_of_a_location(location: str, region: str) -> None:
    assert locations.region_of(location) == region


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        ("us-central1-a", "us-central1", True),
        ("us-central1", "us-central1", True),
        ("us-central1", "us-central1-a", False),
        ("us-central10-a", "us-central1", False),
    ],
)
def test_what_lies_in_what(inner: str, outer: str, expected: bool) -> None:
    assert locations.is_within(inner, outer) == expected


def test_the_zones_that_gke_takes_of_a_region() -> None:
    assert locations.usual_zones("us-east1-d") == ["us-east1-d"]
    assert locations.usual_zones("us-east1") == ["us-east1-a", "us-east1-b", "us-east1-c"]
