"""CustomJobs on Vertex AI: what it has to be asked for, because Pulumi does not know it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any

from xmgen.errors import OperationError, Problem
from xmgen.executors.base import LiveStatus, LogWindow, Reruns, Runtime, Table
from xmgen.executors.vertex import bucket, live, logs
from xmgen.executors.vertex.worker_pools import worker_pools
from xmgen.project import Project
from xmgen.provider.settings import Settings, read
from xmgen.pulumi_cli import secret_texts, trials
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_cli.trials import Trial
from xmgen.stack.compiled import CompiledStack

_KEYS = ("gcp:credentials", "gcp:accessToken", "gcp:impersonateServiceAccount", "xmgen:vertexEndpoint")


class VertexRuntime(Runtime):
    def status(self, work: Session, stack: CompiledStack, export: str | None, *, active: bool | None) -> LiveStatus:
        unreached: OperationError | None = None
        try:
            # Without a stack nothing runs.
            jobs = {} if export is None else _current(work, export)
        except OperationError as error:
            jobs, unreached = trials.job_states(export), error
        units = live.units(stack, jobs)
        return LiveStatus(units=units, unreached=unreached, notes=tuple(_folders(units)))

    def logs(
        self, project: Project, stack: CompiledStack, units: Sequence[str], window: LogWindow, *, follow: bool
    ) -> Iterator[str | Problem]:
        return logs.of_units(project, stack, units, window, provider_settings, follow=follow)

    def tables(self, stack: CompiledStack) -> list[Table]:
        jobs = (stack.experiment.units[unit.position].jobs for unit in stack.units)
        pools = worker_pools(zip(jobs, (unit.manifests[0] for unit in stack.units), strict=True))
        columns = ("job", "machine", "accelerator", "provisioning", "replicas", "work units")
        return [("Worker pools", columns, [astuple(pool) for pool in pools])] if pools else []

    def recorded(self, stack: CompiledStack, export: str | None) -> list[Trial]:
        return live.units(stack, trials.job_states(export))

    def reruns(self, work: Session, stack: CompiledStack) -> Reruns:
        export = work.export()
        try:
            return Reruns(kind="CustomJob", reasons=live.to_run_again(stack, _current(work, export)))
        except OperationError as error:
            # The provider runs again those that Pulumi knows of, however that came.
            why = f"Which other jobs have failed cannot be known. {error}"
            reasons = live.to_run_again(stack, trials.job_states(export))
            return Reruns(kind="CustomJob", reasons=reasons, unknown=why)

    def finish(self, work: Session, stack: CompiledStack, progress: Progress, *, failed: bool) -> list[str]:
        """How all units stand. Pulumi has not looked at those that were there before, and tells of what it did not wait
        for that it is created; so they stay where Vertex AI cannot be asked.
        """
        if not progress.result:
            return []
        for unit in self.status(work, stack, work.export(), active=None).units:
            before = progress.units[unit.name]
            # What the state does not have, or has from before, cannot have the reason why this `up` failed.
            refused = before.status == "failed" and before.reasons and unit.status != "failed"
            if unit.status != "waiting" and not refused:
                progress.units[unit.name] = unit
        return []

    def refuse_undecided(self, project: Project, stack: CompiledStack, settings: Sequence[str]) -> None:
        bucket.refuse_undecided(project, stack.name, settings)


RUNTIME = VertexRuntime()


def provider_settings(work: Session) -> Settings:
    """Those of the stack's provider: the credentials that its configuration names, and the address of the API."""
    config: dict[str, dict[str, Any]] = json.loads(
        work.pulumi.run("config", "--json", "--show-secrets", "--stack", work.stack)
    )
    given = {key.partition(":")[2]: config[key].get("value") for key in _KEYS if key in config}
    settings, problems = read({key: value for key, value in given.items() if value})
    if problems:
        raise OperationError(*problems.values())
    return settings


def _current(work: Session, export: str) -> dict[str, StateResource]:
    recorded = trials.job_states(export)
    return live.current(
        work.stack, recorded, lambda: provider_settings(work), lambda: secret_texts.of_stack(work, export)
    )


def _folders(units: Sequence[Trial]) -> Iterator[str]:
    if folders := {unit.output.rpartition("/")[0] for unit in units if unit.output}:
        yield f"What trials write, metrics included, is below {', '.join(sorted(folders))}."
