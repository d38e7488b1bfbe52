"""Two plans of one stack -> which units and resources a change adds, removes and touches. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from xmgen import arguments, resource_types
from xmgen.experiment import WorkUnit
from xmgen.plan.model import Manifest, Plan
from xmgen.review import executors, moves
from xmgen.review.resources import Declared, inputs_of_unit, resources
from xmgen.review.stale import Stale


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a unit runs again.

    argument:    `name` (an environment variable has a `$`) was `old` and is `new`; None where it was or is absent.
    code:        the content of the executable `name`.
    executable:  its definition, such as the base image.
    executor:    where and with what requirements the job `name` runs; `old` and `new` say what differs.
    predecessor: the unit `name`, for which it waits, runs again or is another one.
    cluster:     all jobs of the stack move from the cluster `old` to `new`.
    region:      the same on Vertex AI.
    manifest:    `name` in what is declared in the cloud differs, for none of the other reasons.
    """

    kind: Literal["argument", "code", "executable", "executor", "predecessor", "cluster", "region", "manifest"]
    name: str
    old: str | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True)
class UnitChange:
    """unit: the logical name; of a removed unit, the one it had. was: the name it had, when that was another one.
    arguments: those that vary in the experiment.
    """

    change: Literal["added", "removed", "run again"]
    unit: str
    arguments: Mapping[str, str]
    reasons: tuple[Reason, ...] = ()
    was: str = ""


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """change: `replaced` where Pulumi certainly deletes it and creates another; `changed` may be that, too.
    properties: the inputs that differ; empty of what is added or removed.
    """

    change: Literal["added", "removed", "changed", "replaced"]
    type: str
    name: str
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StackChange:
    """change: of the stack as a whole. unchanged: number of units that stay as they are.
    problem: why the stack cannot be compared; empty when it was.
    stale: code, source and generated files that differ from what was compiled, which the comparison does not know.
    """

    stack: str
    change: Literal["added", "removed", "changed", "unchanged"]
    units: tuple[UnitChange, ...] = ()
    unchanged: int = 0
    resources: tuple[ResourceChange, ...] = ()
    problem: str = ""
    stale: Stale | None = None


CODE = frozenset({"digest", "exclude", "ignore", "requirements", "elsewhere"})
"""What of an executable follows from the files in its folder; the rest is its definition."""

_MOVES: Mapping[str, Mapping[str, str]] = {
    "cluster": {
        resource_types.CLUSTER: "location",
        resource_types.NODE_POOL: "cluster",
        **dict.fromkeys((resource_types.JOB, *resource_types.OBJECTS.values()), "provider"),
    },
    "region": {resource_types.CUSTOM_JOB: "region"},
}
"""By kind of reason: the types of resources that cannot move, and the input that says that they would have to."""

Shape = tuple[str, str, tuple[str, ...]]
"""Role, label and names of the jobs: units of different shape are never the same trial."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit with what a comparison needs of it.

    manifests: what is declared of it in the cloud, where any difference replaces it.
    varying: the arguments that vary in the experiment. point: names of those that vary among units of its shape.
    """

    name: str
    unit: WorkUnit
    named: Mapping[str, str]
    varying: Mapping[str, str]
    depends_on: tuple[str, ...]
    shape: Shape
    point: frozenset[str]
    manifests: tuple[Manifest, ...]


def compare(stack: str, old: Plan | None, new: Plan | None) -> StackChange:
    """old, new: None where the stack does not exist. What is compared is what would happen to a stack that is `up`."""
    before, after = _units(old), _units(new)
    moved = _moved(old, new)
    units = _unit_changes(before, after, _changed_executables(old, new), moved)
    touched = sum(change.change != "removed" for change in units)
    changed = _resource_changes(old, new, units, moved)
    return StackChange(
        stack=stack,
        change="added" if old is None else "removed" if new is None else "changed" if units or changed else "unchanged",
        units=tuple(units),
        unchanged=len(after) - touched,
        resources=tuple(changed),
    )


def _units(plan: Plan | None) -> dict[str, _Unit]:
    if plan is None:
        return {}
    units = [plan.experiment.units[planned.position] for planned in plan.units]
    named = [arguments.named(unit) for unit in units]
    id_ = str(plan.experiment.experiment_id)
    names = arguments.varying(named, without=id_)
    shapes = [(unit.role, unit.label, tuple(job.name for job in unit.jobs)) for unit in units]
    alike: dict[Shape, list[dict[str, str]]] = defaultdict(list)
    for shape, values in zip(shapes, named, strict=True):
        alike[shape].append(values)
    points = {shape: frozenset(arguments.varying(values, without=id_)) for shape, values in alike.items()}
    return {
        planned.name: _Unit(
            name=planned.name,
            unit=unit,
            named=values,
            varying={name: values[name] for name in names if name in values},
            depends_on=planned.depends_on,
            shape=shape,
            point=points[shape],
            manifests=() if planned.executor == "local" else planned.manifests,
        )
        for planned, unit, values, shape in zip(plan.units, units, named, shapes, strict=True)
    }


def _moved(old: Plan | None, new: Plan | None) -> Reason | None:
    """Why all units run again whatever else changed, if they do."""
    if old is None or new is None:
        return None
    if clusters := moves.clusters(old.cluster, new.cluster):
        return Reason("cluster", "cluster", *clusters)
    if regions := moves.regions(old.vertex, new.vertex):
        return Reason("region", "region", *regions)
    return None


def _changed_executables(old: Plan | None, new: Plan | None) -> dict[str, Reason]:
    """By the name that jobs know them by."""
    if old is None or new is None:
        return {}
    before = {executable.name: asdict(executable) for executable in old.experiment.executables}
    result: dict[str, Reason] = {}
    for executable in new.experiment.executables:
        differing = _differing(before.get(executable.name, asdict(executable)), asdict(executable))
        if differing:
            kind = "code" if CODE.issuperset(differing) else "executable"
            result[executable.name] = Reason(kind, executable.name)
    return result


def _unit_changes(
    before: Mapping[str, _Unit], after: Mapping[str, _Unit], executables: Mapping[str, Reason], moved: Reason | None
) -> list[UnitChange]:
    gone = [unit for name, unit in before.items() if name not in after]
    come = [unit for name, unit in after.items() if name not in before]
    pairs = _pairs(gone, come)
    counterparts = {new.name: old for old, new in pairs} | {name: before[name] for name in after if name in before}
    again: set[str] = set()
    changes: list[UnitChange] = []
    # A unit comes after those it waits for.
    for unit in after.values():
        old = counterparts.get(unit.name)
        if old is None:
            changes.append(UnitChange("added", unit.name, unit.varying))
            again.add(unit.name)
            continue
        reasons = _reasons(old, unit, executables, again)
        reasons += [moved] if moved else [] if reasons else _of_manifests(old, unit)
        if reasons or old.name != unit.name:
            was = old.name if old.name != unit.name else ""
            changes.append(UnitChange("run again", unit.name, unit.varying, tuple(reasons), was))
            again.add(unit.name)
    paired = {old.name for old, _ in pairs}
    changes += [UnitChange("removed", unit.name, unit.varying) for unit in gone if unit.name not in paired]
    return changes


def _reasons(old: _Unit, new: _Unit, executables: Mapping[str, Reason], again: set[str]) -> list[Reason]:
    reasons = [
        Reason("argument", name, old.named.get(name), new.named.get(name))
        for name in dict.fromkeys([*new.named, *old.named])
        if old.named.get(name) != new.named.get(name) and old.name != new.name
    ]
    for was, job in zip(old.unit.jobs, new.unit.jobs, strict=True):
        if was.executable != job.executable:
            reasons.append(Reason("executable", job.executable, was.executable, job.executable))
        if was.executor != job.executor:
            reasons.append(Reason("executor", job.name, *executors.difference(was.executor, job.executor)))
        if job.executable in executables:
            reasons.append(executables[job.executable])
    reasons += [Reason("predecessor", name) for name in new.depends_on if name in again]
    if len(old.depends_on) != len(new.depends_on):
        known = {reason.name for reason in reasons if reason.kind == "predecessor"}
        differing = set(old.depends_on).symmetric_difference(new.depends_on) - known
        reasons += [Reason("predecessor", name) for name in sorted(differing)]
    return list(dict.fromkeys(reasons))


def _of_manifests(old: _Unit, new: _Unit) -> list[Reason]:
    """Such as a label: neither a Job nor a CustomJob can be changed. Nothing of a unit that is another one anyway."""
    if old.name != new.name:
        return []
    names = [
        name
        for was, manifest in zip(old.manifests, new.manifests, strict=False)
        if was != manifest
        for name in _differing(inputs_of_unit(was), inputs_of_unit(manifest))
    ]
    return [Reason("manifest", name) for name in dict.fromkeys(names)]


def _pairs(gone: Sequence[_Unit], come: Sequence[_Unit]) -> list[tuple[_Unit, _Unit]]:
    """Units that went and came and are the same trial with something else changed.

    A trial is known by its point in the sweep: the arguments that vary. What all trials share may change without making
    another trial of it. So two units are paired when they agree in every argument that varies before or after; else,
    when the sweep has got or lost a dimension, when they agree in those that vary both before and after.
    """
    pairs: list[tuple[_Unit, _Unit]] = []
    for shape in dict.fromkeys(unit.shape for unit in gone):
        old = [unit for unit in gone if unit.shape == shape]
        new = [unit for unit in come if unit.shape == shape]
        old_names = old[0].point
        new_names = new[0].point if new else frozenset[str]()
        for names in (old_names | new_names, old_names & new_names):
            # Nothing in common is no point to agree in, unless nothing varies at all.
            if not names and old_names | new_names:
                continue
            found = _agreeing(old, new, sorted(names))
            pairs += found
            taken = {unit.name for pair in found for unit in pair}
            old = [unit for unit in old if unit.name not in taken]
            new = [unit for unit in new if unit.name not in taken]
    return pairs


def _agreeing(old: Iterable[_Unit], new: Iterable[_Unit], names: Sequence[str]) -> list[tuple[_Unit, _Unit]]:
    waiting: dict[tuple[str | None, ...], list[_Unit]] = defaultdict(list)
    for unit in old:
        waiting[tuple(unit.named.get(name) for name in names)].append(unit)
    pairs: list[tuple[_Unit, _Unit]] = []
    for unit in new:
        if matches := waiting[tuple(unit.named.get(name) for name in names)]:
            pairs.append((matches.pop(0), unit))
    return pairs


def _resource_changes(
    old: Plan | None, new: Plan | None, units: Iterable[UnitChange], moved: Reason | None
) -> list[ResourceChange]:
    before, after = _by_key(old), _by_key(new)
    bound: Mapping[str, str] = _MOVES[moved.kind] if moved else {}
    again = {change.unit: change.reasons for change in units if change.change == "run again"}
    changes: list[ResourceChange] = []
    for key, resource in after.items():
        if key not in before:
            changes.append(ResourceChange("added", resource.type, resource.name))
            continue
        if resource.type == resource_types.RUN and resource.name not in again:
            # Only its place among the units is another, and with it names that hold a number: nothing happens to it.
            continue
        properties = _differing(before[key].inputs, resource.inputs)
        if resource.type == resource_types.RUN:
            # Code reaches a unit's resource through its executable's outputs, a predecessor's run through its own.
            through = ("after" if reason.kind == "predecessor" else "jobs" for reason in again[resource.name])
            properties = tuple(dict.fromkeys([*properties, *through]))
        if resource.type in bound:
            properties = tuple(dict.fromkeys([*properties, bound[resource.type]]))
        if properties:
            replaced = resource.type in bound or resource.type in resource_types.WORK_UNITS.values()
            change = "replaced" if replaced else "changed"
            changes.append(ResourceChange(change, resource.type, resource.name, properties))
    changes += [
        ResourceChange("removed", resource.type, resource.name) for key, resource in before.items() if key not in after
    ]
    return changes


def _by_key(plan: Plan | None) -> dict[tuple[str, str], Declared]:
    return {} if plan is None else {(resource.type, resource.name): resource for resource in resources(plan)}


def _differing(old: Mapping[str, object], new: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(key for key in dict.fromkeys([*new, *old]) if old.get(key) != new.get(key))
