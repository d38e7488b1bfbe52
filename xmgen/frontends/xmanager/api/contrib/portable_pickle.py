"""Pickles a launch script's function for a container that has XManager installed, and not xmgen."""

from __future__ import annotations

import contextlib
import importlib
import io
import pickle
import sys
import types
from collections.abc import Generator
from pathlib import Path
from typing import Any

from xmgen.frontends.xmanager import aliasing
from xmgen.frontends.xmanager.api import xm, xm_local
from xmgen.frontends.xmanager.api.xm import problems

_PUBLIC = (xm, xm_local)


def dumps(value: tuple[Any, ...], what: str) -> bytes:
    """The value as a pickle: functions of the script by value, our launch API by XManager's names.

    what: the value's name in errors. Raises InputError when it cannot be pickled.
    """
    try:
        cloudpickle: Any = importlib.import_module("cloudpickle")
    except ImportError:
        raise problems.invalid(f"{what} needs the package cloudpickle", "pip install cloudpickle") from None

    pickler: Any = cloudpickle.Pickler

    class Pickler(pickler):
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, types.CodeType):
                # The path on this machine would be part of the image, and of its tag.
                named = obj.replace(co_filename=Path(obj.co_filename).name)
                return self.dispatch_table[types.CodeType](named)
            return _public(obj) or pickler.reducer_override(self, obj)

    buffer = io.BytesIO()
    try:
        with _by_value(cloudpickle, sys.modules.get(_module(value))):
            Pickler(buffer, protocol=5).dump(value)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise problems.invalid(
            f"{what} cannot be packaged: {error}", "let it refer only to values, functions and modules"
        ) from error
    return buffer.getvalue()


@contextlib.contextmanager
def _by_value(cloudpickle: Any, module: types.ModuleType | None) -> Generator[None]:
    """Have what the module defines pickled by value. Its path, which goes with it, is this machine's."""
    if module is None:
        yield
        return
    file = module.__file__
    cloudpickle.register_pickle_by_value(module)
    module.__file__ = Path(file or "").name
    try:
        yield
    finally:
        module.__file__ = file
        cloudpickle.unregister_pickle_by_value(module)


def _module(value: tuple[Any, ...]) -> str:
    """The module of the first function among the values, which the container cannot import."""
    function = next((item for item in value if isinstance(item, types.FunctionType)), None)
    return function.__module__ if function else ""


def _public(obj: Any) -> tuple[Any, ...] | None:
    """How the container gets an object of our launch API; None for everything else."""
    if isinstance(obj, types.ModuleType):
        name = _public_module(obj.__name__)
        return (importlib.import_module, (name,)) if name else None
    if isinstance(obj, type | types.FunctionType) and obj.__module__.startswith("xmgen."):
        for package in _PUBLIC:
            if getattr(package, obj.__name__, None) is obj:
                return getattr, (package, obj.__name__)
        module = _public_module(obj.__module__)
        if module and "<locals>" not in obj.__qualname__:
            return getattr, (sys.modules[obj.__module__], obj.__name__)
    return None


def _public_module(name: str) -> str | None:
    within = f"{aliasing.PACKAGE}."
    return f"{aliasing.ROOT}.{name.removeprefix(within)}" if name.startswith(within) else None
