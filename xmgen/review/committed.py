"""A stack as one side of a comparison has it: what its files say, as far as they can be read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from xmgen.errors import InputError, Problem
from xmgen.experiment import Experiment
from xmgen.project import LOCK_FILE, STACKS
from xmgen.resource_types import CUSTOM_JOB, JOB, RUN
from xmgen.review.commits import Side
from xmgen.stack import lock, resources
from xmgen.stack.resources import DeclaredResources

Document = dict[str, Any]

_MANIFESTS = {JOB: "manifests/jobs.yaml", CUSTOM_JOB: "manifests/vertex/jobs.yaml", RUN: "manifests/local.yaml"}
"""Where stacks have them that came before `resources.yaml`, which says so."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Committed:
    """experiment, declared: None where the file is not there or cannot be read. type: of its work units' resources.
    documents: one for each of those. problems: what is not there, or cannot be read.
    """

    experiment: Experiment | None
    declared: DeclaredResources | None
    type: str = ""
    documents: tuple[Document, ...] = ()
    problems: tuple[str, ...] = ()


def read(side: Side, stack: str) -> Committed:
    problems: list[str] = []

    def parsed(path: str, parse: Callable[[str, str], _T]) -> _T | None:
        where = f"{STACKS}/{stack}/{path}"
        try:
            text = side.read(where)
            return None if text is None else parse(text, where)
        except InputError as error:
            problems.extend(f"{problem.where}: {problem.message}" for problem in error.problems)
            return None

    experiment = parsed(LOCK_FILE, lambda text, where: lock.loads(text, where, stack))
    declared = parsed(resources.FILE, _declared)
    if declared is None and not problems:
        problems.append(
            f"{STACKS}/{stack}/{resources.FILE} is not there: an older xmgen compiled the stack, and its resources "
            "cannot be compared"
        )
    workloads = declared.workloads if declared is not None else None
    places = {workloads.type: workloads.manifests} if workloads else _MANIFESTS if declared is None else {}
    for type_, path in places.items():
        if documents := parsed(path, _documents):
            return Committed(experiment, declared, type_, documents, tuple(problems))
    return Committed(experiment, declared, problems=tuple(problems))


def yaml_of(text: str, where: str) -> list[object]:
    """The documents of a YAML file. Raises InputError for what is none, or repeats itself: what stands in for a
    thousand others in one line would be written out here.
    """
    import yaml

    try:
        events = cast("Iterable[object]", cast("Any", yaml).parse(text, yaml.CSafeLoader)) if "*" in text else ()
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise InputError(Problem("has aliases, which xmgen never writes", where=where))
        return list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(Problem(f"is no YAML: {' '.join(str(error).split())}", where=where)) from None


def _declared(text: str, where: str) -> DeclaredResources:
    yaml_of(text, where)
    return resources.parse(text, where)


@functools.lru_cache(maxsize=4)
def _documents(text: str, where: str) -> tuple[Document, ...]:
    """Both sides have mostly the same, and nobody changes them."""
    content = [document for document in yaml_of(text, where) if document is not None]
    if not all(isinstance(document, dict) for document in content):
        raise InputError(Problem("is not as xmgen writes it", where=where))
    return tuple(cast("list[Document]", content))
