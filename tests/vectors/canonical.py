"""Recorded texts made comparable: argv tokens, `Name(field=value)` texts, the experiment id."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xmgen.experiment import Arg, Reference, ShellSafeArg

XID = "<XID>"
_CLOCK = re.compile(r"(?<!\d)1[5-9]\d{11}(?!\d)")
"""Milliseconds since 1970, from 2017 to 2033."""


def readings(token: str) -> set[Arg]:
    """The arguments that XManager would record as this token (rule `quoting`)."""
    plain = _unquoted(token)
    if plain is None:
        flag, equals, value = token.partition("=")
        text = _unquoted(value)
        plain = token if text is None or not equals else f"{flag}={text}"
    return {plain, ShellSafeArg(token)}


def _unquoted(token: str) -> str | None:
    """The text of which `token` is the quoted form; None when there is none."""
    try:
        words = shlex.split(token)
    except ValueError:
        return None
    return words[0] if len(words) == 1 and shlex.quote(words[0]) == token else None


def merged(defaults: Sequence[str], overrides: Sequence[str]) -> list[str]:
    """A packageable's tokens merged with a job's (rule `merging`)."""
    result: list[str] = []
    placed: set[int] = set()
    for token in defaults:
        again = [index for index, other in enumerate(overrides) if keys(token) & keys(other)]
        if not again:
            result.append(token)
        elif not placed.intersection(again):
            result.extend(overrides[index] for index in again)
            placed.update(again)
    return [*result, *(token for index, token in enumerate(overrides) if index not in placed)]


def keys(token: str) -> set[str]:
    """The flags that a token may set: `--no` before a name may be part of it."""
    match = re.fullmatch(r"--([^=]+)(=.*)?", token, re.DOTALL)
    if not match:
        return set()
    name, value = match.groups()
    return {name, name.removeprefix("no")} if value is None else {name}


def parsed(text: object) -> object:
    """`Name(field=value)` -> ("Name", {"field": value}), nested; any other text or value as it is.

    Module prefixes are left out, and what is no literal stays a text.
    """
    if not isinstance(text, str) or not re.match(r"[A-Za-z_][\w.]*\(", text):
        return text
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return text


def _value(node: ast.expr) -> object:
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            fields: dict[str, object] = {str(index): _value(arg) for index, arg in enumerate(args)}
            fields.update({str(keyword.arg): _value(keyword.value) for keyword in keywords})
            return ast.unparse(func).rpartition(".")[2], fields
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element) for element in elements]
        case ast.Name() | ast.Attribute():
            return ast.unparse(node)
        case _:
            return ast.literal_eval(node)


def clock(record: object) -> str | None:
    """The experiment id that a recording left unmarked, if there is one (rule `experiment-id`)."""
    numbers = {number for text in strings(record) for number in _CLOCK.findall(text)}
    return numbers.pop() if len(numbers) == 1 else None


def strings(value: object) -> Iterator[str]:
    """Every text in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from strings(key)
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)
    elif isinstance(value, ShellSafeArg):
        yield value.shell


class Referring(str):
    """A text of ours with references in it: equal to the texts that they may be resolved to (rule `references`)."""

    __slots__ = ("_pattern",)

    def __new__(cls, text: str, references: Sequence[Reference]) -> Referring:
        self = super().__new__(cls, text)
        resolved = {re.escape(reference.token): _resolved(reference) for reference in references}
        self._pattern = re.compile(
            re.sub("|".join(map(re.escape, resolved)), lambda match: resolved[match.group()], re.escape(text)),
            re.DOTALL,
        )
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self._pattern.fullmatch(other) is not None

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()


def _resolved(reference: Reference) -> str:
    """What the reference may stand for, as a regular expression."""
    if reference.kind == "tensorboard":
        return f"projects/[^/]+/locations/us-central1/tensorboards/{re.escape(reference.name)}"
    return "[^/]+"


def referring(value: Any, references: Sequence[Reference]) -> Any:
    """The value with every text that holds one of the references as a `Referring`."""
    if isinstance(value, str):
        return Referring(value, references) if any(each.token in value for each in references) else value
    if isinstance(value, Mapping):
        return {key: referring(item, references) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(referring(item, references) for item in value)
    return value


def replaced(value: Any, texts: Mapping[str, str]) -> Any:
    """The value with every text of `texts` replaced, wherever it stands."""
    if isinstance(value, str):
        for old, new in texts.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, ShellSafeArg):
        return ShellSafeArg(replaced(value.shell, texts))
    if isinstance(value, Mapping):
        return {replaced(key, texts): replaced(item, texts) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(replaced(item, texts) for item in value)
    return value
