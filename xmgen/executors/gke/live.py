"""How the work units of a stack on GKE stand, from the cluster itself."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Literal, cast

from xmgen.errors import OperationError, Problem
from xmgen.executors.gke import pods, services
from xmgen.executors.gke.connection import Connection, Refused
from xmgen.executors.gke.jobs import RESOURCE_ANNOTATION, job_name, resource_name
from xmgen.executors.gke.objects import SKIP_AWAIT_ANNOTATION
from xmgen.executors.gke.pods import Object
from xmgen.provider.wire import masked
from xmgen.pulumi_cli import trials
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_cli.trials import Status, Trial
from xmgen.stack.compiled import CompiledStack
from xmgen.terminal_lines import cut, drawn

LAST_LINES = 10
"""Of a failed pod's log."""

_THREADS = 8


@dataclass(frozen=True, slots=True)
class Known:
    """How one Job stands. reasons: why it failed, or what it waits for."""

    status: Status
    reasons: tuple[str, ...] = ()
    exit_code: int | None = None
    seconds: float | None = None
    log_command: str = ""


@dataclass(frozen=True, slots=True)
class Rerun:
    """A Job that runs again: it failed, vanished from the cluster, or served such Jobs of its group. name: of the Job
    where it is there still.
    """

    why: Literal["failed", "vanished", "served"]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """why: the pod and how it ended, which may have left a message. log: its last lines, as long as they came.
    command: prints the log.
    """

    why: str
    log: tuple[str, ...] = ()
    exit_code: int | None = None
    command: str = ""

    @property
    def printed(self) -> bool:
        """Whether the job itself may have said some of it."""
        return bool(self.log) or self.exit_code is not None

    def shown(self, hidden: Collection[str]) -> Failed:
        """As it may be shown. hidden: the texts that are secret."""
        # Cut last: half a secret is not found any more.
        log = tuple(cut(line) for line in masked("\n".join(self.log), hidden).split("\n")) if self.log else ()
        return replace(self, why=masked(self.why, hidden), log=log)


def units(
    compiled: CompiledStack, export: str | None, cluster: Connection, hidden: Callable[[], Collection[str]]
) -> list[Trial]:
    """Every unit of the stack, in its order. export: the stack's state. hidden: gives the texts that are secret, which
    a job may print before it fails; asked for when one has.

    Raises OperationError when the cluster does not answer, and as `hidden` does.
    """
    namespace = namespace_of(compiled)
    jobs, of_job = read(cluster, namespace)
    known = trials.job_states(export)
    found = {
        resource_name(head): find(jobs, job_name(head), resource_name(head))
        for unit in compiled.units
        for head in unit.heads
    }

    def pods_of(job: Object) -> list[Object]:
        return of_job.get(str(job["metadata"]["uid"]), [])

    def look(job: Object) -> Failed:
        return failure(cluster, namespace, job, pods_of(job))

    ended = {name: job for name, job in found.items() if job is not None and pods.job_end(job) == "failed"}
    # A log each.
    with ThreadPoolExecutor(_THREADS) as threads:
        failures = dict(zip(ended, threads.map(look, ended.values()), strict=True))
    secrets = hidden() if any(each.printed for each in failures.values()) else ()

    def stand(resource: str, job: Object | None) -> Known:
        if job is None:
            return absent(known.get(resource), compiled.name)
        if resource in failures:
            return _failed(job, failures[resource].shown(secrets))
        return _known(job, pods_of(job))

    stands = {resource: stand(resource, job) for resource, job in found.items()}
    return [
        _unit(name, varying, [stands[resource] for resource in unit.resources])
        for (name, varying), unit in zip(trials.rows(compiled), compiled.units, strict=True)
    ]


def namespace_of(compiled: CompiledStack) -> str:
    """That of the stack's Jobs. Raises StopIteration for a stack without any."""
    head = next(head for unit in compiled.units for head in unit.heads)
    return str(cast(Object, head)["metadata"]["namespace"])


def read(cluster: Connection, namespace: str) -> tuple[list[Object], dict[str, list[Object]]]:
    """The Jobs of a namespace, and the pods of each, by its uid. Raises OperationError when it cannot be told."""
    try:
        jobs = cluster.items(f"/apis/batch/v1/namespaces/{namespace}/jobs")
        found = cluster.items(f"/api/v1/namespaces/{namespace}/pods")
    except Refused as refused:
        hint = "`gcloud auth login` as somebody with roles/container.viewer" if refused.status in (401, 403) else ""
        raise OperationError(Problem(f"the cluster refuses to say: {refused}", hint=hint)) from None
    of_job: dict[str, list[Object]] = {}
    for pod in found:
        for owner in cast(list[Object], pod["metadata"].get("ownerReferences") or []):
            of_job.setdefault(str(owner["uid"]), []).append(pod)
    return jobs, of_job


def find(jobs: Sequence[Object], name: str, resource: str) -> Object | None:
    """The Job of a manifest; else the one that the next `up` replaces by it."""
    named = next((job for job in jobs if job["metadata"]["name"] == name), None)
    if named is not None:
        return named
    former = (job for job in jobs if _annotation(job, RESOURCE_ANNOTATION) == resource)
    return next((job for job in former if "deletionTimestamp" not in job["metadata"]), None)


def _annotation(item: Object, key: str) -> str:
    return cast(dict[str, str], item["metadata"].get("annotations") or {}).get(key, "")


def absent(state: StateResource | None, stack: str) -> Known:
    """A Job that is not there. state: what Pulumi has of it."""
    status = trials.job_status(state)
    if status != "running":
        return Known(status)
    return Known("stopped", (f"its Job is no longer on the cluster; `xmgen up {stack}` runs it again",))


def _known(job: Object, of_job: Sequence[Object]) -> Known:
    """Of a Job that has not failed."""
    status = pods.job_status(job, of_job)
    if status == "waiting":
        return Known(status, tuple(pods.waits_for(job, of_job)))
    return Known(status, exit_code=0 if status == "finished" else None, seconds=_seconds(job))


def _failed(job: Object, found: Failed) -> Known:
    text = "\n".join([found.why, *(f"    {line}" for line in found.log)])
    return Known("failed", (text,), found.exit_code, _seconds(job), found.command)


def to_run_again(compiled: CompiledStack, export: str, cluster: Connection) -> dict[str, Rerun]:
    """The Jobs of the stack that a next `up` would take for done, and that are not, by their URNs: those that failed,
    those that vanished before anybody knew that they had ended, and the services that ended with them.

    Raises OperationError when the cluster does not answer.
    """
    namespace = namespace_of(compiled)
    there = {str(job["metadata"]["name"]): job for job in read(cluster, namespace)[0]}
    state = trials.job_states(export)
    again: dict[str, Rerun] = {}
    for unit in compiled.units:
        # Another Job than the program's is replaced anyway.
        known = {
            job_name(head): found
            for head in unit.heads
            if (found := state.get(resource_name(head))) is not None and found.id == f"{namespace}/{job_name(head)}"
        }
        for name, resource in known.items():
            job = there.get(name)
            if job is not None and pods.job_end(job) == "failed":
                again[resource.urn] = Rerun("failed", name)
            elif job is None and trials.job_status(resource) != "finished":
                again[resource.urn] = Rerun("vanished")
        if len(unit.resources) == 1:
            # A service has others that it serves.
            continue
        served = [job_name(manifest) for manifest in unit.manifests if not services.is_service(manifest)]
        # As long as one of them goes on its services do, too.
        over = all(name not in there or pods.job_end(there[name]) for name in served)
        if over and any(name in known and known[name].urn in again for name in served):
            for name, resource in known.items():
                if name not in served:
                    again.setdefault(resource.urn, Rerun("served", name if name in there else ""))
    return again


def obsolete(compiled: CompiledStack, cluster: Connection) -> list[str]:
    """The Jobs of the stack, by name, that its program does not declare, and that an `up` deletes.

    Raises OperationError when the cluster does not answer.
    """
    wanted = {job_name(head) for unit in compiled.units for head in unit.heads}
    there = read(cluster, namespace_of(compiled))[0]
    # What a controller has started is no part of the stack.
    ours = [str(job["metadata"]["name"]) for job in there if _annotation(job, RESOURCE_ANNOTATION)]
    return [name for name in ours if name not in wanted]


def awaited(compiled: CompiledStack) -> set[str]:
    """The logical names of the Jobs that others depend on, and that an `up` waits for."""
    return {
        resource_name(head)
        for unit in compiled.units
        for head in unit.heads
        if SKIP_AWAIT_ANNOTATION not in cast(dict[str, dict[str, object]], head["metadata"])["annotations"]
    }


def delete(cluster: Connection, compiled: CompiledStack, name: str) -> None:
    """Raises OperationError when the cluster does not answer, or refuses."""
    try:
        cluster.delete(f"/apis/batch/v1/namespaces/{namespace_of(compiled)}/jobs/{name}")
    except Refused as refused:
        raise OperationError(Problem(f"the Job {name} cannot be deleted: {refused}")) from None


def failure(cluster: Connection, namespace: str, job: Object, of_job: Sequence[Object]) -> Failed:
    """Why a Job failed, with whatever it printed. of_job: its pods.

    Raises OperationError when the cluster does not answer.
    """
    pod = pods.cause(of_job)
    if pod is None:
        name = str(job["metadata"]["name"])
        return Failed(f"{name}: {pods.job_failure(job)}; its pods are gone", command=logged(namespace, name))
    name, container = str(pod["metadata"]["name"]), pods.container(pod)
    why, code = f"pod {name} {pods.how_it_failed(pod)}", pods.exit_code(pod)
    try:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/log"
        text = cluster.text(path, container=container, tailLines=str(LAST_LINES))
    except Refused as refused:
        why += f"; {no_log(refused)}"
        return Failed(why, exit_code=code, command=logged(namespace, name))
    lines = tuple(drawn(line) for line in text.removesuffix("\n").split("\n")[-LAST_LINES:])
    command = ["kubectl", "logs", "--namespace", namespace, name, "--container", container]
    return Failed(why, lines, code, shlex.join(command))


def no_log(refused: Refused) -> str:
    """Why the cluster does not give the log of a pod."""
    if refused.status == HTTPStatus.NOT_FOUND:
        # The API server says that of the pod, too, when it has no such node.
        return "its node is gone, and its log with it"
    return f"the cluster does not give its log: {refused}"


def logged(namespace: str, pod: str) -> str:
    """Prints what Cloud Logging has kept of a pod, or of pods whose names contain this."""
    names = f'resource.labels.namespace_name="{namespace}" AND resource.labels.pod_name:"{pod}"'
    query = f'resource.type="k8s_container" AND {names}'
    # Without a freshness it looks at one day alone.
    options = ["--order=asc", "--freshness=30d", "--format=value(textPayload)"]
    return shlex.join(["gcloud", "logging", "read", query, *options])


def _seconds(job: Object) -> float | None:
    """How long it took; None while it runs."""
    status = cast(dict[str, str], job.get("status") or {})
    ended = pods.condition(job, "Complete", "Failed") or {}
    end = status.get("completionTime") or ended.get("lastTransitionTime")
    if not end or not status.get("startTime"):
        return None
    return (datetime.fromisoformat(str(end)) - datetime.fromisoformat(status["startTime"])).total_seconds()


def _unit(name: str, varying: Mapping[str, str], known: Sequence[Known]) -> Trial:
    """A unit of several Jobs is as its Jobs are: failed with the first that failed."""
    status = trials.combined(each.status for each in known)
    telling = [each for each in known if each.status == status]
    reasons = tuple(reason for each in telling for reason in each.reasons)
    first = next((each for each in telling if each.log_command), telling[0] if telling else Known(status))
    seconds = [each.seconds for each in known if each.seconds is not None]
    return Trial(
        name=name,
        arguments=varying,
        status=status,
        exit_code=first.exit_code,
        duration=max(seconds) if seconds and len(seconds) == len(known) else None,
        log_command=first.log_command,
        reasons=reasons,
    )
