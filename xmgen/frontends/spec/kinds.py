"""A file in which some `kind` is none that there is, with others in its place: what is wrong below it is found so."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from xmgen.errors import closest
from xmgen.frontends.spec.problems import kinds_at

UNKNOWN = frozenset({"union_tag_invalid", "union_tag_not_found"})
"""Types of pydantic's errors of a mapping that does not say which model it is of."""


def corrected(content: Any, failure: ValidationError, model: type[BaseModel]) -> list[Any]:
    """Copies of a file's content: of a kind that is misspelt with the one that is meant, of any other with each that
    there is, as only what is wrong with all of them is wrong for certain. None when all kinds are known.
    """
    places: list[tuple[tuple[str | int, ...], Sequence[str]]] = []
    for error in failure.errors(include_url=False):
        if error["type"] in UNKNOWN:
            known = kinds_at(model, error["loc"])
            meant = closest(str(error.get("ctx", {}).get("tag", "")), known)
            places.append((error["loc"], [meant] if meant else known))
    copies: list[Any] = []
    for number in range(max((len(choices) for _, choices in places), default=0)):
        changed = copy.deepcopy(content)
        for path, choices in places:
            _mapping(changed, path)["kind"] = choices[number % len(choices)]
        copies.append(changed)
    return copies


def _mapping(content: Any, path: Sequence[str | int]) -> dict[str, Any]:
    """What is at a path of validation, whose parts are keys, positions, and the tags of unions."""
    found: Any = content
    for part in path:
        if isinstance(part, int) or part in found:
            found = found[part]
    return found
