"""experiment.json: a sweep as Caliban writes it, and the experiments that it expands to.

A value that is a list is an axis; a key `[a,b]` names several flags that vary together. The first key varies fastest,
and within an experiment keys stand in the order of the file.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xmgen.errors import InputError, Problem
from xmgen.frontends.caliban import commented_json

Scalar = bool | int | float | str
Experiment = dict[str, Scalar | list[Any]]
"""Flag -> value; a list here is a value, no axis."""

STDIN = "stdin"

_NAME = r"[^\s,\]\[]+"
_KEY = re.compile(_NAME)
_COMPOUND = re.compile(rf"\[\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\]")
_KEY_HINT = "a flag's name has no blanks, commas or brackets; `[a,b]` names flags that vary together"


@dataclass(frozen=True, slots=True)
class _Axis:
    """One item of an object. values: of a compound key one tuple per combination."""

    names: tuple[str, ...]
    compound: bool
    values: Sequence[Any]


def read(source: str) -> Iterator[Experiment]:
    """The experiments of a file, or of standard input for the word `stdin`; raises as `expand` does."""
    return expand(load(source), name_of(source))


def load(source: str) -> Any:
    """The content of a file, or of standard input for the word `stdin`, unchecked."""
    if is_stdin(source):
        return commented_json.loads(sys.stdin.read(), STDIN)
    try:
        text = Path(source).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror}", source)) from None
    except UnicodeDecodeError:
        raise InputError(Problem("is not UTF-8", source)) from None
    return commented_json.loads(text, source)


def is_stdin(source: str) -> bool:
    return source.lower() == STDIN


def is_inline(source: str) -> bool:
    """Whether it is the sweep itself, as JSON."""
    return source.lstrip()[:1] in ("{", "[")


def name_of(source: str) -> str:
    return STDIN if is_stdin(source) else source


def expand(config: object, where: str = "") -> Iterator[Experiment]:
    """The experiments, one at a time, in constant memory. Everything is checked before the first one.

    where: how the user calls the config. Raises InputError with everything that is wrong.
    """
    problems: list[Problem] = []
    sweeps = [_axes(each, at, problems) for each, at in _objects(config, where, problems)]
    if problems:
        raise InputError(*problems)
    return itertools.chain.from_iterable(map(_product, sweeps))


def _objects(config: object, where: str, problems: list[Problem]) -> Iterator[tuple[dict[str, object], str]]:
    """The objects of a config: itself, or those in its lists, however deep. With the place of each."""
    # No recursion: lists may nest as deep as JSON does.
    waiting = [(config, where)]
    while waiting:
        each, at = waiting.pop()
        if isinstance(each, dict):
            yield cast("dict[str, object]", each), at
        elif isinstance(each, list):
            items = cast("list[object]", each)
            waiting += [(item, f"{at}[{index}]") for index, item in enumerate(items)][::-1]
        else:
            problems.append(Problem(f"{_text(each)} is no experiment", at, "write an object, or a list of objects"))


def _axes(config: dict[str, object], where: str, problems: list[Problem]) -> list[_Axis]:
    # Two spellings of one compound key are one axis: with the values of the first, in the place of the last.
    axes: dict[tuple[bool, tuple[str, ...]], _Axis] = {}
    for key, value in config.items():
        place = f"{where} {key}".strip()
        if _KEY.fullmatch(key):
            axis = _Axis((key,), False, cast("list[Any]", value) if isinstance(value, list) else [value])
        elif _COMPOUND.fullmatch(key):
            names = tuple(name.strip() for name in key[1:-1].split(","))
            axis = _Axis(names, True, _combinations(names, value, place, problems))
        else:
            problems.append(Problem(f"the key {key!r} is no flag's name", where, _KEY_HINT))
            continue
        if value is None or isinstance(value, dict):
            problems.append(_no_value(cast(object, value), place))
            continue
        identity = axis.compound, axis.names
        axes[identity] = axes.pop(identity, axis)
    found = list(axes.values())
    if all(axis.values for axis in found):
        _check_values(found, where, problems)
    return found


def _combinations(names: tuple[str, ...], value: object, where: str, problems: list[Problem]) -> list[list[Any]]:
    """The combinations of a compound key: a list of lists, or one flat list. Its first item decides which."""
    hint = f"write one list of {len(names)} values, or a list of such lists"
    if not isinstance(value, list) or not value:
        problems.append(Problem(f"{_text(value)} is no combination of {', '.join(names)}", where, hint))
        return []
    items = cast("list[object]", value)
    combinations = items if isinstance(items[0], list) else [items]
    result: list[list[Any]] = []
    for each in combinations:
        if isinstance(each, list) and len(cast("list[Any]", each)) == len(names):
            result.append(cast("list[Any]", each))
        else:
            problems.append(Problem(f"{_text(each)} is no combination of {', '.join(names)}", where, hint))
    return result


def _check_values(axes: Sequence[_Axis], where: str, problems: list[Problem]) -> None:
    """Of every flag: where it stands twice, in the axis that counts."""
    sources = {name: (axis, position) for axis in axes for position, name in enumerate(axis.names)}
    for name, (axis, position) in sources.items():
        for each in axis.values:
            value = each[position] if axis.compound else each
            if not isinstance(value, bool | int | float | str | list):
                problems.append(_no_value(value, f"{where} {name}".strip()))


def _no_value(value: object, where: str) -> Problem:
    return Problem(f"{_text(value)} is no value of a flag", where, "values are texts, numbers, true, false or lists")


def _text(value: Any) -> str:
    """As the user wrote it, cut where it is long."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _product(axes: Sequence[_Axis]) -> Iterator[Experiment]:
    # `product` varies its last factor fastest; the first key has to be that one.
    factors = [axis.values for axis in reversed(axes)]
    names = tuple(name for axis in axes for name in axis.names)
    if any(axis.compound for axis in axes):
        parts = [axis.values if axis.compound else [[value] for value in axis.values] for axis in reversed(axes)]
        return (_named(names, itertools.chain(*chosen[::-1])) for chosen in itertools.product(*parts))
    return (dict(zip(names, chosen[::-1], strict=True)) for chosen in itertools.product(*factors))


def _named(names: Sequence[str], values: Iterable[Any]) -> Experiment:
    # Of a name that stands twice the later value counts, in the earlier place.
    return dict(zip(names, values, strict=True))
