"""What a launch script raises, as the user's own error: the traceback from the script's frame on, without ours."""

from __future__ import annotations

import os
import sysconfig
import traceback
from dataclasses import replace
from pathlib import Path

from xmgen import __file__ as _xmgen_file
from xmgen.errors import InputError, Problem, XmgenError
from xmgen.frontends.xmanager import api_mistakes

_OURS = Path(_xmgen_file).resolve().parent
_STDLIB = Path(sysconfig.get_path("stdlib")).resolve()
_MACHINERY = (
    _OURS,
    *(_STDLIB / name for name in ("asyncio", "concurrent", "contextlib.py", "runpy.py", "threading.py")),
)


def syntax_error(error: SyntaxError, place: str) -> InputError:
    """`place`: the script's name for the user. Shows the line and a caret below it, where Python knows them."""
    where = f"{place}:{error.lineno}" if error.lineno else place
    text = (error.text or "").rstrip("\n")
    shown = text.lstrip()
    caret = " " * max((error.offset or 1) - 1 - (len(text) - len(shown)), 0) + "^"
    return InputError(Problem(f"syntax error: {error.msg}", where=where, hint=f"{shown}\n  {caret}" if shown else ""))


def raised(error: BaseException, script: Path, place: str) -> XmgenError:
    """The error to show for an exception that left the script; our own errors as they are, with a place."""
    if isinstance(error, XmgenError):
        return _placed(error, script, place)
    if isinstance(error, SyntaxError) and error.filename:
        # Of a module that the script imports, beside it or below.
        return syntax_error(error, Path(os.path.relpath(error.filename, script.parent)).as_posix())
    line = _line(error, script)
    where = f"{place}:{line}" if line else place
    if isinstance(error, SystemExit):
        reason = f"status {error.code}" if isinstance(error.code, int) else str(error.code)
        return InputError(Problem(f"the launch script ended itself: {reason}", where=where))
    if mistake := api_mistakes.explained(error):
        return InputError(Problem(mistake[0], where=where, hint=mistake[1]))
    summary = "".join(traceback.format_exception_only(error)).strip()
    # What was raised ends the traceback as well, and has been said by then.
    trace = _traceback(error, script).removesuffix(f"\n{summary}")
    return InputError(Problem(f"the launch script raised {summary}", where=where, hint=trace))


def _placed(error: XmgenError, script: Path, place: str) -> XmgenError:
    """Give a problem without a place the script's line that led to it."""
    line = _line(error, script)
    return at(error, f"{place}:{line}" if line else place)


def at(error: XmgenError, place: str) -> XmgenError:
    """The error with `place` for each problem that has none."""
    if all(problem.where for problem in error.problems):
        return error
    kind = InputError if isinstance(error, InputError) else type(error)
    return kind(*(problem if problem.where else replace(problem, where=place) for problem in error.problems))


def _line(error: BaseException, script: Path) -> int | None:
    """The innermost line of the script that was being executed."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(script)]
    return lines[-1] if lines else None


def _traceback(error: BaseException, script: Path) -> str:
    shown = traceback.TracebackException.from_exception(error)
    _trim(shown, script, seen=set())
    return "".join(shown.format()).rstrip()


def _trim(shown: traceback.TracebackException, script: Path, seen: set[int]) -> None:
    """Drop the frames outside the script's, and of what it calls those that only carry a coroutine."""
    if id(shown) in seen:
        return
    seen.add(id(shown))
    frames = list(shown.stack)
    first = next((index for index, frame in enumerate(frames) if frame.filename == str(script)), 0)
    shown.stack = traceback.StackSummary.from_list(
        [frame for frame in frames[first:] if not _is_machinery(frame.filename)]
    )
    for inner in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        if inner is not None:
            _trim(inner, script, seen)


def _is_machinery(filename: str) -> bool:
    path = Path(filename)
    return any(path.is_relative_to(root) for root in _MACHINERY)
