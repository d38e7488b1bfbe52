"""`import xmanager` means xmgen while a launch script runs.

XManager is a namespace package: one of ours under its name would mix with an installed one. So the name stands for our
modules for the time of a run only, and whatever was imported under it before comes back afterwards.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Generator, Sequence
from types import ModuleType

ROOT = "xmanager"

PACKAGE = "xmgen.frontends.xmanager.api"
"""Whose modules are called as XManager's are."""

_lock = threading.Lock()
_users = 0
_set_aside: dict[str, ModuleType] = {}


@contextlib.contextmanager
def aliased() -> Generator[None]:
    """Inside, `xmanager` and everything below it is ours."""
    _acquire()
    try:
        yield
    finally:
        _release()


def ours(name: str) -> str | None:
    """Our module for XManager's module `name`; None when there is none."""
    candidate = f"{PACKAGE}.{name.removeprefix(f'{ROOT}.')}"
    try:
        return candidate if importlib.util.find_spec(candidate) else None
    except ModuleNotFoundError:
        return None


class _Loader(importlib.abc.Loader):
    """Answers with our module itself: `xmanager.xm.Job` is our `Job`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._own_spec: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        del spec
        module = importlib.import_module(self._name)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # It has run already. The import system has given it the alias's spec; it gets its own back.
        module.__spec__ = self._own_spec


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if not fullname.startswith(f"{ROOT}."):
            return None
        name = ours(fullname)
        return importlib.util.spec_from_loader(fullname, _Loader(name)) if name else None


_finder = _Finder()


def _acquire() -> None:
    global _users
    with _lock:
        _users += 1
        if _users > 1:
            return
        _set_aside.update(_forget())
        root = ModuleType(ROOT, "XManager's modules, as xmgen provides them.")
        root.__path__ = []  # a package, found nowhere else
        sys.modules[ROOT] = root
        sys.meta_path.insert(0, _finder)


def _release() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users > 0:
            return
        sys.meta_path.remove(_finder)
        _forget()
        sys.modules.update(_set_aside)
        _set_aside.clear()


def _forget() -> dict[str, ModuleType]:
    """Takes everything under XManager's name out of the imported modules."""
    names = [name for name in sys.modules if name == ROOT or name.startswith(f"{ROOT}.")]
    return {name: sys.modules.pop(name) for name in names}
