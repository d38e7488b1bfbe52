"""Trials as tables: what they are, how they went, what failed."""

from __future__ import annotations

from collections.abc import Sequence

from xmgen.commands import output
from xmgen.errors import named
from xmgen.pulumi_cli.trials import Status, Trial

STYLES: dict[Status, str] = {"finished": "green", "failed": "bold red", "running": "cyan", "stopped": "yellow"}

LAST_LINES = 15
"""Lines of a failed trial's reasons that are shown; the log has them all."""


def print_results(units: Sequence[Trial]) -> None:
    """A row per work unit: the arguments that vary, status, metrics, duration."""
    arguments = list(dict.fromkeys(name for unit in units for name in unit.arguments))
    metrics = list(dict.fromkeys(name for unit in units for name in unit.metrics))
    output.print_table(
        ("#", "unit", *arguments, "status", *metrics, "seconds"),
        (
            (
                position,
                unit.name,
                *(unit.arguments.get(name) for name in arguments),
                unit.status,
                *(unit.metrics.get(name) for name in metrics),
                None if unit.duration is None else f"{unit.duration:.1f}",
            )
            for position, unit in enumerate(units, start=1)
        ),
        {**STYLES},
    )


def print_failures(units: Sequence[Trial]) -> None:
    for unit in units:
        if unit.status != "failed":
            continue
        output.say(f"\n{unit.name} failed", style="bold red")
        lines = [line for reason in unit.reasons for line in output.readable(reason).split("\n")]
        # The first says how it ended and where the log is.
        shown = lines if len(lines) <= LAST_LINES else [lines[0], "    …", *lines[-LAST_LINES + 1 :]]
        for line in shown:
            output.say(f"  {line}")
        if unit.log and not any(unit.log in line for line in lines):
            output.say(f"  whole log: {unit.log}")
        if unit.log_command:
            output.say(f"  whole log: {unit.log_command}")


def print_waiting(units: Sequence[Trial]) -> None:
    """What units that do not run wait for, as far as it is known."""
    by_reason: dict[tuple[str, ...], list[str]] = {}
    for unit in units:
        if unit.status in ("waiting", "stopped") and unit.reasons:
            by_reason.setdefault(unit.reasons, []).append(unit.name)
    for reasons, names in by_reason.items():
        output.say(f"\n{named(names)} {'waits' if len(names) == 1 else 'wait'}", style="yellow")
        for reason in reasons:
            output.say(f"  {output.readable(reason)}")
