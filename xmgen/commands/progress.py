"""An operation's progress while it runs: a live table on a terminal, lines elsewhere, JSON lines for programs."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from xmgen.commands import output
from xmgen.commands.results import STYLES
from xmgen.pulumi_cli.events import Change, Message, Progress, Removed, ResourceStep
from xmgen.pulumi_cli.trials import Trial, as_json

VERBS = {"create": ("creating", "created"), "update": ("updating", "updated"), "delete": ("deleting", "deleted")}


class Display(Protocol):
    """Shows changes as they come."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, change: Change) -> None: ...

    def note(self, text: str) -> None:
        """Something to say in between."""
        ...


def display(progress: Progress, *, json: bool, logs: bool) -> Display:
    """logs: whether what the trials print is shown, too."""
    if json:
        return JsonLines(logs=logs)
    if output.console().is_terminal:
        return LiveTable(progress, logs=logs)
    return PlainLines(logs=logs)


class PlainLines:
    def __init__(self, *, logs: bool) -> None:
        self._logs = logs

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def show(self, change: Change) -> None:
        if text := line(change, logs=self._logs):
            print(text, flush=True)

    def note(self, text: str) -> None:
        print(text, flush=True)


class JsonLines(PlainLines):
    def show(self, change: Change) -> None:
        match change:
            case Trial():
                output.print_json_line({"event": "unit", **as_json(change)})
            case Removed():
                output.print_json_line({"event": "unit", "unit": change.unit, "status": "removed"})
            case ResourceStep():
                output.print_json_line(
                    {
                        "event": "resource",
                        "operation": change.operation,
                        "type": change.type,
                        "name": change.name,
                        "status": change.status,
                    }
                )
            case Message():
                if change.severity != "info" or self._logs:
                    output.print_json_line(
                        {"event": "message", "severity": change.severity, "text": change.text, "unit": change.unit}
                    )

    def note(self, text: str) -> None:
        output.print_json_line({"event": "message", "severity": "info", "text": text, "unit": ""})


class LiveTable:
    """What runs, with its time so far; what ended scrolls by above."""

    def __init__(self, progress: Progress, *, logs: bool) -> None:
        self._progress = progress
        self._logs = logs
        self._started: dict[str, float] = {}
        self._resources: dict[str, ResourceStep] = {}
        self._live = Live(console=output.console(), get_renderable=self._render, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, change: Change) -> None:
        if isinstance(change, Trial) and change.status == "running":
            self._started[change.name] = time.monotonic()
            return
        if isinstance(change, ResourceStep):
            key = f"{change.type} {change.name}"
            if change.status == "started":
                self._started[key] = time.monotonic()
                self._resources[key] = change
                return
            self._resources.pop(key, None)
        if text := line(change, logs=self._logs):
            style = STYLES.get(change.status, "") if isinstance(change, Trial) else ""
            self._live.console.print(Text(text, style=style))

    def note(self, text: str) -> None:
        self._live.console.print(Text(text))

    def _render(self) -> Group:
        # The engine's events come in on another thread than this.
        progress, resources = self._progress, list(self._resources.items())
        running = [unit for unit in list(progress.units.values()) if unit.status == "running"]
        rows = [(VERBS[each.operation][0], key, "", self._seconds(key)) for key, each in resources]
        rows += [
            ("running", unit.name, " ".join(f"{k}={v}" for k, v in unit.arguments.items()), self._seconds(unit.name))
            for unit in running
        ]
        room = max(1, output.console().height - 5)
        table = Table(box=None, pad_edge=False, show_header=False)
        for verb, *texts in rows[:room]:
            table.add_row(Text(verb, style="cyan"), *map(Text, texts))
        more = [Text(f"… and {len(rows) - room} more")] if len(rows) > room else []
        counts = [f"{count} {status}" for status in (*STYLES, "waiting") if (count := progress.count(status))]
        return Group(table, *more, Text(", ".join(counts)))

    def _seconds(self, key: str) -> str:
        now = time.monotonic()
        return f"{now - self._started.get(key, now):.0f} s"


def line(change: Change, *, logs: bool) -> str:
    """A change in one line; empty when it is not worth one."""
    match change:
        case Trial(status="running"):
            return f"running   {change.name}"
        case Trial():
            took = "" if change.duration is None else f" in {change.duration:.1f} s"
            metrics = "".join(f"  {output.cell(name)}={output.cell(value)}" for name, value in change.metrics.items())
            return f"{change.status:<9} {change.name}{took}{metrics}"
        case Removed():
            return f"removed   {change.unit}"
        case ResourceStep(status="started"):
            return f"{VERBS[change.operation][0]:<9} {change.type} {change.name}"
        case ResourceStep(status="done"):
            return f"{VERBS[change.operation][1]:<9} {change.type} {change.name}"
        case ResourceStep():
            return f"failed    {change.type} {change.name}"
        case Message(severity="info"):
            return _log_lines(change) if logs else ""
        case Message(severity="error") if change.unit:
            # A failed trial's error is part of the report at the end.
            return ""
        case Message():
            whose = f"{change.unit}: " if change.unit else ""
            return f"{change.severity}: {whose}{output.readable(change.text)}"


def _log_lines(message: Message) -> str:
    prefix = f"{message.unit} | " if message.unit else ""
    return "\n".join(f"{prefix}{text}" for text in output.readable(message.text).split("\n"))


def result(operation: str, stack: str, progress: Progress, outcome: str) -> dict[str, Any]:
    """The last line of `--json`."""
    return {
        "event": "result",
        "operation": operation,
        "stack": stack,
        "result": outcome,
        "changes": progress.changes,
        "units": [as_json(unit) for unit in progress.units.values()],
    }
