"""One operation of Pulumi's on a stack: run, shown while it runs, and taken into the progress of its trials."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import click

from xmgen.commands import output
from xmgen.commands import settings as configured
from xmgen.commands.progress import display
from xmgen.errors import OperationError
from xmgen.executors.base import OnEvent
from xmgen.pulumi_cli import events, stalls, trials
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.operation import running
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
    on_event: OnEvent | None = None,
) -> Outcome:
    """Run Pulumi, show what happens, and take it into `progress`. on_event: told of each event as it comes.

    Raises OperationError when it could not start.
    """
    command = work.pulumi.shell_command(*arguments)
    if options.json:
        output.print_json_line(
            {"event": "operation", "operation": arguments[0], "stack": work.stack, "command": command}
        )
    else:
        output.say(f"The same with plain Pulumi:\n  {command}\n", style="dim")
    begun = datetime.now(UTC)
    with display(progress, json=options.json, logs=options.logs) as screen:

        def stopping() -> None:
            screen.note("Stopping: Pulumi is told to stop what runs here; press Ctrl-C again to abandon it.")

        with running(work.pulumi, *arguments, progress=progress, when_interrupted=stopping) as operation:
            for event, change in operation:
                if on_event is not None and (problem := on_event(event)):
                    screen.note(problem)
                if change is not None:
                    screen.show(change)
        for message in [*stalls.messages(operation.stuck), *work.settle(progress, begun)]:
            screen.note(message)
    failed = operation.code != 0
    outcome: Outcome = "interrupted" if operation.interrupted and failed else "failed" if failed else "succeeded"
    _settle(progress, work if failed else None)
    if outcome == "failed" and not progress.result:
        raise OperationError(operation.failure())
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
    state = trials.unit_states(export)
    resources: dict[str, list[str]] = {}
    for job, unit in progress.jobs.items():
        resources.setdefault(unit, []).append(job)
    recorded: dict[str, Trial] = {}
    for name, unit in progress.units.items():
        states = [state.get(resource) for resource in resources.get(name, [name])]
        if any(states):
            recorded[name] = trials.of_states(name, unit.arguments, states)
    return recorded


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
