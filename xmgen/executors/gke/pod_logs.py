"""What the pods of Jobs print: which logs there are, and how each is read to its end."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from xmgen.errors import OperationError, Problem
from xmgen.executors.base import LogWindow
from xmgen.executors.gke import live as jobs
from xmgen.executors.gke import pods
from xmgen.executors.gke.connection import Connection, Refused
from xmgen.executors.gke.jobs import job_name, resource_name
from xmgen.executors.gke.pods import Object
from xmgen.pulumi_cli.state import StateResource
from xmgen.stack.compiled import CompiledStack

MOST_AT_ONCE = 100
"""Logs that are followed at a time: each takes a connection and a thread."""


@dataclass(frozen=True, slots=True)
class Log:
    """Of a container. path: where the API server has it. title: its pod, and the container where there are others."""

    path: str
    container: str
    title: str
    state: Literal["waiting", "running", "ended"]

    def unreadable(self, refused: Refused) -> Problem:
        """Why it cannot be read, and what has kept it."""
        *_, namespace, _, pod, _ = self.path.split("/")
        hint = f"`{jobs.logged(namespace, pod)}` prints what was kept of it"
        return Problem(jobs.no_log(refused), where=self.title, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What there is of a Job. there: whether the cluster has it. over: whether nothing more is to come of it.
    known: what there is to say beside its logs, of its unit: what it waits for, or why there is no log.
    failed: how it failed, if it did.
    """

    logs: tuple[Log, ...] = ()
    there: bool = True
    over: bool
    known: Problem | None = None
    failed: Problem | None = None


def of_units(
    compiled: CompiledStack, units: Collection[str], state: Mapping[str, StateResource], cluster: Connection
) -> list[Printed]:
    """Of every Job of these units. state: the Jobs, as Pulumi has them (`trials.job_states`).

    Raises OperationError when the cluster does not answer.
    """
    namespace = jobs.namespace_of(compiled)
    there, of_job = jobs.read(cluster, namespace)
    found: list[Printed] = []
    for unit in compiled.units:
        for head in unit.heads if unit.name in units else ():
            job = jobs.find(there, job_name(head), resource_name(head))
            if job is None:
                stands = jobs.absent(state.get(resource_name(head)), compiled.name)
                message = "; ".join(stands.reasons) or f"{stands.status}, and its Job is not on the cluster"
                hint = "" if stands.status == "waiting" else _kept(namespace, job_name(head))
                found.append(Printed(there=False, over=True, known=Problem(message, where=unit.name, hint=hint)))
            else:
                found.append(_of_job(unit.name, namespace, job, of_job.get(str(job["metadata"]["uid"]), [])))
    return found


def _of_job(unit: str, namespace: str, job: Object, of_job: Sequence[Object]) -> Printed:
    logs = tuple(_logs(namespace, of_job))
    name = str(job["metadata"]["name"])
    match pods.job_end(job):
        case None:
            waits = "; ".join(pods.waits_for(job, of_job))
            if not waits and not any(log.state != "waiting" for log in logs):
                waits = "a pod that has not started yet" if logs else "its first pod"
            return Printed(logs=logs, over=False, known=Problem(f"waits for {waits}", where=unit) if waits else None)
        case end:
            gone = Problem(f"{end}, and its pods are gone", where=unit, hint=_kept(namespace, name))
            pod = pods.cause(of_job)
            why = f"pod {_name(pod)} {pods.how_it_failed(pod)}" if pod else f"failed: {pods.job_failure(job)}"
            failed = Problem(why, where=unit) if end == "failed" else None
            return Printed(logs=logs, over=True, known=None if logs else gone, failed=failed)


def _kept(namespace: str, name: str) -> str:
    return f"`{jobs.logged(namespace, name)}` prints what was kept of them"


def _logs(namespace: str, of_job: Iterable[Object]) -> Iterator[Log]:
    """Those of earlier attempts first. What GKE puts beside a job's own containers is none of them."""
    for pod in sorted(of_job, key=lambda pod: (str(pod["metadata"].get("creationTimestamp")), _name(pod))):
        containers = pods.programs(pod)
        for each in containers:
            title = f"{_name(pod)}/{each}" if len(containers) > 1 else _name(pod)
            path = f"/api/v1/namespaces/{namespace}/pods/{_name(pod)}/log"
            yield Log(path, each, title, pods.container_state(pod, each))


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])


def _query(window: LogWindow) -> dict[str, str]:
    """As the API server takes it."""
    asked = {"tailLines": window.tail, "sinceSeconds": window.since}
    return {key: str(value) for key, value in asked.items() if value is not None}


def read(cluster: Connection, log: Log, window: LogWindow) -> Iterator[str]:
    """The lines that there are. Raises Refused, and OperationError when the cluster cannot be reached."""
    return cluster.lines(log.path, container=log.container, **_query(window))


@dataclass(slots=True)
class _Reading:
    """How far a log has been read. last: the time of its last line. refused: why it could not be read the last time."""

    last: str = ""
    under_way: bool = False
    done: bool = False
    refused: str = ""


class Followed:
    """Logs that are read while they grow. A connection may end, one that lasts for long will: the next one goes on
    behind the last line that came.
    """

    def __init__(self, cluster: Connection, window: LogWindow) -> None:
        self._cluster = cluster
        self._window = window
        self._readings: dict[tuple[str, str], _Reading] = {}
        self._came: queue.SimpleQueue[tuple[Log, str | Problem]] = queue.SimpleQueue()

    def look(self, logs: Sequence[Log]) -> int:
        """Read on those of these logs, all that there are now, that nobody reads. Returns how many have to wait."""
        put_off = 0
        for log in logs:
            reading = self._readings.setdefault((log.path, log.container), _Reading())
            if log.state == "waiting" or reading.under_way or reading.done:
                continue
            if sum(each.under_way for each in self._readings.values()) == MOST_AT_ONCE:
                put_off += 1
                continue
            reading.under_way = True
            threading.Thread(target=self._read, args=(log, reading), name=log.title, daemon=True).start()
        there = {(log.path, log.container) for log in logs}
        for key, reading in self._readings.items():
            # Its pod is gone.
            reading.done = reading.done or (key not in there and not reading.under_way)
        return put_off

    @property
    def done(self) -> bool:
        """Whether every log has been read to its end."""
        return all(reading.done for reading in self._readings.values())

    def come(self, seconds: float) -> Iterator[tuple[Log, str | Problem]]:
        """What comes in this time: lines, and why there are none."""
        end = time.monotonic() + seconds
        with contextlib.suppress(queue.Empty):
            while (left := end - time.monotonic()) > 0:
                yield self._came.get(timeout=left)
            while True:
                yield self._came.get_nowait()

    def _read(self, log: Log, reading: _Reading) -> None:
        """On a thread of its own."""
        ended, behind = log.state == "ended", reading.last
        query = {"container": log.container, "timestamps": "true", "follow": str(not ended).lower()}
        query |= {"sinceTime": behind} if behind else _query(self._window)
        try:
            for line in self._cluster.lines(log.path, **query):
                # Of nanoseconds, all as long, so that texts compare as times do.
                at, _, text = line.partition(" ")
                if not behind or at > behind:
                    reading.last = at
                    self._came.put((log, text))
            reading.done = ended
        except Refused as refused:
            if str(refused) != reading.refused:
                reading.refused = str(refused)
                self._came.put((log, log.unreadable(refused)))
            reading.done = ended
        except OperationError:
            # It broke off; whether the cluster is there the next look finds out.
            reading.done = False
        finally:
            reading.under_way = False
