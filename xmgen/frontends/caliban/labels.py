"""Labels of Google Cloud, made from the user's labels and from the arguments of a job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xmgen.errors import InputError, Problem

LABEL_LENGTH = 63

_FOREIGN = re.compile(r"[^a-z0-9_-]")
_NEGATIVE_NUMBER = re.compile(r"-(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)


def key_label(key: str | None) -> str:
    """A label's key: as a value, and a letter first. Empty when nothing of the text is left."""
    cleaned = _clean(key)
    if cleaned and not cleaned[0].isalpha():
        cleaned = f"k{cleaned}"
    return cleaned[:LABEL_LENGTH]


def value_label(value: str | None) -> str:
    """A label's value: at most 63 lower-case letters, digits, `_` and `-`; a full stop becomes `_`."""
    return _clean(value)[:LABEL_LENGTH]


def sanitize_labels(pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """Labels that Google Cloud takes; of equal keys the last counts, and what leaves no key is left out."""
    items = cast("Mapping[str, str]", pairs).items() if isinstance(pairs, Mapping) else pairs
    return {label: value_label(value) for key, value in items if (label := key_label(key))}


def script_args_to_labels(args: Sequence[str] | None) -> dict[str, str]:
    """A label per flag: its value, or empty for a flag without one. Arguments that belong to no flag are left out."""
    labels: dict[str, str] = {}
    args = list(args or ())
    for position, argument in enumerate(args):
        if not _is_flag(argument):
            continue
        name, equals, value = argument.partition("=")
        if not equals:
            following = args[position + 1 : position + 2]
            value = following[0] if following and not _is_flag(following[0]) else ""
        if label := key_label(name):
            labels[label] = value_label(value)
    return labels


def parse_label(text: str) -> tuple[str, str]:
    """`key=value`; the value may hold further equals signs, and keeps its blanks. Raises InputError."""
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(Problem(f"{text!r} is no label", "--label", "write KEY=VALUE"))
    return key.strip(), value


def _clean(text: str | None) -> str:
    return _FOREIGN.sub("", (text or "").replace(".", "_").lower()).lstrip("-")


def _is_flag(argument: str) -> bool:
    return argument.startswith("-") and not _NEGATIVE_NUMBER.fullmatch(argument)
