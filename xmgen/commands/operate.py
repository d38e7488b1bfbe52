"""up, preview, destroy: an operation of Pulumi's on a stack, with its progress and its results."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import click

from xmgen import configuration
from xmgen.commands import bucket, on_cluster, output, target
from xmgen.commands import settings as configured
from xmgen.commands.progress import display, result
from xmgen.commands.results import print_failures, print_results
from xmgen.engine import events, session, stalls, trials
from xmgen.engine import pulumi as cli
from xmgen.engine.events import Progress
from xmgen.engine.session import Session
from xmgen.engine.trials import Trial
from xmgen.errors import InputError, OperationError, Problem
from xmgen.plan import Plan
from xmgen.project import Project

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

Outcome = Literal["succeeded", "failed", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """settings: configuration of the stack, `key=value`. secrets: names of those whose values are to be asked for.
    keep_outputs: None where the user did not say.
    """

    yes: bool = False
    json: bool = False
    logs: bool = False
    runner: str | None = None
    keep_outputs: bool | None = None
    parallel: int | None = None
    settings: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """These options as arguments of Pulumi's."""
        settings = list(self.settings)
        if self.runner is not None:
            settings.append(f"xmgen:runner={self.runner}")
        if self.keep_outputs is not None:
            settings.append(f"xmgen:keepOutputs={str(self.keep_outputs).lower()}")
        configured.refuse_malformed(settings, self.secrets)
        arguments = [argument for setting in settings for argument in ("--config", setting)]
        return arguments if self.parallel is None else [*arguments, "--parallel", str(self.parallel)]


def up(project: Project, name: str, *, stack: str | None, flags: Sequence[str], options: Options) -> int:
    plan = target.plan_of(project, name, stack, flags)
    stack = plan.experiment.stack
    arguments = ["up", "--stack", stack, "--yes", "--skip-preview", "--continue-on-error", *options.arguments()]
    work = _begun(project, plan, options)
    count = len(plan.units)
    if not _confirmed(f"Run {count} work unit{'' if count == 1 else 's'} of {stack}?", options):
        return 1
    _create(work, options)
    progress = events.progress(trials.rows(plan), trials.jobs(plan))
    _say(options, *work.recover())
    room: on_cluster.Room | None = None
    if plan.cluster is not None:
        prepared = on_cluster.prepare(work, plan)
        _say(options, *prepared.said)
        arguments += prepared.arguments
        room = prepared.room
    outcome = _operate(work, arguments, progress, options, room)
    if plan.cluster is not None and outcome == "failed":
        _say(options, *on_cluster.explain(work, plan, progress))
    units = list(progress.units.values())
    if options.json:
        output.print_json_line(result("up", stack, progress, outcome))
    elif progress.result:
        if any(unit.status != "waiting" for unit in units):
            output.say("")
            print_results(units)
            print_failures(units)
        output.say(_closing(stack, outcome, progress))
    return _exit_code(outcome)


def preview(project: Project, name: str, *, stack: str | None, flags: Sequence[str], options: Options) -> int:
    plan = target.plan_of(project, name, stack, flags)
    stack = plan.experiment.stack
    arguments = ["preview", "--stack", stack, *options.arguments()]
    work = _begun(project, plan, options)
    _create(work, options)
    progress = events.progress(trials.rows(plan), trials.jobs(plan))
    if plan.cluster is not None:
        again = on_cluster.again(work, plan)
        arguments += again.arguments()
        progress.reasons = again.reasons()
        if again.unknown:
            _say(options, again.unknown)
    outcome = _operate(work, arguments, progress, options)
    if options.json:
        output.print_json_line(
            {
                "event": "result",
                "operation": "preview",
                "stack": stack,
                "result": outcome,
                "changes": progress.changes,
                "steps": [
                    {
                        "operation": step.operation,
                        "type": step.type,
                        "name": step.name,
                        "changed": list(step.changed),
                        "reason": step.reason,
                    }
                    for step in progress.steps
                ],
            }
        )
    elif outcome == "succeeded":
        _print_steps(progress)
    return _exit_code(outcome)


def destroy(
    project: Project, name: str, *, stack: str | None, remove: bool, keep_outputs: bool, options: Options
) -> int:
    """Works on any stack of the backend, compiled or not: what runs must be stoppable whatever became of its folder."""
    stack = target.stack_name(project, name, stack)
    work = session.begin(project, stack)
    if not work.exists():
        raise InputError(Problem(f"the backend has no stack {stack!r}", hint=f"`xmgen up {stack}` makes it"))
    arguments = ["destroy", "--stack", stack, "--yes", "--skip-preview", "--continue-on-error", *options.arguments()]
    if remove:
        arguments.append("--remove")
    if not _confirmed(f"Destroy everything that {stack} created?", options):
        return 1
    _say(options, *work.recover())
    progress = Progress(units={})
    outcome = _operate(work, arguments, progress, options)
    if outcome == "succeeded":
        _clear_runs(project, stack, keep_outputs=keep_outputs)
    kept = _kept_outputs(project, stack)
    if options.json:
        report = result("destroy", stack, progress, outcome)
        output.print_json_line({**report, "removed": remove and outcome == "succeeded", "keptOutputs": kept})
        return _exit_code(outcome)
    count = progress.deleted
    output.say(f"\n{stack}: {count} resource{'' if count == 1 else 's'} removed.")
    match outcome:
        case "succeeded":
            if remove:
                output.say("The stack and its settings are removed, too.")
            if kept:
                trial = "trial" if len(kept) == 1 else "trials"
                output.say(f"Kept: what {len(kept)} {trial} wrote, below {_runs(project, stack)}.")
        case "failed":
            output.say(f"Not everything could be removed; `xmgen destroy {stack}` tries again.", style="bold red")
        case "interrupted":
            output.say(f"Interrupted; `xmgen destroy {stack}` goes on from here.")
    return _exit_code(outcome)


def _begun(project: Project, plan: Plan, options: Options) -> Session:
    """A session on a compiled stack; raises InputError where its configuration would not do."""
    stack = plan.experiment.stack
    read = configuration.of_stack(project, stack)
    configured.refuse_wrong(project, stack, read, options.settings, options.secrets)
    bucket.refuse_undecided(project, plan, options.settings)
    work = session.begin(project, stack)
    if options.secrets:
        configured.refuse_unprotected(work)
    return work


def _create(work: Session, options: Options) -> None:
    """Create the stack unless it is there, and keep the secrets that the user gives."""
    secrets = configured.ask(options.secrets)
    work.create_stack()
    for said in configured.keep(work, secrets):
        _say(options, said)


def _operate(
    work: Session,
    arguments: list[str],
    progress: Progress,
    options: Options,
    room: on_cluster.Room | None = None,
) -> Outcome:
    """Run Pulumi, show what happens, and take it into `progress`. Raises OperationError when it could not start."""
    command = work.pulumi.shell_command(*arguments)
    if options.json:
        output.print_json_line(
            {"event": "operation", "operation": arguments[0], "stack": work.stack, "command": command}
        )
    else:
        output.say(f"The same with plain Pulumi:\n  {command}\n", style="dim")
    begun = datetime.now(UTC)
    operation = work.pulumi.start(*arguments)
    with display(progress, json=options.json, logs=options.logs) as screen:
        stopping = "Stopping: Pulumi is told to stop what runs here; press Ctrl-C again to abandon it."
        with cli.forwarded_signals(operation, lambda: screen.note(stopping)), operation:
            with stalls.Watch(operation.interrupt) as watch:
                for event in operation:
                    watch.hear(event)
                    if room is not None and (problem := room.hear(event)):
                        screen.note(problem)
                    if (change := progress.apply(event)) is not None:
                        screen.show(change)
            code = operation.wait()
        for message in [*stalls.messages(watch.stuck), *work.settle(progress, begun)]:
            screen.note(message)
    by_user = operation.interrupted and not watch.stuck
    outcome: Outcome = "interrupted" if by_user and code else "failed" if code else "succeeded"
    _settle(progress, work if code else None)
    if outcome == "failed" and not progress.result:
        said = [message.text for message in progress.messages if message.severity == "error"]
        raise OperationError(cli.failure(f"pulumi {arguments[0]}", "\n".join([*said, *operation.messages]), code))
    return outcome


def _settle(progress: Progress, ended_early: Session | None) -> None:
    """Nothing runs here once the operation has ended: what was running was stopped, and what was refused never began.
    On a cluster it goes on. Units that an operation which ended early did not come to are as the state has them.
    """
    export = ended_early.export() if ended_early and progress.count("waiting") else None
    before = _from_state(progress, export) if export else {}
    on_cluster = set(progress.jobs.values())
    for name, unit in progress.units.items():
        errors = [each.text for each in progress.messages if each.unit == name and each.severity == "error"]
        said = tuple(text for text in errors if text != events.CANCELLED)
        if unit.status == "running" and name not in on_cluster:
            progress.units[name] = replace(unit, status="stopped")
        elif unit.status == "waiting" and said:
            # A provider that refuses the inputs is no failed operation: the engine reports the error alone.
            progress.units[name] = replace(unit, status="failed", reasons=said)
        elif unit.status == "waiting" and name in before:
            progress.units[name] = before[name]


def _from_state(progress: Progress, export: str) -> dict[str, Trial]:
    """The units that the stack's state knows, by name."""
    units, runs = progress.units, trials.runs(export)
    known = {name: trials.trial(name, units[name].arguments, runs[name]) for name in units if name in runs}
    statuses: dict[str, list[trials.Status]] = {}
    for resource in trials.resources(export):
        name = str(resource["urn"]).rsplit("::", 1)[-1]
        if resource["type"] in trials.JOB_TYPES and name in progress.jobs and not resource.get("delete"):
            statuses.setdefault(progress.jobs[name], []).append(trials.job_status(resource))
    for name, found in statuses.items():
        # A unit some of whose jobs are not there is one that waits.
        if len(found) == list(progress.jobs.values()).count(name):
            known[name] = replace(units[name], status=trials.combined(found))
    return known


def _print_steps(progress: Progress) -> None:
    steps = [step for step in progress.steps if step.operation != "same" and step.type != "pulumi:pulumi:Stack"]
    # A replacement is three steps of the engine's, of which the one called so has the reason.
    replaced = {(step.type, step.name) for step in steps if step.operation == "replace"}
    rows = [step for step in steps if step.operation == "replace" or (step.type, step.name) not in replaced]
    if rows:
        output.print_table(
            ("operation", "type", "name", "because of"),
            ((step.operation, step.type, step.name, step.reason or ", ".join(step.changed)) for step in rows),
        )
        output.say("")
    counts = ", ".join(f"{count} to {name}" for name, count in progress.changes.items() if name != "same")
    same = progress.changes.get("same", 0)
    output.say(f"{counts or 'nothing to do'}; {same} unchanged")


def _closing(stack: str, outcome: Outcome, progress: Progress) -> str:
    counts = Counter(unit.status for unit in progress.units.values())
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    match outcome:
        case "succeeded":
            return f"\n{stack}: {summary}. `xmgen destroy {stack}` removes it."
        case "failed":
            return f"\n{stack}: {summary}. `xmgen up {stack}` runs again what did not finish."
        case "interrupted":
            return f"\n{stack}: interrupted; {summary}. `xmgen up {stack}` goes on from here."


def _confirmed(question: str, options: Options) -> bool:
    # A stream that is closed is None.
    if options.yes or not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):  # pyright: ignore[reportUnnecessaryComparison]
        return True
    return click.confirm(question, err=True)


def _say(options: Options, *lines: str) -> None:
    for line in lines:
        output.say(line, error=options.json)


def _clear_runs(project: Project, stack: str, *, keep_outputs: bool) -> None:
    """Remove what is left of the runs of a stack without resources: journals of trials of which Pulumi does not know,
    because a kill came before it was told, what still runs of them, and outputs unless they are to be kept.
    """
    from xmgen.provider import runs

    for folder in sorted(project.runs(stack).glob("*")):
        runs.delete(project.root, stack, folder.name, keep_outputs=keep_outputs)


def _kept_outputs(project: Project, stack: str) -> list[str]:
    """The folders of a stack's trials that hold outputs, relative to the project's root."""
    folders = sorted(project.runs(stack).glob("*"))
    return [
        folder.relative_to(project.root).as_posix()
        for folder in folders
        if any(path.is_file() for kept in ("output", "earlier") for path in (folder / kept).rglob("*"))
    ]


def _runs(project: Project, stack: str) -> str:
    return project.runs(stack).relative_to(project.root).as_posix()


def _exit_code(outcome: Outcome) -> int:
    match outcome:
        case "succeeded":
            return 0
        case "failed":
            return 1
        case "interrupted":
            return INTERRUPTED
