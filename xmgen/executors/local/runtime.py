"""Trials on this machine: what their resources do not say, the provider's journal does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xmgen.errors import Problem
from xmgen.executors.base import LiveStatus, LogWindow, Runtime
from xmgen.executors.local import logs
from xmgen.project import Project
from xmgen.provider.journal import RunFolder
from xmgen.pulumi_cli import trials
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.trials import Trial
from xmgen.stack.compiled import CompiledStack


class LocalRuntime(Runtime):
    def status(self, work: Session, stack: CompiledStack, export: str | None, *, active: bool | None) -> LiveStatus:
        units = [with_journal(work.project, stack.name, unit, active=active) for unit in trials.recorded(stack, export)]
        return LiveStatus(units=units, unfinished=unfinished(units))

    def logs(
        self, project: Project, stack: CompiledStack, units: Sequence[str], window: LogWindow, *, follow: bool
    ) -> Iterator[str | Problem]:
        return logs.of_units(project, stack, units, window, follow=follow)


RUNTIME = LocalRuntime()


def unfinished(units: Sequence[Trial]) -> int:
    """None while one runs: then an `up` is at work, also where its lock cannot be seen."""
    if any(unit.status == "running" for unit in units):
        return 0
    return sum(unit.status != "finished" for unit in units)


def with_journal(project: Project, stack: str, unit: Trial, *, active: bool | None) -> Trial:
    """A unit as the state has it, corrected by the provider's journal, which knows of an attempt earlier."""
    entry = RunFolder(project.root, stack, unit.name).entry()
    if entry is None:
        return unit
    if entry.state in ("running", "stopped"):
        # A journal cannot tell that its attempt was killed; that nobody works on the stack can. What the state says
        # is of an earlier attempt.
        stopped = entry.state == "stopped" or active is False
        return Trial(name=unit.name, arguments=unit.arguments, status="stopped" if stopped else "running")
    if unit.status == "waiting" and entry.outputs is not None:
        ended = trials.ended(unit.name, unit.arguments, entry.outputs)
        return replace(ended, status="finished" if entry.state == "succeeded" else "failed")
    return unit
