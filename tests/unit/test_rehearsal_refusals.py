"""What looks odd and Google accepts: a rehearsal that refused it would stop a stack that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xmgen.rehearsal.cloud import machines
from xmgen.rehearsal.cloud.refusals import refusal
from xmgen.rehearsal.cloud.store import Store
from xmgen.resource_types import BUCKET, CLUSTER


def labelled(key: str, value: str) -> tuple[str, dict[str, Any]]:
    return CLUSTER, {"name": "c", "resourceLabels": {key: value}}


def bucket(name: str) -> tuple[str, dict[str, Any]]:
    return BUCKET, {"name": name}


@pytest.mark.parametrize(
    ("asked", "accepted"),
    [
        (labelled("owner", ""), True),
        (labelled("owner", "jürgen_ß-1"), True),
        (labelled("équipe", "研究"), True),
        (labelled("owner", "Jürgen"), False),
        (labelled("Owner", "ada"), False),
        (labelled("owner", "ada lovelace"), False),
        (labelled("owner", "a" * 64), False),
        (labelled("1st", "ada"), False),
        (bucket("a" * 63), True),
        (bucket("a" * 64), False),
        (bucket(f"{'a' * 63}.{'b' * 63}.example.com"), True),
        (bucket(f"{'a' * 64}.example.com"), False),
        (bucket("ab"), False),
        (bucket("my-google-bucket"), False),
    ],
)
def test_labels_and_names_of_buckets(asked: tuple[str, dict[str, Any]], accepted: bool, tmp_path: Path) -> None:
    assert (refusal(*asked, Store(tmp_path / "cloud.json")) is None) is accepted


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("e2-standard-2", "e2"),
        ("n2-custom-4-8192", "n2"),
        ("n1-custom-6-40960-ext", "n1"),
        ("custom-4-8192", "n1"),
        ("e2-custom-medium-4096", "e2"),
        ("n1-standard-4", "n1"),
    ],
)
def test_machine_types_there_may_be(name: str, family: str) -> None:
    assert (machines.exists(name), machines.family(name)) == (True, family)


@pytest.mark.parametrize("name", ["n1-standard", "custom-4", "n9-standard-4", "a2-custom-4-8192", "n1_standard_4"])
def test_machine_types_there_are_not(name: str) -> None:
    assert not machines.exists(name)
