"""Which work units a change adds, removes and runs again, and why. Pure."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from xmgen import arguments
from xmgen.experiment import Experiment, WorkUnit
from xmgen.resource_types import JOB, RUN
from xmgen.review import executors
from xmgen.review.committed import Committed, Document
from xmgen.review.values import differences, text

Kind = Literal[
    "argument", "code", "executable", "executor", "predecessor", "cluster", "region", "setting", "resource", "manifest"
]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a unit runs again.

    argument:    `name` (an environment variable has a `$`) was `old` and is `new`; None where it was or is absent.
    code:        the content of the executable `name`.
    executable:  its definition, such as the base image.
    executor:    where and with what requirements the job `name` runs; `old` and `new` say what differs.
    predecessor: the unit `name`, for which it waits, runs again or is another one.
    cluster:     all jobs of the stack move from the cluster `old` to `new`, or `name` replaces the cluster they are on.
    region:      `name` of the place on Vertex AI: the region or the project.
    setting:     the setting `name`, which is part of what is declared.
    resource:    what the job uses, such as a bucket, is another one.
    manifest:    `name` in what is declared in the cloud differs, for none of the other reasons.
    """

    kind: Kind
    name: str
    old: str | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True)
class UnitChange:
    """unit: the logical name; of a removed unit, the one it had. was: the name it had, when that was another one.
    arguments: those that vary in the experiment. resources: how many there are of it.
    """

    change: Literal["added", "removed", "run again"]
    unit: str
    arguments: Mapping[str, str]
    reasons: tuple[Reason, ...] = ()
    was: str = ""
    resources: int = 1


Shape = tuple[str, str, tuple[str, ...]]
"""Role, label and names of the jobs: units of different shape are never the same trial."""

Beside = Callable[[Iterable[Document]], Iterable[Reason]]
"""Why a unit that is declared as before runs again, by its documents: what they refer to is another."""

_CODE = frozenset({"digest", "exclude", "ignore", "requirements", "elsewhere"})
"""What of an executable follows from the files in its folder; the rest is its definition."""

_ALWAYS = ("metadata.name", "metadata.annotations.xmgen/resource", "identity")
_OF_CODE = re.compile(r"\.(image|imageUri|executable|command\b.*)$")
_OF_ARGUMENTS = re.compile(r"\.(args|command|env)\b")
_OF_EXECUTORS = re.compile(r"(?i)^(?!.*(securityContext|serviceAccount|\bhost[A-Z]))")
"""What follows from another executor: anything but rights, which no requirement gives."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit with what a comparison needs of it.

    work: None where the lock file says nothing of it. varying: the arguments that vary in the experiment.
    point: names of those that vary among units of its shape.
    """

    name: str
    documents: tuple[Document, ...]
    work: WorkUnit | None = None
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    varying: Mapping[str, str] = field(default_factory=dict[str, str])
    depends_on: tuple[str, ...] = ()
    shape: Shape = ("", "", ())
    point: frozenset[str] = frozenset()


def _of_stack(stack: Committed | None) -> dict[str, Unit]:
    """By name, in order. What runs is in the manifests; what it is, the lock file knows, where it fits them."""
    if stack is None:
        return {}
    documents: dict[str, list[Document]] = defaultdict(list)
    for document in stack.documents:
        documents[_unit_of(stack.type, document)].append(document)
    if not is_of_one_compile(stack) or stack.experiment is None:
        return {name: Unit(name, tuple(found), shape=("", name, ())) for name, found in documents.items()}
    return _with_work(stack.experiment, {name: tuple(found) for name, found in documents.items()})


def is_of_one_compile(stack: Committed) -> bool:
    """Whether lock file and manifests have as many units."""
    names = {_unit_of(stack.type, document) for document in stack.documents}
    return stack.experiment is None or len(names) == len(stack.experiment.units)


def changes(old: Committed | None, new: Committed | None, beside: Beside | None = None) -> tuple[list[UnitChange], int]:
    """And how many units stay as they are. beside: asked for every unit that is on both sides."""
    before, after = _of_stack(old), _of_stack(new)
    type_ = new.type if old is not None and new is not None and old.type == new.type else ""
    executables = _changed_executables(old and old.experiment, new and new.experiment)
    gone = [unit for name, unit in before.items() if name not in after]
    pairs = _pairs(gone, [unit for name, unit in after.items() if name not in before])
    counterparts = {new.name: old for old, new in pairs} | {name: before[name] for name in after if name in before}
    touched: set[str] = set()
    result: list[UnitChange] = []
    # A unit comes after those it waits for.
    for unit in after.values():
        was = counterparts.get(unit.name)
        if was is None:
            result.append(UnitChange("added", unit.name, unit.varying, resources=len(unit.documents)))
            touched.add(unit.name)
            continue
        reasons = _reasons(was, unit, executables, touched)
        reasons += beside(unit.documents) if beside else []
        reasons += _of_manifests(type_, was, unit, reasons)
        if reasons or was.name != unit.name:
            name = was.name if was.name != unit.name else ""
            count = len(unit.documents)
            result.append(UnitChange("run again", unit.name, unit.varying, tuple(reasons), name, count))
            touched.add(unit.name)
    paired = {was.name for was, _ in pairs}
    unchanged = len(after) - len(result)
    result += [
        UnitChange("removed", unit.name, unit.varying, resources=len(unit.documents))
        for unit in gone
        if unit.name not in paired
    ]
    return result, unchanged


def _unit_of(type_: str, document: Document) -> str:
    labels = document.get("metadata", {}).get("labels", {}) if type_ == JOB else document.get("labels", {})
    return str(document.get("name") if type_ == RUN else labels.get("xmgen/unit" if type_ == JOB else "unit"))


def _with_work(experiment: Experiment, documents: Mapping[str, tuple[Document, ...]]) -> dict[str, Unit]:
    named = [arguments.named(unit) for unit in experiment.units]
    id_ = str(experiment.experiment_id)
    varying = arguments.varying(named, without=id_)
    shapes = [(unit.role, unit.label, tuple(job.name for job in unit.jobs)) for unit in experiment.units]
    alike: dict[Shape, list[dict[str, str]]] = defaultdict(list)
    for shape, values in zip(shapes, named, strict=True):
        alike[shape].append(values)
    points = {shape: frozenset(arguments.varying(values, without=id_)) for shape, values in alike.items()}
    order = list(documents)
    return {
        name: Unit(
            name=name,
            documents=documents[name],
            work=unit,
            named=values,
            varying={key: values[key] for key in varying if key in values},
            depends_on=tuple(order[position] for position in unit.depends_on),
            shape=shape,
            point=points[shape],
        )
        for name, unit, values, shape in zip(order, experiment.units, named, shapes, strict=True)
    }


def _changed_executables(old: Experiment | None, new: Experiment | None) -> dict[str, Reason]:
    """By the name that jobs know them by."""
    before = {each.name: asdict(each) for each in old.executables} if old is not None else {}
    result: dict[str, Reason] = {}
    for executable in new.executables if new is not None and old is not None else ():
        fields = asdict(executable)
        was = before.get(executable.name, fields)
        if differing := {key for key in fields.keys() | was.keys() if fields.get(key) != was.get(key)}:
            result[executable.name] = Reason("code" if differing <= _CODE else "executable", executable.name)
    return result


def _reasons(old: Unit, new: Unit, executables: Mapping[str, Reason], touched: set[str]) -> list[Reason]:
    reasons = [
        Reason("argument", name, old.named.get(name), new.named.get(name))
        for name in dict.fromkeys([*new.named, *old.named])
        if old.named.get(name) != new.named.get(name) and old.name != new.name
    ]
    jobs = zip(old.work.jobs, new.work.jobs, strict=False) if old.work and new.work else ()
    for was, job in jobs:
        if was.executable != job.executable:
            reasons.append(Reason("executable", job.executable, was.executable, job.executable))
        if was.executor != job.executor:
            reasons.append(Reason("executor", job.name, *executors.difference(was.executor, job.executor)))
        if job.executable in executables:
            reasons.append(executables[job.executable])
    reasons += [Reason("predecessor", name) for name in new.depends_on if name in touched]
    if len(old.depends_on) != len(new.depends_on):
        said = {reason.name for reason in reasons if reason.kind == "predecessor"}
        differing = set(old.depends_on).symmetric_difference(new.depends_on) - said
        reasons += [Reason("predecessor", name) for name in sorted(differing)]
    return list(dict.fromkeys(reasons))


def _of_manifests(type_: str, old: Unit, new: Unit, reasons: Sequence[Reason]) -> list[Reason]:
    """Neither a Job nor a CustomJob can be changed: any difference replaces it, such as a label's. What follows from
    the other reasons is left out. What a Run does is its identity, which is in its name.
    """
    if type_ in ("", RUN) or old.documents == new.documents:
        return []
    kinds: set[str] = {reason.kind for reason in reasons}
    if old.name != new.name:
        kinds.add("argument")
    explained = [
        *([_OF_CODE] if kinds & {"code", "executable"} else []),
        *([_OF_ARGUMENTS] if "argument" in kinds else []),
        *([_OF_EXECUTORS] if "executor" in kinds else []),
        *([re.compile(r"\.(nodeSelector|tolerations)\b")] if "cluster" in kinds else []),
        *([re.compile(r"xmgen/after$")] if "predecessor" in kinds else []),
    ]
    counts = str(len(old.documents)), str(len(new.documents))
    found = [Reason("manifest", "number of resources", *counts)] if counts[0] != counts[1] and not explained else []
    for was, document in zip(_general(type_, old, new.name), _general(type_, new, new.name), strict=False):
        for each in differences("", was, document):
            if each.path not in _ALWAYS and not any(pattern.search(each.path) for pattern in explained):
                path = each.path.removeprefix("spec.").removeprefix("template.spec.").removeprefix("jobSpec.")
                found.append(Reason("manifest", path, _said(each.old), _said(each.new)))
    return list(dict.fromkeys(found))


def _general(type_: str, unit: Unit, name: str) -> list[Any]:
    """A unit's documents without what only tells one Job from others: its own name, a hash of it all, is everywhere.

    name: in place of the unit's.
    """
    own = [str(document["metadata"]["name"]) for document in unit.documents] if type_ == JOB else []
    said = json.dumps(unit.documents).replace(unit.name, name)
    for number, job in enumerate(own):
        said = said.replace(job, f"<name {number}>")
    return json.loads(said)


def _said(value: object) -> str | None:
    return None if value is None else text(value)


def _pairs(gone: Sequence[Unit], come: Sequence[Unit]) -> list[tuple[Unit, Unit]]:
    """Units that went and came and are the same trial with something else changed.

    A trial is known by its point in the sweep: the arguments that vary. What all trials share may change without making
    another trial of it. So two units are paired when they agree in every argument that varies before or after; else,
    when the sweep has got or lost a dimension, when they agree in those that vary both before and after.
    """
    pairs: list[tuple[Unit, Unit]] = []
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


def _agreeing(old: Iterable[Unit], new: Iterable[Unit], names: Sequence[str]) -> list[tuple[Unit, Unit]]:
    waiting: dict[tuple[str | None, ...], list[Unit]] = defaultdict(list)
    for unit in old:
        waiting[tuple(unit.named.get(name) for name in names)].append(unit)
    pairs: list[tuple[Unit, Unit]] = []
    for unit in new:
        if matches := waiting[tuple(unit.named.get(name) for name in names)]:
            pairs.append((matches.pop(0), unit))
    return pairs
