"""Pulumi's values on the wire: protobuf structs to plain Python and back, secrets and unknowns included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from google.protobuf import struct_pb2

from xmgen.pulumi_values import SECRET, SIGNATURE, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]
Properties = dict[str, Value]

_EXACT = 2**53


def properties(struct: struct_pb2.Struct) -> Properties:
    """The struct as plain values, secrets still wrapped. Whole numbers become int: the wire has only floats."""
    return {key: _value(value) for key, value in struct.fields.items()}


def _value(value: struct_pb2.Value) -> Value:
    match value.WhichOneof("kind"):
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() and abs(number) <= _EXACT else number
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return properties(value.struct_value)
        case "list_value":
            return [_value(item) for item in value.list_value.values]
        case _:
            return None


def struct(values: Mapping[str, Value]) -> struct_pb2.Struct:
    result = struct_pb2.Struct()
    for key, value in values.items():
        _set(result.fields[key], value)
    return result


def _set(target: struct_pb2.Value, value: Value) -> None:
    # bool before int: it is one.
    match value:
        case None:
            target.null_value = struct_pb2.NULL_VALUE
        case bool():
            target.bool_value = value
        case int() | float():
            target.number_value = value
        case str():
            target.string_value = value
        case list():
            target.list_value.SetInParent()
            for item in value:
                _set(target.list_value.values.add(), item)
        case dict():
            target.struct_value.SetInParent()
            for key, item in value.items():
                _set(target.struct_value.fields[key], item)


def plain(value: Value) -> Value:
    """The value with every secret unwrapped."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET:
            return plain(value.get("value"))
        return {key: plain(item) for key, item in value.items()}
    return value


def secrets(value: Value, *, inside: bool = False) -> Iterator[str]:
    """The texts that are secret."""
    if isinstance(value, str):
        if inside:
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from secrets(item, inside=inside)
    elif isinstance(value, dict):
        inside = inside or value.get(SIGNATURE) == SECRET
        for key, item in value.items():
            if key != SIGNATURE:
                yield from secrets(item, inside=inside)


def has_unknown(value: Value) -> bool:
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    return value == UNKNOWN


def masked(text: str, hidden: Iterable[str]) -> str:
    """The text with secrets blotted out. Very short ones are left: they would blot out everything."""
    for secret in sorted(hidden, key=len, reverse=True):
        if len(secret) >= 4:
            text = text.replace(secret, "[secret]")
    return text
