"""status and logs: how the trials of a stack stand, and what they printed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from xmgen.commands import on_cluster, output, target
from xmgen.commands.results import print_failures, print_results, print_waiting
from xmgen.engine import backend, session, trials
from xmgen.engine.trials import Trial
from xmgen.errors import InputError, OperationError, Problem, did_you_mean
from xmgen.names import namespace as namespace_of
from xmgen.plan import Plan
from xmgen.project import Project
from xmgen.provider.journal import RunFolder

POLL_SECONDS = 0.2


def status(project: Project, stack: str, *, json: bool) -> None:
    plan = target.existing(project, stack)
    stack = plan.experiment.stack
    work = session.begin(project, stack)
    export = work.export() if work.exists() else None
    active = backend.is_locked(work.backend, project, stack)
    unreached: OperationError | None = None
    current = True
    if plan.cluster:
        units, unreached = on_cluster.units(work, plan, export)
        current = unreached is None
    elif plan.vertex:
        units, current = trials.custom_jobs(plan, export), False
    else:
        state = trials.runs(export) if export is not None else {}
        units = [
            _with_journal(project, stack, trials.trial(name, varying, state.get(name)), active=active)
            for name, varying in trials.rows(plan)
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
            output.say(f"\nAs of the last `up` or `pulumi refresh --stack {stack}`.")
        if plan.vertex and (folders := {unit.output.rpartition("/")[0] for unit in units if unit.output}):
            output.say(f"\nWhat trials write, metrics included, is below {', '.join(sorted(folders))}.")
        if not up and not active:
            output.say(f"\n{stack} is not up; `xmgen up {stack}` runs it.")
        if active:
            output.say("\nAn operation is at work on the stack.")
    if unreached is not None:
        raise unreached


def logs(project: Project, stack: str, unit: str | None, *, follow: bool) -> None:
    plan = target.existing(project, stack)
    stack = plan.experiment.stack
    names = [planned.name for planned in plan.units]
    if plan.cluster is not None:
        raise OperationError(_logs_elsewhere(stack, names if unit is None else [_unit(names, unit)]))
    if plan.vertex is not None:
        hint = f"`pulumi stack output jobs --stack {stack}` prints where the console shows each job and its log"
        raise OperationError(
            Problem("jobs on Vertex AI print to Cloud Logging, of which nothing is kept here", hint=hint)
        )
    wanted = names if unit is None else [_unit(names, unit)]
    files = [file for name in wanted for file in _log_files(project, plan, name)]
    tails = [_Tail(project, file, headed=len(files) > 1) for file in files]
    found = [tail.more() for tail in tails]
    if not any(found) and not follow:
        where = RunFolder(project.root, stack, wanted[0]).path if unit is not None else project.runs(stack)
        raise OperationError(
            Problem(
                "no log yet" if unit is not None else "no trial has left a log yet",
                where=where.relative_to(project.root).as_posix(),
                hint=f"`xmgen status {stack}` says how the trials stand",
            )
        )
    while follow and not _all_ended(project, stack, wanted):
        time.sleep(POLL_SECONDS)
        for tail in tails:
            tail.more()
    for tail in tails if follow else ():
        tail.more()


def _logs_elsewhere(stack: str, units: Sequence[str]) -> Problem:
    """What jobs on a cluster print is in Cloud Logging, and in the cluster as long as their pods are."""
    selector = f"xmgen/unit={units[0]}" if len(units) == 1 else "xmgen/unit"
    namespace = namespace_of(stack)
    return Problem(
        "jobs on GKE print to Cloud Logging, of which nothing is kept here",
        hint=f"after `xmgen cluster credentials`, `kubectl logs --namespace {namespace} --selector {selector}`",
    )


def _with_journal(project: Project, stack: str, unit: Trial, *, active: bool | None) -> Trial:
    """A unit as the state has it, corrected by the provider's journal, which knows of an attempt earlier."""
    entry = RunFolder(project.root, stack, unit.name).entry()
    if entry is None:
        return unit
    if entry.state == "running":
        # A journal cannot tell that its attempt was killed; that nobody works on the stack can. What the state says
        # is of an earlier attempt.
        return Trial(name=unit.name, arguments=unit.arguments, status="stopped" if active is False else "running")
    if unit.status == "waiting" and entry.outputs is not None:
        known = trials.trial(unit.name, unit.arguments, {"outputs": entry.outputs})
        return replace(known, status="finished" if entry.state == "succeeded" else "failed")
    return unit


def _all_ended(project: Project, stack: str, names: Sequence[str]) -> bool:
    entries = [RunFolder(project.root, stack, name).entry() for name in names]
    return all(entry is not None and entry.state != "running" for entry in entries)


def _log_files(project: Project, plan: Plan, name: str) -> list[Path]:
    folder = RunFolder(project.root, plan.experiment.stack, name)
    planned = next(planned for planned in plan.units if planned.name == name)
    return [folder.log(job.name) for job in plan.experiment.units[planned.position].jobs]


def _unit(names: Sequence[str], wanted: str) -> str:
    """A unit by its name, its position from 1, or the beginning of its name. Raises InputError."""
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    matches = [name for name in names if name.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        shown = ", ".join(matches[:5]) + (", …" if len(matches) > 5 else "")
        raise InputError(Problem(f"{wanted!r} begins the names of {len(matches)} work units", hint=shown))
    hint = did_you_mean(wanted, names) if len(names) <= 10 else f"a name, its beginning, or a number up to {len(names)}"
    raise InputError(Problem(f"no work unit {wanted!r}", hint=hint))


class _Tail:
    """Prints a file as it grows. headed: under its name, since others are printed too."""

    _last: Path | None = None

    def __init__(self, project: Project, file: Path, *, headed: bool) -> None:
        self._file = file
        self._title = file.relative_to(project.root).as_posix()
        self._headed = headed
        self._position = 0

    def more(self) -> bool:
        """Print what is new. Returns whether the file exists."""
        try:
            with self._file.open("rb") as stream:
                # A new attempt starts a new file.
                if stream.seek(0, 2) < self._position:
                    self._position = 0
                stream.seek(self._position)
                content = stream.read()
        except FileNotFoundError:
            return False
        if content:
            if self._headed and _Tail._last != self._file:
                output.say(f"==> {self._title} <==", style="bold")
                _Tail._last = self._file
            self._position += len(content)
            text = content.decode(errors="replace")
            print(text, end="" if text.endswith("\n") else "\n", flush=True)
        return True
