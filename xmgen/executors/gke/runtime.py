"""Jobs on GKE: what their cluster has to be asked for, because Pulumi does not know it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xmgen import resource_types
from xmgen.errors import OperationError, Problem
from xmgen.executors.base import LiveStatus, LogWindow, OnEvent, Reruns, Runtime
from xmgen.executors.gke import connection, live, logs, moves, reachability
from xmgen.executors.gke.connection import Connection, Unreachable
from xmgen.executors.gke.live import Rerun
from xmgen.project import Project
from xmgen.pulumi_cli import secret_texts
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.pulumi import Event
from xmgen.pulumi_cli.session import Session
from xmgen.stack.compiled import CompiledStack
from xmgen.urns import Urn

_REASONS = {"failed": "failed before", "vanished": "vanished from the cluster", "served": "served what runs again"}
"""Why Jobs run again."""


class GkeRuntime(Runtime):
    def status(self, work: Session, stack: CompiledStack, export: str | None, *, active: bool | None) -> LiveStatus:
        try:
            cluster = _connect(work, stack, export) if export is not None else None
            if cluster is None or export is None:
                # Nothing runs.
                return LiveStatus(units=self.recorded(stack, export))
            return LiveStatus(
                units=live.units(stack, export, cluster, lambda: secret_texts.of_stack(work, export)),
            )
        except OperationError as error:
            return LiveStatus(units=self.recorded(stack, export), unreached=error)

    def logs(
        self, project: Project, stack: CompiledStack, units: Sequence[str], window: LogWindow, *, follow: bool
    ) -> Iterator[str | Problem]:
        return logs.of_units(project, stack, units, window, follow=follow)

    def reruns(self, work: Session, stack: CompiledStack) -> Reruns:
        export = work.export()
        try:
            cluster = _connect(work, stack, export)
            jobs = {} if cluster is None else live.to_run_again(stack, export, cluster)
            return JobReruns(stack=stack, jobs=jobs, cluster=cluster, reasons=reasons(jobs))
        except Unreachable as error:
            with contextlib.suppress(OperationError):
                if reachability.is_gone(work, export):
                    return Reruns(forgets=reachability.forgetting(work))
            return _unknown(error)
        except OperationError as error:
            return _unknown(error)

    def finish(self, work: Session, stack: CompiledStack, progress: Progress, *, failed: bool) -> list[str]:
        """Of an `up` that failed: why Jobs did that it waited for, with the last lines of their logs. Of any: which
        units that were there before have finished. Pulumi takes them for running; so they stay where the cluster cannot
        be asked.
        """
        if not (failed or progress.result):
            return []
        refused = {unit.name for unit in progress.units.values() if failed and unit.status == "failed"}
        known = self.status(work, stack, work.export(), active=None)
        if known.unreached is not None:
            return [f"What the failed jobs printed cannot be known. {known.unreached}"] if refused else []
        for unit in known.units:
            # What was never created has but the reason that Pulumi gave.
            told = unit.status == "failed" and unit.reasons if unit.name in refused else unit.status == "finished"
            if told:
                progress.units[unit.name] = unit
        return []

    def refuse_move(self, work: Session, stack: CompiledStack, settings: Sequence[str]) -> None:
        if move := moves.wanted(work.project, stack, work.export, settings):
            removal = f"xmgen destroy {stack.name}" if stack.units else f"xmgen cluster delete {stack.name}"
            hint = f"set `{move.setting}` as it was, or remove it: after `{removal}` this command makes all of it there"
            raise OperationError(Problem(move.text, hint=hint))

    def before_removal(self, work: Session, export: str, command: str) -> tuple[Session, list[str]]:
        return reachability.checked(work, export, command)


RUNTIME = GkeRuntime()


def _connect(work: Session, stack: CompiledStack, export: str) -> Connection | None:
    """None also for a stack that is but a cluster: there is nothing to ask for."""
    return connection.connect(work, export) if stack.units else None


def _unknown(error: OperationError) -> Reruns:
    return Reruns(unknown=f"Which jobs have failed cannot be known. {error}")


def reasons(jobs: Mapping[str, Rerun]) -> dict[str, str]:
    return {urn: _REASONS[job.why] for urn, job in jobs.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReruns(Reruns):
    """jobs: by their URNs. cluster: that they are on; None where nothing is up."""

    kind: str = "Job"
    stack: CompiledStack
    jobs: Mapping[str, Rerun] = field(default_factory=dict[str, Rerun])
    cluster: Connection | None = None

    def prepare(self) -> OnEvent:
        """The Jobs that run again are deleted, so that Pulumi can create them. Raises OperationError."""
        if self.cluster is None:
            return Reruns.prepare(self)
        for job in self.jobs.values():
            if job.name:
                live.delete(self.cluster, self.stack, job.name)
        return ObsoleteJobs(self.stack, self.cluster).on_event


class ObsoleteJobs:
    """Sees that an `up` does not wait for ever for a Job that waits for the machine of another one which this very `up`
    is to delete, but only when it has done waiting: what goes is deleted as soon as the first such Job is made.
    """

    def __init__(self, stack: CompiledStack, cluster: Connection) -> None:
        self._stack = stack
        self._cluster = cluster
        self._awaited = live.awaited(stack)
        self._deleted = False

    def on_event(self, event: Event) -> str:
        """Returns what went wrong, in a sentence; empty when nothing did."""
        begun: Event = event.get("resourcePreEvent") or {}
        metadata: Event = begun.get("metadata") or {}
        if self._deleted or begun.get("planning") or metadata.get("type") != resource_types.JOB:
            return ""
        creates = metadata["op"] in ("create", "create-replacement")
        if not creates or Urn(metadata["urn"]).name not in self._awaited:
            return ""
        self._deleted = True
        try:
            for name in live.obsolete(self._stack, self._cluster):
                live.delete(self._cluster, self._stack, name)
        except OperationError as error:
            return f"Jobs that are to go may hold the machines of those that are waited for. {error}"
        return ""
