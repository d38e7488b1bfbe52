"""What users and Pulumi are told of what runs again."""

from __future__ import annotations

import pytest

from xmgen.commands.again import Again
from xmgen.commands.on_cluster import Found
from xmgen.executors.gke.live import Rerun


@pytest.mark.parametrize(
    ("again", "said", "arguments"),
    [
        (Again("Job"), [], []),
        (Again("Job", unknown="Gone."), ["Gone."], []),
        (
            Again("CustomJob", {"urn:a": "failed before"}, "Which others cannot be known."),
            ["Which others cannot be known.", "1 CustomJob will run again: 1 failed before."],
            ["--replace", "urn:a"],
        ),
        (
            Found({"urn:a": Rerun("vanished"), "urn:b": Rerun("failed", "b"), "urn:c": Rerun("failed", "c")}).again,
            ["3 Jobs will run again: 2 failed before, 1 vanished from the cluster."],
            ["--replace", "urn:a", "--replace", "urn:b", "--replace", "urn:c"],
        ),
    ],
    ids=["nothing", "nobody knows", "not all is known", "on a cluster"],
)
def test_what_runs_again(again: Again, said: list[str], arguments: list[str]) -> None:
    assert (again.said(), again.arguments()) == (said, arguments)
