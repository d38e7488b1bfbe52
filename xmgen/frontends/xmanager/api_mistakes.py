"""Slips of the pen in calls of the launch API: what a script's exception is about, and the name that was meant."""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from xmgen import __file__ as _xmgen_file
from xmgen.errors import did_you_mean
from xmgen.frontends.xmanager import aliasing, api

_CALL = re.compile(r"(?P<name>[\w.]+)\(\) (?P<fault>.+?)(?:\. Did you mean .*)?$")
_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
_ABOUT_ARGUMENTS = re.compile(
    r"got an unexpected keyword|missing \d+ required|takes .* but .* given|got multiple values"
)
_NO_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def explained(error: BaseException) -> tuple[str, str] | None:
    """A message and a hint for an exception that a wrong name or argument of the launch API led to; else None."""
    match error:
        case TypeError():
            frame = _innermost(error)
            return _of_call(str(error), frame.f_globals) if frame is not None and _is_users(frame) else None
        case AttributeError():
            return _of_attribute(error.obj, error.name)
        case ModuleNotFoundError() if (error.name or "").startswith(f"{aliasing.ROOT}."):
            return _no_module(str(error.name))
        case ImportError() if found := _NO_NAME.match(str(error)):
            if found[2] == aliasing.ROOT:
                return _no_module(f"{found[2]}.{found[1]}")
            return _of_attribute(sys.modules.get(aliasing.ours(found[2]) or found[2]), found[1])
        case _:
            return None


def _no_module(name: str) -> tuple[str, str]:
    known = [f"{aliasing.ROOT}.{module.name}" for module in pkgutil.iter_modules(api.__path__)]
    return f"there is no module {name}", did_you_mean(name, known)


def _innermost(error: BaseException) -> FrameType | None:
    """Where it was raised: of arguments that do not fit where the call is, before anything of what is called ran."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[-1] if frames else None


def _is_users(frame: FrameType) -> bool:
    return not Path(frame.f_code.co_filename).is_relative_to(Path(_xmgen_file).parent)


def _of_call(text: str, names: Mapping[str, object]) -> tuple[str, str] | None:
    """names: those of the module that calls, which may have a class of its own of the same name."""
    found = _CALL.match(text)
    if found is None or not _ABOUT_ARGUMENTS.match(found["fault"]):
        return None
    own = names.get(found["name"].partition(".")[0])
    functions = list(_functions(found["name"]))
    if not functions or (own is not None and not _is_ours(getattr(own, "__module__", ""))):
        return None
    taken = sorted({name for function in functions for name in _parameters(function)})
    called = re.sub(r"\.__(init|new)__$", "", found["name"])
    if word := _UNEXPECTED.match(found["fault"]):
        return f"{called} takes no argument {word[1]!r}", did_you_mean(word[1], taken)
    return f"{called}: {found['fault']}", f"it takes {', '.join(taken)}"


def _of_attribute(obj: object, name: str | None) -> tuple[str, str] | None:
    if name is None:
        return None
    if isinstance(obj, ModuleType):
        if not _is_ours(obj.__name__):
            return None
        what = f"{aliasing.ROOT}.{obj.__name__.removeprefix(f'{aliasing.PACKAGE}.')}"
    else:
        kind = obj if isinstance(obj, type) else type(obj)
        if not _is_ours(kind.__module__):
            return None
        what = kind.__name__
    known = [each for each in dir(obj) if not each.startswith("_")]
    hint = did_you_mean(name, known)
    return f"{what} has no {name!r}", hint if hint.startswith("did") else "docs/xmanager.md says what there is"


def _is_ours(module: str) -> bool:
    return module == aliasing.PACKAGE or module.startswith(f"{aliasing.PACKAGE}.")


def _functions(qualified_name: str) -> Iterator[Callable[..., Any]]:
    """Those of the launch API that Python calls so in a message, such as `Job.__init__`."""
    first, *rest = qualified_name.split(".")
    for name, module in list(sys.modules.items()):
        value: Any = vars(module).get(first) if _is_ours(name) else None
        if not _is_ours(getattr(value, "__module__", "") or ""):
            continue
        for part in rest:
            value = getattr(value, part, None)
        if callable(value):
            yield value


def _parameters(function: Callable[..., Any]) -> list[str]:
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    own = ("self", "cls", "_cls")
    return [name for name, each in signature.parameters.items() if each.kind in named and name not in own]
