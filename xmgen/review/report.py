"""What a review says, as Markdown for a pull request: most dangerous first, and no longer than one reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from xmgen import __version__
from xmgen.resource_types.table import lookup
from xmgen.review.compare import ProjectChange, StackChange
from xmgen.review.highlights import Exposure, Grant, Move
from xmgen.review.resources import PropertyChange, ResourceChange
from xmgen.review.settings import SettingChange
from xmgen.review.stale import Stale
from xmgen.review.units import Reason, UnitChange
from xmgen.review.values import text
from xmgen.stack.verification import Finding
from xmgen.templating import code_span, markdown

ROWS = 30
"""Lines of a list; nobody reads more in a pull request."""

_PROPERTIES = 8
"""Changes told of one resource."""

_NOT_OURS = "Not what xmgen writes, and not what the rest of this review is of"

_T = TypeVar("_T")


def report(project: ProjectChange, changes: Sequence[StackChange], beside: Sequence[Finding] = ()) -> str:
    """beside: what is wrong with files of the project that every stack uses."""
    found = [(change.stack, change.stale) for change in changes if change.stale is not None]
    stale = [line for stack, each in found for line in _stale(stack, each)]
    touched = sorted((change for change in changes if change.change != "unchanged"), key=_harmlessness)
    findings = [*beside, *(finding for _, each in found for finding in each.findings)]
    sections = [_findings(findings)] if findings else []
    sections += ["\n".join(stale)] if stale else []
    if project != ProjectChange():
        sections.append(_project(project))
    sections += [_section(change) for change in touched]
    if not touched:
        is_sure = not findings and not any(each.source or each.executables for _, each in found)
        as_far = "" if is_sure else ", as far as their lists of resources and work units say"
        sections.append(f"No stack changes{as_far}.\n")
    elif rest := len(changes) - len(touched):
        sections.append(f"{rest} other stack{'' if rest == 1 else 's'} unchanged.\n")
    return "\n".join(sections)


def _findings(findings: Sequence[Finding]) -> str:
    """What runs and is not what it should be comes first."""
    return f"{_list(_NOT_OURS, findings, lambda one: f'{code_span(one.path)} {markdown(one.fault)}')}\n"


def _stale(stack: str, stale: Stale) -> Iterator[str]:
    if stale.executables:
        code = ", ".join(map(code_span, stale.executables))
        yield (
            f"Stack {code_span(stack)} is stale: the code of {code} is not what was compiled. "
            f"{code_span(stale.command)} compiles it.\n"
        )
    if stale.source:
        yield (
            f"Stack {code_span(stack)}: {code_span(stale.source)} changed, and its lock file did not. "
            f"{code_span(f'xmgen check {stack}')} says whether the stack is what its source compiles to.\n"
        )
    if stale.weaker:
        yield (
            f"Stack {code_span(stack)} was written by xmgen {code_span(stale.weaker)}, and this is {__version__}: its "
            "files were held against the digests in its lock file alone. That is the weaker proof: whoever changes a "
            "file can change its digest.\n"
        )


def _harmlessness(change: StackChange) -> tuple[bool, bool, bool, str]:
    open_to_others = change.exposures or any(not grant.own for grant in change.grants)
    return not (change.lost or change.moves), not open_to_others, not change.settings, change.stack


def _project(project: ProjectChange) -> str:
    parts = ["## All stacks", *(f"Not compared: {code_span(problem)}" for problem in project.problems)]
    if project.files:
        parts.append(f"{_named(project.files)} changed: every stack runs it.")
    if project.settings:
        parts.append(_list("Pulumi.yaml", project.settings, _setting))
    return "\n\n".join(parts) + "\n"


def _section(change: StackChange) -> str:
    title = f"## Stack {code_span(change.stack)}"
    if change.change in ("added", "removed"):
        title += f" ({change.change})"
    parts = [title, *(f"Not compared: {code_span(problem)}" for problem in change.problems)]
    if change.change == "removed":
        # No `up` can be run for it any more.
        command = code_span(f"xmgen destroy {change.stack}")
        parts.append(f"What is up of it stays up until {command}, which needs nothing of its folder.")
    if change.program:
        check = code_span(f"xmgen check {change.stack}")
        parts.append(f"**Program**: {_named(change.program)} changed; {check} says whether that is of a compile.")
    parts += [
        _list("Lost with what is deleted", change.lost, _lost),
        _list("Moves", change.moves, lambda move: _move(change.stack, move)),
        _list("Rights", change.grants, _grant),
        _list("Network and isolation", change.exposures, _exposure),
        _list("Secrets newly used", change.secrets, code_span),
        _list("Settings", change.settings, _setting),
        _list("To be set before the next `up`", change.needs, code_span),
        _list("Quantities", change.quantities, lambda one: f"{markdown(one.name)}: {one.old:,} → {one.new:,}"),
        _resources(change),
    ]
    if change.units or change.unchanged:
        parts.append(_overview(change))
    if change.units:
        parts.append(_unit_table(change.units))
    return "\n\n".join(filter(None, parts)) + "\n"


def _list(title: str, items: Sequence[_T], line: Callable[[_T], str]) -> str:
    if not items:
        return ""
    lines = [f"- {line(item)}" for item in items[:ROWS]]
    if len(items) > ROWS:
        lines.append(f"- … and {len(items) - ROWS:,} more")
    return "\n".join([f"**{title}**", "", *lines])


def _lost(change: ResourceChange) -> str:
    row = lookup(change.type)
    what = f"{row.noun} {code_span(change.name)} is {change.change}"
    if change.kept is None:
        return f"{what}: {row.loses} goes with it if `deleteOutputs` is set, and else stays in the cloud"
    if change.kept:
        return f"{what}: the old one stays in the cloud, of no stack, with {row.loses}"
    return f"{what}, and with it **{row.loses}**"


def _move(stack: str, move: Move) -> str:
    setting = f"{code_span(move.setting)} {_was_is(move.old, move.new)}"
    replaced = ", ".join(_counted(count, noun) for noun, count in move.replaced.items())
    text = f"{setting}: replaces {replaced or 'nothing'}"
    if move.setting == "project":
        text += ". What is in the old project stays there: the stack is torn in two"
    return f"{text}. Of a stack that is up, {code_span(f'xmgen destroy {stack}')} comes first"


def _grant(grant: Grant) -> str:
    (was, role), (whose, whom), (old, new) = grant.role, grant.member, grant.on
    on = markdown(new or old or "")
    on = on if grant.own else f"**{on}**, which is not the stack's own"
    on += f" (before: {markdown(old)})" if old and new and old != new else ""
    match grant.change:
        case "added":
            return f"{markdown(whom or 'somebody')} gets {code_span(role or '')} on {on}"
        case "removed":
            return f"{markdown(whose or 'somebody')} loses {code_span(was or '')} on {on}"
        case "changed":
            roles = code_span(role or "") if was == role else _was_is(was, role)
            members = markdown(whom or "") if whose == whom else _was_is(whose, whom)
            return f"{members}: {roles} on {on}"


def _exposure(exposure: Exposure) -> str:
    where = f"{lookup(exposure.type).noun} {code_span(exposure.name)}: " if exposure.name else ""
    change = f"{code_span(exposure.path)} {_was_is(exposure.old, exposure.new)}" if exposure.path else ""
    message = markdown(exposure.message)
    return where + (f"{change}: **{message}**" if change and message else change or f"**{message}**")


def _setting(setting: SettingChange) -> str:
    name = code_span(setting.name)
    if setting.secret == "plain":  # noqa: S105 — a kind
        return f"{name} {setting.change}: **a secret in plain text**, which is not shown here"
    if setting.secret:
        return f"{name} {setting.change} (encrypted)"
    if setting.change == "added":
        return f"{name} added: {_value(setting.new)}"
    if setting.change == "removed":
        return f"{name} removed, was {_value(setting.old)}"
    return f"{name}: {_was_is(setting.old, setting.new)}"


def _resources(change: StackChange) -> str:
    """Alike changes on one line; of work units, which are listed below, the number."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    order = {"replaced": 0, "removed": 1, "changed": 2, "added": 3}
    for resource in sorted(change.resources, key=lambda each: order[each.change]):
        # Of a whole stack that comes or goes the kinds are enough.
        how = "" if change.change in ("added", "removed") else _properties(resource)
        alike.setdefault((resource.type, resource.change, how), []).append(resource.name)
    lines: list[str] = []
    for (type_, kind, how), names in alike.items():
        noun = lookup(type_).noun
        which = markdown(_counted(len(names), noun)) if len(names) > 5 else f"{markdown(noun)} {_named(names)}"
        lines.append(f"{which}: {'**replaced**' if kind == 'replaced' else kind}{how}")
    counts = Counter[str]()
    for unit in change.units:
        kinds = ["replaced"] if unit.change == "run again" and not unit.was else [unit.change]
        for kind in ["removed", "added"] if kinds == ["run again"] else kinds:
            counts[kind] += unit.resources
    if counts:
        numbers = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        lines.insert(0, f"{markdown(_plural(lookup(change.type).noun))}: {numbers}")
    return _list("Resources", lines, str)


def _properties(resource: ResourceChange) -> str:
    """What forces a replacement comes first; what merely follows from others' is left out beside it."""
    forced = [change for change in resource.changes if change.effect == "replace"]
    others = [change for change in resource.changes if change.effect != "replace" and not (forced and change.follows)]
    told = [f" because of {_several(forced)}"] if forced else []
    return "; also".join([*told, *([f"{'' if forced else ':'} {_several(others)}"] if others else [])])


def _several(changes: Sequence[PropertyChange]) -> str:
    told = [_property(change) for change in changes[:_PROPERTIES]]
    return ", ".join([*told, *([f"{len(changes) - _PROPERTIES} more"] if len(changes) > _PROPERTIES else [])])


def _property(change: PropertyChange) -> str:
    if change.follows:
        return f"{code_span(change.path)}: another {code_span(change.old)}"
    if change.old is None:
        said = f"{code_span(change.path)} added: {_value(change.new)}"
    elif change.new is None:
        said = f"{code_span(change.path)} removed, was {_value(change.old)}"
    else:
        said = f"{code_span(change.path)}: {_was_is(change.old, change.new)}"
    return f"{said} (stays as it was in the cloud)" if change.effect == "none" else said


def _overview(change: StackChange) -> str:
    counts = Counter(unit.change for unit in change.units)
    texts = [f"{count:,} {kind}" for kind, count in counts.items()]
    said = f"Work units: {', '.join([*texts, f'{change.unchanged:,} unchanged'])}."
    shared = [reason for reason, count in _reasons(change.units).most_common(5) if count > 1]
    if shared:
        said += f" Run again because of {', '.join(_reason(reason) for reason in shared)}."
    return said


def _reasons(units: Iterable[UnitChange]) -> Counter[Reason]:
    return Counter(reason for unit in units for reason in unit.reasons)


def _unit_table(units: Sequence[UnitChange]) -> str:
    lines = ["| change | work unit | arguments that vary | because of |", "|---|---|---|---|"]
    for unit in units[:ROWS]:
        varying = " ".join(f"{name}={value}" for name, value in unit.arguments.items())
        told = [_reason(reason) for reason in unit.reasons if reason.kind != "predecessor"]
        before = [code_span(reason.name) for reason in unit.reasons if reason.kind == "predecessor"]
        if before:
            told.append(f"predecessor {before[0]}" + (f" and {len(before) - 1:,} more" if len(before) > 1 else ""))
        more = [f"{len(told) - _PROPERTIES} more"] if len(told) > _PROPERTIES else []
        because = "; ".join([*told[:_PROPERTIES], *more])
        lines.append(f"| {unit.change} | {code_span(unit.unit)} | {code_span(varying)} | {because} |")
    if len(units) > ROWS:
        lines.append(f"\n… and {len(units) - ROWS:,} more.")
    return "\n".join(lines)


def _reason(reason: Reason) -> str:
    name = code_span(reason.name)
    match reason.kind:
        case "argument" if reason.old is None:
            return f"{name} added: {_value(reason.new)}"
        case "argument" if reason.new is None:
            return f"{name} removed, was {_value(reason.old)}"
        case "code":
            return f"code of {name}"
        case "executable" if reason.old is not None:
            return f"executable: {code_span(reason.old)} → {name}"
        case "executable":
            return f"definition of executable {name}"
        case "executor":
            return f"executor or requirements of {name}: {_was_is(reason.old, reason.new)}"
        case "predecessor":
            return f"predecessor {name}"
        case "resource":
            return f"another {name}"
        case "manifest":
            return f"{name} in its manifest: {_was_is(reason.old, reason.new)}"
        case _:
            return f"{name}: {_was_is(reason.old, reason.new)}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    """`grants on a bucket`, `repositories`."""
    head, space, rest = re.sub(r" (?=(?:in|of|on|to) )", "\n", noun, count=1).partition("\n")
    ending = head[:-1] + "ies" if re.search("[^aeiou]y$", head) else head + "s"
    return ending + space.replace("\n", " ") + rest


def _was_is(old: object, new: object) -> str:
    return f"{_value(old)} → {_value(new)}"


def _value(value: object) -> str:
    return "empty" if value in (None, "") else code_span(text(value))


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - ROWS:,} more" if len(names) > ROWS else ""
    return ", ".join(map(code_span, names[:ROWS])) + more
