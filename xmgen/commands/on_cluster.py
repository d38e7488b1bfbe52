"""What `up` and `status` have to ask a stack's cluster for, because Pulumi does not know it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from xmgen import resource_types
from xmgen.commands import reach
from xmgen.commands.again import Again
from xmgen.errors import OperationError
from xmgen.executors.gke import connection as kubernetes
from xmgen.executors.gke import live as jobs
from xmgen.executors.gke.connection import Connection, Unreachable
from xmgen.executors.gke.live import Rerun
from xmgen.pulumi_cli import secret_texts, trials
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.pulumi import Event
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.trials import Trial
from xmgen.stack.compiled import CompiledStack
from xmgen.urns import Urn


def units(work: Session, compiled: CompiledStack, export: str | None) -> tuple[list[Trial], OperationError | None]:
    """The units as they stand now; as Pulumi knew them last, with the reason, when the cluster cannot be asked."""
    known = trials.elsewhere(compiled, export)
    try:
        cluster = _connect(work, compiled, export) if export is not None else None
        if cluster is None or export is None:
            # Nothing runs.
            return known, None
        return jobs.units(compiled, export, cluster, lambda: secret_texts.of_stack(work, export)), None
    except OperationError as error:
        return known, error


def _connect(work: Session, compiled: CompiledStack, export: str) -> Connection | None:
    """None also for a stack that is but a cluster: there is nothing to ask for."""
    return kubernetes.connect(work, export) if compiled.units else None


_REASONS = {"failed": "failed before", "vanished": "vanished from the cluster", "served": "served what runs again"}
"""Why Jobs run again."""


@dataclass(slots=True)
class Preparation:
    """room: told of Pulumi's events. gone: whether the cluster is, so that Pulumi has to be told first."""

    again: Again
    room: Room
    gone: bool


class Room:
    """Sees that an `up` does not wait for ever for a job that waits for the machine of another one which this very
    `up` is to delete, but only when it has done waiting: what goes is deleted as soon as the first such job is made.
    """

    def __init__(self, compiled: CompiledStack, cluster: Connection | None) -> None:
        self._compiled = compiled
        self._cluster = cluster
        self._awaited = jobs.awaited(compiled)

    def hear(self, event: Event) -> str:
        """Returns what went wrong, in a sentence; empty when nothing did."""
        begun: Event = event.get("resourcePreEvent") or {}
        made: Event = begun.get("metadata") or {}
        if self._cluster is None or begun.get("planning") or made.get("type") != resource_types.JOB:
            return ""
        creates = made["op"] in ("create", "create-replacement")
        if not creates or Urn(made["urn"]).name not in self._awaited:
            return ""
        cluster, self._cluster = self._cluster, None
        try:
            for name in jobs.obsolete(self._compiled, cluster):
                jobs.delete(cluster, self._compiled, name)
        except OperationError as error:
            return f"Jobs that are to go may hold the machines of those that are waited for. {error}"
        return ""


@dataclass(frozen=True, slots=True)
class Found:
    """What an `up` runs again. jobs: by their URNs. unknown: why they cannot be known, in a sentence. gone: whether the
    cluster is, which Pulumi does not know either.
    """

    jobs: Mapping[str, Rerun] = field(default_factory=dict[str, Rerun])
    cluster: Connection | None = None
    unknown: str = ""
    gone: bool = False

    @property
    def again(self) -> Again:
        return Again("Job", {urn: _REASONS[job.why] for urn, job in self.jobs.items()}, self.unknown)


def find(work: Session, compiled: CompiledStack) -> Found:
    """What an `up` runs again."""
    export = work.export()
    try:
        cluster = _connect(work, compiled, export)
        return Found({} if cluster is None else jobs.to_run_again(compiled, export, cluster), cluster)
    except Unreachable as error:
        with contextlib.suppress(OperationError):
            if reach.is_gone(work, export):
                return Found(gone=True)
        return Found(unknown=f"Which jobs have failed cannot be known. {error}")
    except OperationError as error:
        return Found(unknown=f"Which jobs have failed cannot be known. {error}")


def prepare(work: Session, compiled: CompiledStack) -> Preparation:
    """Before an `up`: the Jobs that run again are deleted, so that Pulumi can create them.

    Raises OperationError as `jobs.delete`.
    """
    found = find(work, compiled)
    for job in found.jobs.values():
        if job.name and found.cluster is not None:
            jobs.delete(found.cluster, compiled, job.name)
    return Preparation(found.again, Room(compiled, found.cluster), found.gone)


def explain(work: Session, compiled: CompiledStack, progress: Progress) -> list[str]:
    """After an `up` that failed: why jobs did that it waited for, with the last lines of their logs, and which of the
    others have finished.

    Returns why not, in sentences, where the cluster cannot be asked.
    """
    failed = {unit.name for unit in progress.units.values() if unit.status == "failed"}
    found, unreached = units(work, compiled, work.export())
    if unreached is not None:
        return [f"What the failed jobs printed cannot be known. {unreached}"] if failed else []
    for unit in found:
        # What was never created has but the reason that Pulumi gave.
        told = unit.status == "failed" and unit.reasons if unit.name in failed else unit.status == "finished"
        if told:
            progress.units[unit.name] = unit
    return []


def finish(work: Session, compiled: CompiledStack, progress: Progress) -> None:
    """After an `up` that did not fail: which units that were there before have finished. Pulumi takes them for running;
    so they stay where the cluster cannot be asked.
    """
    if progress.result:
        for unit in units(work, compiled, work.export())[0]:
            if unit.status == "finished":
                progress.units[unit.name] = unit
