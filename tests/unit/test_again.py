"""What users and Pulumi are told of what runs again."""

from __future__ import annotations

import pytest

from xmgen.executors.base import Reruns
from xmgen.executors.gke.live import Rerun
from xmgen.executors.gke.runtime import reasons

THREE = {"urn:a": Rerun("vanished"), "urn:b": Rerun("failed", "b"), "urn:c": Rerun("failed", "c")}


@pytest.mark.parametrize(
    ("reruns", "said", "arguments"),
    [
        (Reruns(kind="Job"), [], []),
        (Reruns(kind="Job", unknown="Gone."), ["Gone."], []),
        (
            Reruns(kind="CustomJob", reasons={"urn:a": "failed before"}, unknown="Which others cannot be known."),
            ["Which others cannot be known.", "1 CustomJob will run again: 1 failed before."],
            ["--replace", "urn:a"],
        ),
        (
            Reruns(kind="Job", reasons=reasons(THREE)),
            ["3 Jobs will run again: 2 failed before, 1 vanished from the cluster."],
            ["--replace", "urn:a", "--replace", "urn:b", "--replace", "urn:c"],
        ),
    ],
    ids=["nothing", "nobody knows", "not all is known", "on a cluster"],
)
def test_what_runs_again(reruns: Reruns, said: list[str], arguments: list[str]) -> None:
    assert (reruns.sentences(), reruns.arguments()) == (said, arguments)
