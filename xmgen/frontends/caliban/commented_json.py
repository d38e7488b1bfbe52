"""JSON with comments: `#` and `//` to the end of a line, as Caliban reads its files. Everything else is strict JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from xmgen.errors import InputError, Problem

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?:#|//)[^\n]*')


def loads(text: str, where: str) -> Any:
    """The value of a text; raises InputError with the line. where: how the user calls the text.

    Of a key that stands twice in an object the last value counts.
    """
    try:
        plain = _TOKEN.sub(_without_comment, text.removeprefix("\ufeff"))
        found = json.loads(plain, parse_constant=_refuse, parse_float=_number)
    except json.JSONDecodeError as error:
        hint = "comments begin with # or //; strings have double quotes; no comma follows the last item"
        message = f"is not JSON: {error.msg.lower()} (column {error.colno})"
        raise InputError(Problem(message, f"{where}:{error.lineno}", hint)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(Problem(f"is not JSON: {error}", where)) from None
    if problems := [*_no_texts(plain, where)]:
        raise InputError(*problems)
    return found


def _without_comment(match: re.Match[str]) -> str:
    token = match[0]
    # Blanks in its place, so that an error names the right column.
    return token if token.startswith('"') else " " * len(token)


def _no_texts(plain: str, where: str) -> Iterator[Problem]:
    """Texts that JSON can write and no program receive: not as an argument, and not in a file."""
    for match in _TOKEN.finditer(plain):
        # Without an escape it is what was read from a file already.
        if "\\u" not in match[0]:
            continue
        text = json.loads(match[0])
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            fault = "a NUL character" if "\0" in text else "half of a surrogate pair"
            line = plain.count("\n", 0, match.start()) + 1
            yield Problem(f"{match[0]} contains {fault}", f"{where}:{line}", "no program can receive it")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is larger than any number of a program")
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
