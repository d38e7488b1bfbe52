"""Checks inputs against pulumi_gcp's own argument types, nested objects included.

The real provider does that by its schema, and answers with the same kind of message.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from xmgen.provider.wire import UNKNOWN


def problems(token: str, inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Property path and what is wrong with it. A type that pulumi_gcp does not have is one problem.

    Raises ImportError when pulumi_gcp is not installed.
    """
    package, path, name = token.split(":")
    top = f"pulumi_{package.replace('-', '_')}"
    module = path.partition("/")[0]
    try:
        found = importlib.import_module(top if module == "index" else f"{top}.{module}")
    except ModuleNotFoundError as error:
        if error.name == top:
            raise
        return [("", f"there is no resource {token}")]
    arguments = getattr(found, f"{name}Args", None)
    if arguments is None:
        return [("", f"there is no resource {token}")]
    return list(_of_object("", dict(inputs), arguments))


@functools.cache
def _required(arguments: type) -> tuple[str, ...]:
    """The wire's names of what has to be given."""
    from pulumi import _types  # pyright: ignore[reportPrivateUsage]

    names: Mapping[str, str] = _types.input_type_py_to_pulumi_names(arguments)
    return tuple(
        names.get(key, key)
        for key, parameter in inspect.signature(arguments.__init__).parameters.items()
        if key not in ("self", "__self__") and parameter.default is inspect.Parameter.empty
    )


def _of_object(path: str, value: Any, arguments: type) -> Iterator[tuple[str, str]]:
    from pulumi import _types  # pyright: ignore[reportPrivateUsage]

    if value == UNKNOWN:
        return
    if not isinstance(value, Mapping):
        yield path, f"expected an object, got {value!r}"
        return
    given = cast("Mapping[str, Any]", value)
    types: Mapping[str, Any] = _types.input_type_types(arguments)
    for key, item in given.items():
        if key.startswith("__"):
            continue
        if key not in types:
            yield _below(path, key), f"Unsupported argument. An argument named {key!r} is not expected here"
        else:
            yield from _of_value(_below(path, key), item, types[key])
    for key in _required(arguments):
        if given.get(key) is None:
            yield _below(path, key), f"Missing required argument. The argument {key!r} is required"


def _of_value(path: str, value: Any, annotation: Any) -> Iterator[tuple[str, str]]:
    from pulumi import _types  # pyright: ignore[reportPrivateUsage]

    if value is None or value == UNKNOWN:
        return
    # The types of inputs hold awaitables and outputs as well; what is left are those of the wire.
    plain: Any = _types.unwrap_type(annotation)
    origin: Any = typing.get_origin(plain)
    if origin is not None and issubclass(origin, Sequence):
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
            yield path, f"expected a list, got {value!r}"
            return
        for index, item in enumerate(cast("Sequence[Any]", value)):
            yield from _of_value(f"{path}[{index}]", item, typing.get_args(plain)[0])
    elif origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            yield path, f"expected an object, got {value!r}"
            return
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from _of_value(_below(path, key), item, typing.get_args(plain)[1])
    elif _types.is_input_type(plain):
        yield from _of_object(path, value, plain)
    elif plain is int or plain is float:
        if isinstance(value, bool) or not isinstance(value, int | float) or (plain is int and value != int(value)):
            yield path, f"a number is required, got {value!r}"
    elif plain in (str, bool) and not isinstance(value, plain):
        yield path, f"a {'text' if plain is str else 'boolean'} is required, got {value!r}"


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
