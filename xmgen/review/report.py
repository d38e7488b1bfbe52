"""What a review says, as Markdown for a pull request and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from xmgen.resource_types import WORK_UNITS
from xmgen.review.compare import Reason, ResourceChange, StackChange, UnitChange
from xmgen.review.stale import Stale
from xmgen.templating import code_span

ROWS = 50
"""Units or resources listed for each stack; nobody reads more in a pull request."""

_UNITS = frozenset(WORK_UNITS.values())


def as_json(changes: Iterable[StackChange]) -> dict[str, Any]:
    return {"stacks": [_stack_json(change) for change in changes]}


def markdown(changes: Sequence[StackChange]) -> str:
    touched = [change for change in changes if change.change != "unchanged" or change.problem]
    found = [(change.stack, change.stale) for change in changes if change.stale is not None]
    stale = "".join(f"\n{line}" for each in found for line in _stale(*each))
    if not touched:
        as_far = ", as far as their lock files say" if any(each.files for _, each in found) else ""
        return f"No stack changes{as_far}.\n{stale}"
    rest = len(changes) - len(touched)
    sections = [_section(change) for change in touched]
    if rest:
        sections.append(f"{rest} other stack{'' if rest == 1 else 's'} unchanged.\n")
    return "\n".join(sections) + stale


def _stale(stack: str, stale: Stale) -> Iterator[str]:
    if stale.executables:
        code = ", ".join(map(code_span, stale.executables))
        yield (
            f"Stack {code_span(stack)} is stale: the code of {code} is not what was compiled. "
            f"{code_span(stale.command)} compiles it.\n"
        )
    if stale.files:
        files = ", ".join(map(code_span, stale.files[:ROWS]))
        more = f" and {len(stale.files) - ROWS} more" if len(stale.files) > ROWS else ""
        yield (
            f"Stack {code_span(stack)}: {files}{more} changed, and its lock file, of which this review is, did not. "
            f"{code_span(f'xmgen check {stack}')} says whether the stack is what its source compiles to.\n"
        )


def _section(change: StackChange) -> str:
    title = f"## Stack {code_span(change.stack)}"
    if change.change in ("added", "removed"):
        title += f" ({change.change})"
    if change.problem:
        return f"{title}\n\nCannot be compared: {code_span(change.problem)}\n"
    parts = [title, _overview(change)]
    if change.change == "removed":
        # No `up` can be run for it any more.
        command = code_span(f"xmgen destroy {change.stack}")
        parts.append(f"What is up of it stays up until {command}, which needs nothing of its folder.")
    if change.units:
        parts.append(_unit_table(change.units))
    if change.resources:
        parts.append(_resource_list(change.resources))
    return "\n\n".join(parts) + "\n"


def _overview(change: StackChange) -> str:
    counts = Counter(unit.change for unit in change.units)
    texts = [f"{count} {kind}" for kind, count in counts.items()]
    text = f"Work units: {', '.join([*texts, f'{change.unchanged} unchanged'])}."
    reasons = Counter(reason for unit in change.units for reason in unit.reasons)
    shared = [reason for reason, count in reasons.most_common(3) if count > 1]
    if shared:
        text += f" Run again because of {', '.join(_reason(reason) for reason in shared)}."
    return text


def _unit_table(units: Sequence[UnitChange]) -> str:
    lines = ["| change | work unit | arguments that vary | because of |", "|---|---|---|---|"]
    for unit in units[:ROWS]:
        varying = " ".join(f"{name}={value}" for name, value in unit.arguments.items())
        reasons = "; ".join(_reason(reason) for reason in unit.reasons)
        lines.append(f"| {unit.change} | {code_span(unit.unit)} | {code_span(varying)} | {reasons} |")
    if len(units) > ROWS:
        lines.append(f"\n… and {len(units) - ROWS:,} more.")
    return "\n".join(lines)


def _resource_list(resources: Sequence[ResourceChange]) -> str:
    """Every resource by name, but work units, which are listed already, by their number."""
    counts = Counter((resource.type, resource.change) for resource in resources if resource.type in _UNITS)
    lines = [f"- {code_span(type)}: {count} {change}" for (type, change), count in counts.items()]
    others = [resource for resource in resources if resource.type not in _UNITS]
    for resource in others[:ROWS]:
        properties = ", ".join(code_span(name) for name in resource.properties)
        which = f" ({properties})" if properties else ""
        lines.append(f"- {code_span(resource.type)} {code_span(resource.name)}: {resource.change}{which}")
    if len(others) > ROWS:
        lines.append(f"- … and {len(others) - ROWS:,} more")
    return "\n".join(["Resources:", "", *lines])


def _reason(reason: Reason) -> str:
    name = code_span(reason.name)
    match reason.kind:
        case "argument" if reason.old is None:
            return f"{name} added: {_value(reason.new)}"
        case "argument" if reason.new is None:
            return f"{name} removed, was {_value(reason.old)}"
        case "argument":
            return f"{name}: {_value(reason.old)} → {_value(reason.new)}"
        case "code":
            return f"code of {name}"
        case "executable" if reason.old is not None:
            return f"executable: {code_span(reason.old)} → {name}"
        case "executable":
            return f"definition of executable {name}"
        case "executor":
            return f"executor or requirements of {name}: {_value(reason.old)} → {_value(reason.new)}"
        case "predecessor":
            return f"predecessor {name}"
        case "cluster" | "region":
            return f"{reason.name}: {_value(reason.old)} → {_value(reason.new)}"
        case "manifest":
            return f"{name} in its manifest"


def _value(text: str | None) -> str:
    return code_span(text) if text else "empty"


def _stack_json(change: StackChange) -> dict[str, Any]:
    return {
        "stack": change.stack,
        "change": change.change,
        "problem": change.problem,
        "unchangedUnits": change.unchanged,
        "stale": list(change.stale.executables) if change.stale else [],
        "files": list(change.stale.files) if change.stale else [],
        "units": [
            {
                "change": unit.change,
                "unit": unit.unit,
                "was": unit.was or unit.unit if unit.change == "run again" else None,
                "arguments": dict(unit.arguments),
                "reasons": [
                    {"kind": reason.kind, "name": reason.name, "old": reason.old, "new": reason.new}
                    for reason in unit.reasons
                ],
            }
            for unit in change.units
        ],
        "resources": [
            {
                "change": resource.change,
                "type": resource.type,
                "name": resource.name,
                "properties": list(resource.properties),
            }
            for resource in change.resources
        ],
    }
