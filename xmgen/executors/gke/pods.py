"""What Kubernetes says of a Job and its pods, in words. Pure: from the API's objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

from xmgen.executors.gke.jobs import JOB_LABEL
from xmgen.pulumi_cli.trials import Status

Object = dict[str, Any]
"""A Job, or a pod, as the API has it."""


def _list(item: Object, key: str) -> list[Object]:
    """A list of the status; what is empty is left out by the API."""
    return cast(list[Object], item.get("status", {}).get(key) or [])


def condition(item: Object, *types: str) -> Object | None:
    """The first condition of these types that is true."""
    found = {str(each["type"]): each for each in _list(item, "conditions")}
    return next((found[type] for type in types if type in found and found[type].get("status") == "True"), None)


def job_end(job: Object) -> Literal["finished", "failed"] | None:
    """How it ended; None while it has not."""
    # The second of each comes first: it is decided, and pods are being cleaned up.
    if condition(job, "Complete", "SuccessCriteriaMet"):
        return "finished"
    return "failed" if condition(job, "Failed", "FailureTarget") else None


def job_status(job: Object, pods: Sequence[Object]) -> Status:
    """pods: the Job's."""
    if (end := job_end(job)) is not None:
        return end
    open_pods = [pod for pod in pods if pod["status"].get("phase") not in ("Succeeded", "Failed")]
    running = [pod for pod in open_pods if pod["status"].get("phase") == "Running"]
    return "running" if running and len(running) == len(open_pods) else "waiting"


def waits_for(job: Object, pods: Iterable[Object]) -> list[str]:
    """Why the pods of a Job that has not ended do not run yet, each reason once."""
    reasons = [_waits_for(pod) for pod in pods if pod["status"].get("phase") == "Pending"]
    if job.get("spec", {}).get("suspend"):
        reasons.append("its Job is suspended")
    return list(dict.fromkeys(reason for reason in reasons if reason))


def refused(pod: Object) -> str:
    """Why the scheduler found no node for it, in the scheduler's words; empty when it has not looked yet."""
    for each in _list(pod, "conditions"):
        if each["type"] == "PodScheduled" and each["status"] == "False":
            return str(each.get("message") or each.get("reason"))
    return ""


def cause(pods: Iterable[Object]) -> Object | None:
    """The pod by which a Job failed: the last that failed by itself, and was not taken down with the others."""
    failed = [pod for pod in pods if pod["status"].get("phase") == "Failed"]
    own = [pod for pod in failed if "deletionTimestamp" not in pod["metadata"] and not disrupted(pod)]
    return max(own or failed, key=_ended_at, default=None)


def disrupted(pod: Object) -> bool:
    """Whether its node was taken away, or it had to make room."""
    return condition(pod, "DisruptionTarget") is not None


def exit_code(pod: Object) -> int | None:
    """Of the first container that failed, else 0; None where none has ended."""
    terminated = [state for _, state in _terminated(pod)]
    codes = [int(state.get("exitCode", 0)) for state in terminated]
    return next((code for code in codes if code), 0) if codes else None


def programs(pod: Object) -> list[str]:
    """The containers that run a job's program. A service is a sidecar, called like its job, of one that only waits."""
    own = pod["metadata"].get("labels", {}).get(JOB_LABEL)
    if any(each["name"] == own for each in pod["spec"].get("initContainers") or ()):
        return [str(own)]
    return [str(each["name"]) for each in pod["spec"]["containers"]]


def container(pod: Object) -> str:
    """The container to ask for a log: the first that failed, else the first."""
    failed = (name for name, state in _terminated(pod) if state.get("exitCode"))
    return next(failed, programs(pod)[0])


def container_state(pod: Object, name: str) -> Literal["waiting", "running", "ended"]:
    """Of one of the pod's containers."""
    own = (each for each in _statuses(pod) if each["name"] == name)
    state = cast(Object, next(own, Object()).get("state") or {})
    if "terminated" in state or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return "ended"
    return "running" if "running" in state else "waiting"


def how_it_failed(pod: Object) -> str:
    """`exited with code 3`, `was killed: out of memory (exit code 137)`, `was evicted: …`."""
    if disrupted(pod) or pod["status"].get("reason") == "Evicted":
        return f"was evicted: {_why(pod) or 'its node was taken away'}"
    for _, state in _terminated(pod):
        code = int(state.get("exitCode", 0))
        if state.get("reason") == "OOMKilled":
            return f"was killed: out of memory (exit code {code})"
        if code:
            message = f": {state['message'].strip()}" if state.get("message") else ""
            return f"exited with code {code}{message}"
    return f"failed: {_why(pod) or 'no reason given'}"


def job_failure(job: Object) -> str:
    """Why the controller gave a Job up, in its words."""
    found = condition(job, "Failed", "FailureTarget") or {}
    return ": ".join(str(found[key]) for key in ("reason", "message") if found.get(key))


def _waits_for(pod: Object) -> str:
    if not pod["spec"].get("nodeName"):
        return refused(pod)
    waiting = [state for each in _statuses(pod) if (state := each.get("state", {}).get("waiting"))]
    # That others are not started yet says less than why those are not.
    waiting.sort(key=lambda state: state.get("reason") == "PodInitializing")
    # Such as ImagePullBackOff, with what the registry said.
    said = (": ".join(str(state[key]) for key in ("reason", "message") if state.get(key)) for state in waiting)
    return next(said, "")


def _why(pod: Object) -> str:
    """Why a pod as a whole ended, in Kubernetes' words."""
    target = condition(pod, "DisruptionTarget") or {}
    return str(pod["status"].get("message") or target.get("message") or pod["status"].get("reason") or "")


def _statuses(pod: Object) -> list[Object]:
    """Of the containers, those first that are started first."""
    return [*_list(pod, "initContainerStatuses"), *_list(pod, "containerStatuses")]


def _terminated(pod: Object) -> list[tuple[str, Object]]:
    """The containers that have ended, and how."""
    return [
        (str(each["name"]), each["state"]["terminated"])
        for each in _list(pod, "containerStatuses")
        if each.get("state", {}).get("terminated")
    ]


def _ended_at(pod: Object) -> str:
    ends = [str(state.get("finishedAt") or "") for _, state in _terminated(pod)]
    # One whose containers never started has but the time it was made.
    return max(ends, default="") or str(pod["metadata"].get("creationTimestamp", ""))
