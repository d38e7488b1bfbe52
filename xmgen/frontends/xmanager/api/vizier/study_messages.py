"""Stands in for Vertex's message classes where they are not installed.

A script describes its Vizier study in them before it launches it. Without them the user would be told to install a
library, and only then that a stack cannot contain such a study.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import types
from collections.abc import Generator
from typing import Any

from xmgen.frontends.xmanager.api.xm import problems

MODULES = ("google.cloud.aiplatform_v1", "google.cloud.aiplatform_v1beta1")


@contextlib.contextmanager
def where_absent() -> Generator[None]:
    """Make `MODULES` importable for the time of a script, those that are not installed."""
    absent = [name for name in MODULES if not _is_installed(name)]
    packages = [name for name in ("google", "google.cloud") if absent and not _is_installed(name)]
    for name in packages:
        package = types.ModuleType(name)
        package.__path__ = []
        sys.modules[name] = package
    for name in absent:
        sys.modules[name] = _Messages(name)
    try:
        yield
    finally:
        for name in [*absent, *packages]:
            sys.modules.pop(name, None)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class _MessageType(type):
    """A class whose attributes are such classes too: nested messages, and the members of enums."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _MessageType(name, (_Message,), {})


class _Message(metaclass=_MessageType):
    """Keeps what it is made of; nothing reads it."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        self.args = args
        self.fields = fields


class _Messages(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith("Client"):
            raise problems.refuse(
                f"{self.__name__}.{name}", "compiling talks to no cloud: do it in a job of the experiment"
            )
        return getattr(_Message, name)
