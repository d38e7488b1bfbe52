"""What is wrong with an experiment.yaml, in words, with file, line and key path."""

from __future__ import annotations

import copy
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, TypeGuard, Union, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from xmgen import catalog
from xmgen.errors import Problem, closest, did_you_mean
from xmgen.frontends.spec.context import section
from xmgen.frontends.spec.document import Document

# Words that people bring from XManager's own code, Docker or Kubernetes, and that no spelling distance finds.
_SYNONYMS = {
    "env": "env_vars",
    "environment": "env_vars",
    "image": "image_path",
    "memory": "ram",
    "ephemeral_storage": "disk",
    "module": "module_name",
    "name": "title",
    "experimental_stream_output": "stream_output",
    "num_trials": "count",
    "needs": "depends_on",
}

_NEEDED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


_UNKNOWN_KINDS = frozenset({"union_tag_invalid", "union_tag_not_found"})
"""Types of pydantic's errors of a mapping that does not say which model it is of."""


def from_validation(failure: ValidationError, document: Document, model: type[BaseModel]) -> list[Problem]:
    """One problem per error, in the order of the file's lines."""
    return [problem for _, problem in _with_lines(failure, document, model)]


def of_all(failures: Sequence[ValidationError], document: Document, model: type[BaseModel]) -> list[Problem]:
    """The problems of the first, and those that all the others have, in the order of the file's lines. The others are
    of the same file, read in other ways; each may know another remedy, and only one that all know is one.
    """
    first, *others = (_with_lines(failure, document, model) for failure in failures)
    if not others:
        return [problem for _, problem in first]
    said = {_fault(problem) for _, problem in first}
    hints = [{_fault(problem): problem.hint for _, problem in found} for found in others]
    more = [
        (line, problem if all(each[fault] == problem.hint for each in hints) else replace(problem, hint=""))
        for line, problem in others[0]
        if (fault := _fault(problem)) not in said and all(fault in each for each in hints)
    ]
    return [problem for _, problem in sorted([*first, *more], key=lambda each: each[0])]


def _fault(problem: Problem) -> tuple[str, str]:
    return problem.where, problem.message


def _with_lines(failure: ValidationError, document: Document, model: type[BaseModel]) -> list[tuple[int, Problem]]:
    errors = sorted(failure.errors(include_url=False), key=lambda error: document.line(error["loc"]))
    return [(document.line(error["loc"]), _problem(error, document, model)) for error in errors]


def cycles(document: Document) -> list[Problem]:
    """A circle in `depends_on`, read from the unchecked file so that it is reported together with everything else."""
    units = section(document.value, "work_units")
    graph: dict[str, list[str]] = {}
    for name in units:
        wanted = section(units, name).get("depends_on")
        listed = cast("list[object]", wanted) if isinstance(wanted, list) else []
        graph[name] = [other for other in listed if isinstance(other, str) and other in units]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # graphlib names each unit after the one it waits for; a reader follows `depends_on` the other way.
        circle = cast("list[str]", error.args[1])[::-1]
        path = ("work_units", circle[0], "depends_on")
        return [document.problem(f"work units wait for each other: {' -> '.join(circle)}", path)]
    return []


def _problem(error: ErrorDetails, document: Document, model: type[BaseModel]) -> Problem:
    path, kind, value = error["loc"], error["type"], cast("object", error["input"])
    context: Mapping[str, Any] = error.get("ctx", {})
    if kind == "xmgen":
        return document.problem(context["message"], path, context["hint"])
    if kind == "extra_forbidden":
        name = str(path[-1])
        if name in (known := _fields(model, path[:-1])):
            # The only place that two models share is a work unit, and `job` belongs to the one without `jobs`.
            return document.problem("cannot stand beside `jobs`", path)
        others = [key for key in known if key not in catalog.names()]
        hint = _suggestion(name, known) if others == list(known) else _resource(name, others)
        return document.problem(f"unknown key {name!r}", path, hint)
    if kind == "missing":
        hint = "or `jobs`, for a group" if path[-1] == "job" else ""
        return document.problem(f"the key {str(path[-1])!r} is missing", path, hint)
    if kind == "union_tag_not_found":
        return document.problem("the key 'kind' is missing", path, f"one of {', '.join(kinds_at(model, path))}")
    if kind == "union_tag_invalid":
        tag = str(context["tag"])
        return document.problem(f"unknown kind {tag!r}", (*path, "kind"), did_you_mean(tag, kinds_at(model, path)))
    if kind == "literal_error":
        choices = context["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        return document.problem(f"{_shown(value)} is not one of {', '.join(choices)}", path, _near(value, choices))
    if kind in _NEEDED:
        return document.problem(f"must be {_NEEDED[kind]}, not {_shown(value)}", path, _form(value, kind, model, path))
    if kind in ("too_short", "string_too_short") and not value:
        return document.problem("must not be empty", path)
    if kind in ("too_short", "too_long"):
        needed = context.get("min_length", context.get("max_length"))
        return document.problem(f"needs {needed} items, not {context['actual_length']}", path)
    message = error["msg"]
    return document.problem(message[0].lower() + message[1:], path)


def _shown(value: object) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case str():
            return f"the text {value!r}" if len(value) <= 40 else "a text"
        case int() | float():
            return f"the number {value}"
        case dict():
            return "a mapping"
        case _:
            return "a list"


def _form(value: object, kind: str, model: type[BaseModel], path: Sequence[str | int]) -> str:
    """How a value of the wrong type should have been written."""
    if kind == "string_type" and isinstance(value, bool | int | float):
        return "quote it"
    if isinstance(value, str) and value in kinds_at(model, path):
        return f"write {{kind: {value}}}"
    return ""


def _near(value: object, choices: Sequence[str]) -> str:
    return did_you_mean(value, choices) if isinstance(value, str) else ""


def _resource(name: str, others: Sequence[str]) -> str:
    """For a key among accelerators. others: the keys there that are none."""
    meant = _SYNONYMS.get(name, name)
    return did_you_mean(meant, others) if meant in others else catalog.suggestion(name, [*others, catalog.LOCAL_GPU])


def _suggestion(name: str, known: Sequence[str]) -> str:
    meant = next((word for word in (_SYNONYMS.get(name, name), name.lower()) if word in known), name)
    return did_you_mean(meant, known)


def corrected(content: Any, failure: ValidationError, model: type[BaseModel]) -> list[Any]:
    """Copies of a file's content: of a kind that is misspelt with the one that is meant, of any other with each that
    there is, as only what is wrong with all of them is wrong for certain. None when all kinds are known.
    """
    places: list[tuple[tuple[str | int, ...], Sequence[str]]] = []
    for error in failure.errors(include_url=False):
        if error["type"] in _UNKNOWN_KINDS:
            known = kinds_at(model, error["loc"])
            meant = closest(str(error.get("ctx", {}).get("tag", "")), known)
            places.append((error["loc"], [meant] if meant else known))
    copies: list[Any] = []
    for number in range(max((len(choices) for _, choices in places), default=0)):
        changed = copy.deepcopy(content)
        for path, choices in places:
            _mapping_at(changed, path)["kind"] = choices[number % len(choices)]
        copies.append(changed)
    return copies


def _mapping_at(content: Any, path: Sequence[str | int]) -> dict[str, Any]:
    """What is at a path of validation, whose parts are keys, positions, and the tags of unions."""
    found: Any = content
    for part in path:
        if isinstance(part, int) or part in found:
            found = found[part]
    return found


def _fields(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The keys that a model, or one of the models, at this path takes."""
    return [key for found in _at(model, path) if _is_model(found) for key in _keys(found)]


def kinds_at(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The values of `kind` that stand at this path."""
    return [
        str(value)
        for found in _at(model, path)
        if _is_model(found) and "kind" in found.model_fields
        for value in get_args(found.model_fields["kind"].annotation)
    ]


def _at(model: type[BaseModel], path: Sequence[str | int]) -> list[Any]:
    """The types at a path of validation. Its parts are keys, positions, and the tags of unions."""
    places: list[Any] = [model]
    for part in path:
        inner = [found for place in places for found in _step(place, part)]
        tagged = [place for place in places if _is_model(place) and part in kinds_at(place, ())]
        places = inner or tagged or places
    return places


def _step(place: Any, part: str | int) -> Iterator[Any]:
    if _is_model(place):
        yield from (found for key, kind in _keys(place).items() if key == part for found in _branches(kind))
    elif get_origin(place) is dict and isinstance(part, str):
        yield from _branches(get_args(place)[1])
    elif get_origin(place) is list and isinstance(part, int):
        yield from _branches(get_args(place)[0])


def _branches(kind: Any) -> Iterator[Any]:
    """The types that an annotation allows."""
    if get_origin(kind) is Annotated:
        yield from _branches(get_args(kind)[0])
    elif get_origin(kind) in (Union, types.UnionType):
        for branch in get_args(kind):
            yield from _branches(branch)
    else:
        yield kind


def _keys(model: type[BaseModel]) -> dict[str, Any]:
    return {info.alias or name: info.annotation for name, info in model.model_fields.items()}


def _is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
