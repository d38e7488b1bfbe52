"""When the pods of a rehearsal are told what becomes of them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from xmgen.executors.gke.slices import SLICE_LABEL
from xmgen.rehearsal.api import Answer, Api
from xmgen.rehearsal.cloud.pools import Pools, View
from xmgen.rehearsal.cluster import SimulatedCluster
from xmgen.rehearsal.director import INDEX_LABEL, Director

JOB = "/apis/batch/v1/namespaces/team/jobs/train"


class Server:
    """Knows one Job, and which pods have been told."""

    def __init__(self, completions: int | None) -> None:
        self._completions = completions
        self.told: list[str] = []

    def request(self, method: str, path: str, body: object = None) -> Answer:
        if method == "PATCH":
            self.told.append(path.rpartition("/")[2])
            return Answer(200, {})
        assert (method, path) == ("GET", JOB)
        if self._completions is None:
            return Answer(404, {})
        return Answer(200, {"spec": {"completions": self._completions}})


class Unused:
    """The pools of a cluster none of whose nodes is reclaimed."""

    def reclaim(self, nodes: list[str]) -> None:
        assert nodes == []


def pod(index: int, phase: str = "Running", *, told: bool = False, of_a_slice: bool = True) -> dict[str, Any]:
    labels = {INDEX_LABEL: str(index), "xmgen/unit": "train", "xmgen/job": "train"}
    return {
        "metadata": {
            "name": f"train-{index}",
            "namespace": "team",
            "uid": f"pod-{index}",
            "labels": {**labels, SLICE_LABEL: "train"} if of_a_slice else labels,
            "annotations": {"rehearsal.xmgen/outcome": "succeed" if told else "untold"},
            "ownerReferences": [{"kind": "Job", "name": "train", "uid": "job"}],
        },
        "spec": {},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("completions", "pods", "told"),
    [
        pytest.param(3, [pod(0), pod(1), pod(2)], [0, 1, 2], id="all have come"),
        pytest.param(3, [pod(0), pod(1)], [], id="one is not made yet"),
        pytest.param(3, [pod(0), pod(1), pod(2, "Pending")], [], id="one has no node yet"),
        pytest.param(3, [pod(0), pod(1), pod(1), pod(2, "Pending")], [], id="two of one index are one worker"),
        pytest.param(3, [pod(0, "Succeeded", told=True), pod(1), pod(2)], [1, 2], id="one has done its part already"),
        pytest.param(None, [pod(0), pod(1), pod(2)], [], id="its Job has been deleted"),
        pytest.param(3, [pod(0, of_a_slice=False), pod(1, "Pending", of_a_slice=False)], [0, 1], id="no slice"),
    ],
)
def test_workers_of_a_slice_begin_when_all_have_come(
    completions: int | None, pods: list[dict[str, Any]], told: list[int]
) -> None:
    server = Server(completions)
    cluster = cast(SimulatedCluster, object())
    director = Director(cluster, cast(Pools, Unused()), cast(Api, server), usual=1)
    director.step(View(nodes=[], pods=pods))
    assert server.told == [f"train-{index}" for index in told]
