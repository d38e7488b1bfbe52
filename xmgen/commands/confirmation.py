"""What `up` asks before it begins: what would run, and what would be made or removed for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from xmgen.executors.base import runtime
from xmgen.pulumi_cli.state import resources
from xmgen.resource_types import CLUSTER, NODE_POOL, WORK_UNITS
from xmgen.stack.compiled import CompiledStack

_NOUNS = {
    **dict.fromkeys(WORK_UNITS.values(), "job"),
    WORK_UNITS["local"]: "work unit",
    CLUSTER: "cluster",
    NODE_POOL: "node pool",
}
"""What costs or is lost, as a user calls it: a work unit on a cluster may be several Jobs."""


def question_of_up(stack: CompiledStack, export: str | None) -> tuple[str, str]:
    """The question, and what to say before it, which may be nothing. export: the stack's state; None where there is
    no stack. Asks no cloud: what failed there since the last `up` or `refresh` counts as there.
    """
    state = resources(export) if export is not None else []
    there = {(resource.type, resource.name) for resource in state if not resource.delete}
    wanted = {(made.type, made.name): None for made in stack.declared.resources if made.type in (CLUSTER, NODE_POOL)}
    wanted |= {(unit.type, name): None for unit in stack.units for name in unit.resources}
    recorded = runtime(stack).recorded(stack, export)
    run = sum(unit.status in ("waiting", "failed", "stopped") for unit in recorded)
    created = _counted(type_ for type_, name in wanted if (type_, name) not in there and type_ in (CLUSTER, NODE_POOL))
    removed = _counted(type_ for type_, name in sorted(there) if (type_, name) not in wanted and type_ in _NOUNS)
    parts = [f"run {_number(run, 'work unit')} of {stack.name}"] if run else []
    parts += [f"create {created}"] if created else []
    parts += [f"remove {removed}"] if removed else []
    text = ", and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    if not parts:
        text = f"bring {stack.name} up to date"
    elif not run:
        text += f" of {stack.name}"
    kept = len(stack.units) - run
    note = ""
    if kept:
        verb = "is there already, and runs" if kept == 1 else "are there already, and run"
        note = f"{_number(kept, 'work unit')} {verb} again only where code or definition changed."
    return f"{text[0].upper()}{text[1:]}?", note


def _counted(types: Iterable[str]) -> str:
    """`1 cluster and 2 node pools`; empty where there is nothing."""
    counts = Counter(_NOUNS[type_] for type_ in types)
    return " and ".join(_number(count, noun) for noun, count in counts.items())


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
