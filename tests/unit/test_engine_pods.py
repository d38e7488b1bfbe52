"""What Kubernetes says of Jobs and pods, in a user's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kubernetes_answers import ended, job, pod, true
from xmgen.executors.gke import pods

NO_ROOM = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
UNPLACED = pod("Pending", {"type": "PodScheduled", "status": "False", "message": NO_ROOM}, node=None)
PULLING = {"name": "train", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}


@pytest.mark.parametrize(
    ("given", "of_job", "status", "waits_for"),
    [
        (job(), [], "waiting", []),
        (job(suspend=True), [], "waiting", ["its Job is suspended"]),
        (job(), [UNPLACED, UNPLACED], "waiting", [NO_ROOM]),
        (job(), [pod("Running"), UNPLACED], "waiting", [NO_ROOM]),
        (job(), [pod("Pending", containers=(PULLING,))], "waiting", ["ImagePullBackOff: not found"]),
        (job(), [pod("Running"), pod("Failed")], "running", []),
        (job(true("SuccessCriteriaMet")), [pod("Running")], "finished", []),
        (job(true("Complete")), [], "finished", []),
        (job(true("FailureTarget")), [pod("Running")], "failed", []),
        (job({"type": "Failed", "status": "False"}), [pod("Running")], "running", []),
    ],
)
def test_how_a_job_stands(
    given: dict[str, Any], of_job: list[dict[str, Any]], status: str, waits_for: list[str]
) -> None:
    assert (pods.job_status(given, of_job), pods.waits_for(given, of_job)) == (status, waits_for)


SHUTDOWN = "Pod was terminated in response to imminent node shutdown."


@pytest.mark.parametrize(
    ("failed", "words", "code"),
    [
        (pod("Failed", containers=(ended(3),)), "exited with code 3", 3),
        (pod("Failed", containers=(ended(0, name="proxy"), ended(2))), "exited with code 2", 2),
        (pod("Failed", containers=(ended(137, "OOMKilled"),)), "was killed: out of memory (exit code 137)", 137),
        (
            pod("Failed", true("DisruptionTarget"), containers=(ended(143),), message=SHUTDOWN, reason="Terminated"),
            f"was evicted: {SHUTDOWN}",
            143,
        ),
        (
            pod("Failed", true("DisruptionTarget", message="PodGC: node no longer exists")),
            "was evicted: PodGC: node no longer exists",
            None,
        ),
        (
            pod("Failed", reason="Evicted", message="The node was low on disk."),
            "was evicted: The node was low on disk.",
            None,
        ),
        (pod("Failed", reason="UnexpectedAdmissionError"), "failed: UnexpectedAdmissionError", None),
        (pod("Failed"), "failed: no reason given", None),
    ],
)
def test_how_a_pod_failed(failed: dict[str, Any], words: str, code: int | None) -> None:
    assert (pods.how_it_failed(failed), pods.exit_code(failed)) == (words, code)


def test_the_log_is_that_of_the_container_that_failed() -> None:
    assert pods.container(pod("Failed", containers=(ended(0), ended(1, name="proxy")))) == "proxy"
    assert pods.container(pod("Failed")) == "train"


FIRST = pod("Failed", name="first", containers=(ended(1, at="2026-01-01T00:00:01Z"),))
LAST = pod("Failed", name="last", containers=(ended(1, at="2026-01-01T00:00:02Z"),))
TAKEN_DOWN = pod("Failed", name="taken", containers=(ended(143, at="2026-01-01T00:00:03Z"),), deleted=True)
EVICTED = pod("Failed", true("DisruptionTarget"), name="evicted", containers=(ended(143, at="2026-01-01T00:00:04Z"),))


@pytest.mark.parametrize(
    ("of_job", "cause"),
    [
        ([LAST, FIRST], LAST),
        ([FIRST, TAKEN_DOWN, EVICTED, pod("Running")], FIRST),
        ([TAKEN_DOWN], TAKEN_DOWN),
        ([pod("Succeeded")], None),
        ([], None),
    ],
)
def test_a_job_fails_by_the_last_pod_that_failed_by_itself(
    of_job: list[dict[str, Any]], cause: dict[str, Any] | None
) -> None:
    assert pods.cause(of_job) == cause


def test_the_program_of_a_service_is_the_sidecar_called_like_its_job() -> None:
    plain = pod("Running")
    assert (pods.programs(plain), pods.container(plain)) == (["train"], "train")
    service = pod("Running")
    service["metadata"]["labels"] = {"xmgen/job": "ps"}
    service["spec"] = {"containers": [{"name": "waiter"}], "initContainers": [{"name": "fuse"}, {"name": "ps"}]}
    assert (pods.programs(service), pods.container(service)) == (["ps"], "ps")
    service["status"]["initContainerStatuses"] = [{"name": "ps", "state": {"running": {}}}]
    assert pods.container_state(service, "ps") == "running"


def test_a_sidecar_that_cannot_start_is_why_a_pod_waits() -> None:
    waiting = pod("Pending", containers=({"name": "waiter", "state": {"waiting": {"reason": "PodInitializing"}}},))
    waiting["status"]["initContainerStatuses"] = [
        {"name": "ps", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    ]
    assert pods.waits_for(job(), [waiting]) == ["ImagePullBackOff: no such image"]
