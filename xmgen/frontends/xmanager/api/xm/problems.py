"""Mistakes in a launch script: reported without a traceback, and still of the type XManager raises for them."""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xmgen import __file__ as _xmgen_file
from xmgen.errors import InputError, Problem
from xmgen.frontends.xmanager import recording

_NOT_THE_USERS = (str(Path(_xmgen_file).resolve().parent) + os.sep,)
_LIBRARY = tuple({str(Path(sysconfig.get_path(name)).resolve()) + os.sep for name in ("stdlib", "purelib", "platlib")})


_ADDRESS = re.compile(r" at 0x[0-9a-f]+>")


class InvalidValue(InputError, ValueError):
    """A value that XManager refuses with ValueError."""


class UnknownName(InputError, KeyError):
    """A name that XManager refuses with KeyError."""

    # KeyError would show the representation of the text.
    __str__ = Exception.__str__


class UnsupportedType(InputError, TypeError):
    """An object that XManager refuses with TypeError."""


class NotAtCompileTime(InputError, NotImplementedError):
    """A call whose answer exists only while the experiment runs."""


def here() -> str:
    """`launcher.py:40`: the line of the launch script that is being executed; empty when there is none.

    The script's own frame wins; else the innermost frame that is neither ours nor a library's.
    """
    active = recording.current()
    script = active.script_name
    frame = inspect.currentframe()
    # A sweep asks for each of its trials: first what is usual.
    while frame is not None and frame.f_code.co_filename != script:
        frame = frame.f_back
    if script is not None and frame is not None:
        return active.place(script, frame.f_lineno)
    outside = ""
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if script is not None and _real(name) == script:
            return active.place(script, frame.f_lineno)
        if not outside and not name.startswith((*_NOT_THE_USERS, *_LIBRARY, "<")):
            outside = active.place(name, frame.f_lineno)
        frame = frame.f_back
    return outside


@functools.lru_cache(maxsize=1024)
def _real(path: str) -> str:
    return os.path.realpath(path)


def invalid(message: str, hint: str = "") -> InvalidValue:
    return InvalidValue(Problem(message, where=here(), hint=hint))


def unknown(message: str, hint: str = "") -> UnknownName:
    return UnknownName(Problem(message, where=here(), hint=hint))


def unsupported(message: str, hint: str = "") -> UnsupportedType:
    return UnsupportedType(Problem(message, where=here(), hint=hint))


def of_type(*kinds: type, optional: bool = False) -> Callable[[Any, Any, Any], None]:
    """An attrs validator: launch scripts are not type-checked, and a wrong type would only fail later, elsewhere.

    A truth value is a number for Python only, and no number is one that is not finite.
    """
    wanted = " or ".join(_WORDS.get(kind, f"a {kind.__name__}") for kind in kinds if kinds != AMOUNT or kind is float)
    wanted += " or None" if optional else ""
    numbers = bool not in kinds

    def check(instance: object, attribute: Any, value: object) -> None:
        if value is None and optional:
            return
        # First what is usual: a sweep makes an executor for each of its trials.
        if not isinstance(value, kinds) or (numbers and isinstance(value, bool | float) and not _is_number(value)):
            raise unsupported(f"{type(instance).__name__}.{attribute.name} must be {wanted}, got {_shown(value)}")

    return check


AMOUNT = (int, float)
"""The types of an amount, for `of_type`."""
_WORDS = {str: "a text", bool: "True or False", int: "a whole number", float: "a number"}


def _is_number(value: float) -> bool:
    return not isinstance(value, bool) and math.isfinite(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def repeatable(value: object, text: str) -> str:
    """`text`, as which `value` is an argument. Raises for a value that the next run of the script gives another one."""
    if isinstance(value, str | int | float):
        return text
    if isinstance(value, set | frozenset):
        raise unsupported(
            "a set has no order: it would be another argument in every run", hint="sorted(…) gives it one"
        )
    if _ADDRESS.search(text):
        raise unsupported(f"{text} would be another argument in every run", hint="pass a text that says what is meant")
    return text


def refuse(call: str, instead: str) -> NotAtCompileTime:
    """The error for `call`, to be raised. It is noted in the recording too: a script that catches it still fails."""
    problem = Problem(f"{call} has no answer at compile time: nothing runs yet", where=here(), hint=instead)
    recording.current().note(problem)
    return NotAtCompileTime(problem)
