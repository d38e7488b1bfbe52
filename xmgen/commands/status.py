"""status: how the trials of a stack stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xmgen.commands import on_cluster, on_vertex, output, target
from xmgen.commands.results import print_failures, print_results, print_waiting
from xmgen.errors import OperationError
from xmgen.project import Project
from xmgen.provider.journal import RunFolder
from xmgen.pulumi_cli import backend, session, trials
from xmgen.pulumi_cli.trials import Trial
from xmgen.stack.compiled import CompiledStack


def status(project: Project, stack: str, *, json: bool) -> None:
    compiled = target.existing(project, stack)
    stack = compiled.name
    work = session.begin(project, stack)
    export = work.export() if work.exists() else None
    active = backend.is_locked(work.backend, project, stack)
    unreached: OperationError | None = None
    current = True
    if compiled.cluster:
        units, unreached = on_cluster.units(work, compiled, export)
        current = unreached is None
    elif compiled.is_on_vertex:
        units, unreached = on_vertex.units(work, compiled, export)
        current = unreached is None
    else:
        state = trials.runs(export) if export is not None else {}
        units = [
            _with_journal(project, stack, trials.trial(name, varying, state.get(name)), active=active)
            for name, varying in trials.rows(compiled)
        ]
    up = trials.is_up(export)
    if json:
        known = [trials.as_json(unit) for unit in units]
        output.print_json({"stack": stack, "up": up, "active": active, "current": current, "units": known})
    else:
        print_results(units)
        print_waiting(units)
        print_failures(units)
        if not current and any(unit.status == "running" for unit in units):
            output.say(f"\nAs of the last `up` or `xmgen refresh {stack}`.")
        if compiled.is_on_vertex and (folders := {unit.output.rpartition("/")[0] for unit in units if unit.output}):
            output.say(f"\nWhat trials write, metrics included, is below {', '.join(sorted(folders))}.")
        if not up and not active:
            output.say(f"\n{stack} is not up; `xmgen up {stack}` runs it.")
        if up and not active and (left := unfinished(compiled, units)):
            output.say(f"\n{left} of {len(units)} trials have not finished; `xmgen up {stack}` runs them.")
        if active:
            output.say("\nAn operation is at work on the stack.")
    if unreached is not None:
        raise unreached


def unfinished(compiled: CompiledStack, units: Sequence[Trial]) -> int:
    """How many trials of this machine the next `up` would run; those elsewhere go on by themselves. None while one
    runs: then an `up` is at work, also where its lock cannot be seen.
    """
    if compiled.cluster or compiled.is_on_vertex or any(unit.status == "running" for unit in units):
        return 0
    return sum(unit.status != "finished" for unit in units)


def _with_journal(project: Project, stack: str, unit: Trial, *, active: bool | None) -> Trial:
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
        known = trials.ended(unit.name, unit.arguments, entry.outputs)
        return replace(known, status="finished" if entry.state == "succeeded" else "failed")
    return unit
