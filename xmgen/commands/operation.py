"""One operation of Pulumi's on a stack: run, shown while it runs, and taken into the progress of its trials."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import click

from xmgen.commands import on_cluster, output
from xmgen.commands import settings as configured
from xmgen.commands.progress import display
from xmgen.errors import OperationError
from xmgen.pulumi_cli import events, stalls, trials
from xmgen.pulumi_cli import pulumi as cli
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.trials import Trial

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


def run(
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
    for name, states in trials.of_units(progress.jobs, export).items():
        if any(state is not None for state in states):
            known[name] = replace(units[name], status=trials.unit_status(states))
    return known


def asks(options: Options) -> bool:
    """Whether there is somebody to ask, who has not said yes already."""
    # A stream that is closed is None.
    return not options.yes and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))  # pyright: ignore[reportUnnecessaryComparison]


def confirmed(question: str, options: Options) -> bool:
    return click.confirm(question, err=True) if asks(options) else True


def say(options: Options, *lines: str) -> None:
    for line in lines:
        output.say(line, error=options.json)


def exit_code(outcome: Outcome) -> int:
    match outcome:
        case "succeeded":
            return 0
        case "failed":
            return 1
        case "interrupted":
            return INTERRUPTED
