"""Logs that are followed through an API server that breaks off, refuses and forgets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from tests.builders import experiment, job
from tests.compiled_stacks import compiled_stack
from tests.kubernetes_answers import ended, pod, true
from xmgen.commands.logs import seconds
from xmgen.errors import InputError, OperationError, Problem
from xmgen.executors.base import LogWindow
from xmgen.executors.gke import pod_logs
from xmgen.executors.gke.connection import Connection, Refused
from xmgen.executors.gke.jobs import job_name, resource_name
from xmgen.executors.gke.pod_logs import Followed, Log, Printed
from xmgen.experiment import Kubernetes
from xmgen.pulumi_cli import trials

PATH = "/api/v1/namespaces/ours/pods/train-1-abcde/log"
RUNS = Log(PATH, "train", "train-1-abcde", "running")
ENDED = Log(PATH, "train", "train-1-abcde", "ended")
BROKEN = OperationError("the cluster cannot be reached")


def at(number: int, text: str) -> str:
    return f"2026-01-01T00:00:00.{number:09}Z {text}"


class Cluster:
    """Answers each request for a log with the next of its answers: lines, at the end of which it may break off."""

    def __init__(self, *answers: Sequence[str | Exception]) -> None:
        self._answers = list(answers)
        self.asked: list[dict[str, str]] = []

    def lines(self, path: str, **query: str) -> Iterator[str]:
        assert path == PATH
        self.asked.append(query)
        for each in self._answers.pop(0):
            if isinstance(each, Exception):
                raise each
            yield each


def follow(cluster: Cluster, *looks: Log, window: LogWindow = LogWindow()) -> list[str | Problem]:  # noqa: B008 (frozen)
    """What comes when the log is found as it says, one after the other."""
    followed = Followed(cast(Connection, cluster), window)
    came: list[str | Problem] = []
    for log in looks:
        followed.look([log])
        for reading in [thread for thread in threading.enumerate() if thread.name == log.title]:
            reading.join()
        came += [what for _, what in followed.come(0)]
    assert followed.done
    return came


def test_a_connection_that_ends_is_followed_by_one_that_goes_on_behind_the_last_line() -> None:
    cluster = Cluster(
        [at(1, "a"), at(2, "b"), BROKEN],
        # Times are asked for in whole seconds.
        [at(1, "a"), at(2, "b"), at(3, "c"), at(3, "c")],
        [at(3, "c"), at(4, " end ")],
    )
    assert follow(cluster, RUNS, RUNS, ENDED, ENDED, window=LogWindow(tail=5)) == ["a", "b", "c", "c", " end "]
    asked = {"container": "train", "timestamps": "true"}
    assert cluster.asked == [
        {**asked, "follow": "true", "tailLines": "5"},
        {**asked, "follow": "true", "sinceTime": "2026-01-01T00:00:00.000000002Z"},
        {**asked, "follow": "false", "sinceTime": "2026-01-01T00:00:00.000000003Z"},
    ]


def test_why_a_log_cannot_be_read_is_said_once() -> None:
    refused = Refused(500, "dial tcp 10.0.0.1:10250: i/o timeout")
    kept = (
        """`gcloud logging read 'resource.type="k8s_container" AND resource.labels.namespace_name="ours" AND """
        """resource.labels.pod_name:"train-1-abcde"' --order=asc --freshness=30d '--format=value(textPayload)'` """
        "prints what was kept of it"
    )
    expected = Problem(f"the cluster does not give its log: {refused}", "train-1-abcde", kept)
    assert follow(Cluster([refused], [at(1, "a"), refused], [refused]), RUNS, RUNS, ENDED) == [expected, "a"]


def test_a_log_that_has_gone_with_its_node() -> None:
    # What the API server says of it names the node, and calls it a pod.
    problem = ENDED.unreadable(Refused(404, 'pods "gke-1" not found'))
    assert (problem.message, problem.where) == ("its node is gone, and its log with it", "train-1-abcde")


def test_no_more_logs_are_followed_at_once_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_logs, "MOST_AT_ONCE", 1)
    go_on = threading.Event()

    class Waits(Cluster):
        def lines(self, path: str, **query: str) -> Iterator[str]:
            go_on.wait()
            yield at(1, query["container"])

    followed = Followed(cast(Connection, Waits()), LogWindow())
    logs = [Log(PATH, name, name, "ended") for name in ("a", "b")]
    assert followed.look(logs) == 1
    go_on.set()
    came: list[str | Problem] = []
    while not followed.done:
        followed.look(logs)
        came += [what for _, what in followed.come(0.01)]
    came += [what for _, what in followed.come(0)]
    assert came == ["a", "b"]


class Objects:
    """A cluster with these Jobs and pods."""

    def __init__(self, jobs: list[dict[str, Any]], pods: list[dict[str, Any]]) -> None:
        self._lists = {"jobs": jobs, "pods": pods}

    def items(self, path: str) -> list[dict[str, Any]]:
        return self._lists[path.rpartition("/")[2]]


def of(state: dict[str, Any] | None, *conditions: dict[str, str], pods: Sequence[dict[str, Any]] = ()) -> Printed:
    """What is found of a unit's only Job. state: as Pulumi has it. conditions: of the Job; None where it is gone."""
    [unit] = (plan := compiled_stack(experiment(job(executor=Kubernetes()), stack="ours"))).units
    name, resource = job_name(unit.manifests[0]), resource_name(unit.manifests[0])
    urn = f"urn:pulumi:ours::experiments::kubernetes:batch/v1:Job::{resource}"
    resources = [{"urn": urn, "type": "kubernetes:batch/v1:Job", "outputs": state}] if state is not None else []
    there = {"metadata": {"name": name, "uid": "1"}, "spec": {}, "status": {"conditions": list(conditions)}}
    owned = [{**each, "metadata": {**each["metadata"], "ownerReferences": [{"uid": "1"}]}} for each in pods]
    cluster = Objects([there] if conditions or pods or state is None else [], owned)
    known = trials.job_states(json.dumps({"deployment": {"resources": resources}}))
    [found] = pod_logs.of_units(plan, [unit.name], known, cast(Connection, cluster))
    return found


FAILED = true("Failed", reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")


@pytest.mark.parametrize(
    ("found", "states", "over", "known"),
    [
        (of(None), [], False, "waits for its first pod"),
        (of(None, pods=[pod("Pending", node=None)]), ["waiting"], False, "waits for a pod that has not started yet"),
        (
            of(None, pods=[pod("Pending", {"type": "PodScheduled", "status": "False", "message": "no"}, node=None)]),
            ["waiting"],
            False,
            "waits for no",
        ),
        (of(None, true("Complete")), [], True, "finished, and its pods are gone"),
        (of(None, FAILED), [], True, "failed, and its pods are gone"),
        (of(None, FAILED, pods=[pod("Failed", containers=(ended(3),))]), ["ended"], True, None),
        # Evicted before it began.
        (of(None, FAILED, pods=[pod("Failed", reason="Evicted")]), ["ended"], True, None),
        (of({}), [], True, "its Job is no longer on the cluster; `xmgen up ours` runs it again"),
        (
            of({"status": {"conditions": [true("Complete")]}}),
            [],
            True,
            "finished, and its Job is not on the cluster",
        ),
    ],
)
def test_what_there_is_of_a_job(found: Printed, states: list[str], over: bool, known: str | None) -> None:
    assert [log.state for log in found.logs] == states
    assert found.over == over
    assert (found.known and found.known.message) == known


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86_400), ("1h30m", 5400)]
)
def test_a_length_of_time(text: str, expected: int) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "10", "m", "10 m", "-1h", "0s", "1w", "1h,2m", "\u0661m"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(InputError, match="no length of time"):
        seconds(text)
