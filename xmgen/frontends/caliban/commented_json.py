"""JSON with comments: `#` and `//` to the end of a line, as Caliban reads its files. Everything else is strict JSON."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from xmgen.errors import InputError, Problem

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?:#|//)[^\n]*')


def loads(text: str, where: str) -> Any:
    """The value of a text; raises InputError with the line. where: how the user calls the text.

    Of a key that stands twice in an object the last value counts.
    """
    try:
        return json.loads(_TOKEN.sub(_without_comment, text.removeprefix("\ufeff")), parse_constant=_refuse)
    except json.JSONDecodeError as error:
        hint = "comments begin with # or //; strings have double quotes; no comma follows the last item"
        message = f"is not JSON: {error.msg.lower()} (column {error.colno})"
        raise InputError(Problem(message, f"{where}:{error.lineno}", hint)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(Problem(f"is not JSON: {error}", where)) from None


def _without_comment(match: re.Match[str]) -> str:
    token = match[0]
    # Blanks in its place, so that an error names the right column.
    return token if token.startswith('"') else " " * len(token)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
