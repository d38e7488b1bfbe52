"""Labels by which frameworks that launch on a user's behalf name themselves."""

from __future__ import annotations

import contextvars
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from xmgen.frontends.xmanager.api.xm.problems import invalid, unsupported

F = TypeVar("F", bound=Callable[..., Any])

_active: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("xmgen_framework_labels", default=())


def framework_label(label: str) -> FrameworkLabel:
    """Names the framework for everything added inside: a `with` block, or a decorated function.

    Accepted and checked as XManager does; it has no effect on what is compiled.
    """
    return FrameworkLabel(label)


def get_active_framework_labels() -> list[str]:
    """The labels in force here, outermost first."""
    return list(_active.get())


class FrameworkLabel:
    """What `framework_label` returns: a context manager and a decorator."""

    def __init__(self, label: str) -> None:
        if not re.fullmatch("[a-zA-Z0-9_-]+", label):
            raise invalid(
                f"a framework label must be a non-empty text of letters, digits, underscores and hyphens, got {label!r}"
            )
        self._label = label
        self._tokens: list[contextvars.Token[tuple[str, ...]]] = []

    def __enter__(self) -> None:
        labels = _active.get()
        self._tokens.append(_active.set(labels if self._label in labels else (*labels, self._label)))

    def __exit__(self, *error: object) -> None:
        _active.reset(self._tokens.pop())

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise unsupported(
                f"framework_label cannot decorate the generator function {function.__qualname__!r}",
                hint="use it as a context manager inside the function",
            )
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def in_label(*args: Any, **kwargs: Any) -> Any:
                with FrameworkLabel(self._label):
                    return await function(*args, **kwargs)

            return cast(F, in_label)

        @functools.wraps(function)
        def labelled(*args: Any, **kwargs: Any) -> Any:
            with FrameworkLabel(self._label):
                return function(*args, **kwargs)

        return cast(F, labelled)
