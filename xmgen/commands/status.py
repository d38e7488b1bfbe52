"""status: how the trials of a stack stand."""

from __future__ import annotations

from xmgen.commands import output, target
from xmgen.commands.results import print_failures, print_results, print_waiting
from xmgen.executors.base import LiveStatus, runtime
from xmgen.project import Project
from xmgen.pulumi_cli import backend, session, trials


def status(project: Project, stack: str, *, json: bool) -> None:
    """Raises OperationError, after all that is known, where what they run on could not be asked."""
    compiled = target.existing(project, stack)
    work = session.begin(project, compiled.name)
    export = work.export() if work.exists() else None
    active = backend.is_locked(work.backend, project, compiled.name)
    known = runtime(compiled).status(work, compiled, export, active=active)
    up = trials.is_up(export)
    if json:
        units = [trials.as_json(unit) for unit in known.units]
        current = known.unreached is None
        output.print_json({"stack": compiled.name, "up": up, "active": active, "current": current, "units": units})
    else:
        _print(compiled.name, known, up=up, active=active)
    if known.unreached is not None:
        raise known.unreached


def _print(stack: str, known: LiveStatus, *, up: bool, active: bool | None) -> None:
    print_results(known.units)
    print_waiting(known.units)
    print_failures(known.units)
    if known.unreached is not None and any(unit.status == "running" for unit in known.units):
        output.say(f"\nAs of the last `up` or `xmgen refresh {stack}`.")
    for note in known.notes:
        output.say(f"\n{note}")
    if not up and not active:
        output.say(f"\n{stack} is not up; `xmgen up {stack}` runs it.")
    if up and not active and known.unfinished:
        count = len(known.units)
        output.say(f"\n{known.unfinished} of {count} trials have not finished; `xmgen up {stack}` runs them.")
    if active:
        output.say("\nAn operation is at work on the stack.")
