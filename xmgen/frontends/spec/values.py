"""Values of arguments and environment variables in an experiment.yaml.

They mean what they mean in a launch script: in a mapping `true` is `--flag`, `false` is `--noflag`, null drops the
argument, a list repeats it, a number prints as Python prints it. What would surprise is refused with the remedy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Discriminator, Field, PlainValidator, Tag, ValidationInfo, WithJsonSchema

from xmgen import rules
from xmgen.executors.limits import PORT
from xmgen.experiment import Reference
from xmgen.frontends.spec.base import NAME_PATTERN, Model, error
from xmgen.frontends.spec.context import Context

_HOST = re.compile(rf"({NAME_PATTERN.strip('^$')})(:[0-9]{{1,5}})?")
ENV_NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_]*$"


@dataclass(frozen=True, slots=True)
class Shell:
    """`{shell: text}`, XManager's ShellSafeArg: a shell in the job's environment expands the text."""

    text: str


@dataclass(frozen=True, slots=True)
class Address:
    """`{address: ps:2222}`: where a job finds others of its group. hosts: names of jobs, and ports with their colons;
    several are separated by commas in the text that the program gets."""

    hosts: tuple[tuple[str, str], ...]


Item = str | int | float | bool | Shell | Address
Arg = Item | list[Item] | None
Variable = str | Address


def _text(value: str) -> str:
    if "\0" in value:
        raise error("holds a NUL character, which no argument or variable can")
    return value


def _item(value: object) -> Item:
    match value:
        case str():
            return _text(value)
        case bool() | int() | float():
            return value
        case dict():
            mapping = cast("dict[str, object]", value)
            if set(mapping) == {"shell"} and isinstance(text := mapping["shell"], str):
                return Shell(_text(text))
            if set(mapping) == {"address"}:
                return _address(mapping["address"])
            raise error(
                "a mapping cannot be an argument",
                "only `{shell: text}` and `{address: job}` can; quote it if the text is meant",
            )
        case list():
            raise error("a list in a list cannot be an argument", "quote it if the text is meant")
        case _:
            raise error("null cannot stand in a list of values", "quote it if the text is meant: 'null'")


def _arg(value: object) -> Arg:
    if isinstance(value, list):
        return [_item(item) for item in cast("list[object]", value)]
    return None if value is None else _item(value)


def _token(value: object) -> Item:
    if isinstance(value, bool):
        shown = str(value).lower()
        raise error(f"{shown} cannot stand alone in a list of arguments", f"quote it if the text is meant: '{shown}'")
    return _item(value)


def _address(value: object) -> Address:
    listed = cast("list[object]", value) if isinstance(value, list) else [value]
    found = [_HOST.fullmatch(each) if isinstance(each, str) else None for each in listed]
    hosts = tuple((match[1], match[2] or "") for match in found if match is not None)
    if not hosts or len(hosts) < len(found):
        raise error(
            "an address is the name of a job of the group, and a port if need be", "such as `{address: ps:2222}`"
        )
    for _, port in hosts:
        if port and PORT.problem("", int(port[1:])):
            raise error(f"{port[1:]} is no port", f"from {PORT.least} to {PORT.most}, such as `{{address: ps:2222}}`")
    return Address(hosts)


def _variable(value: object, info: ValidationInfo) -> Variable:
    match value:
        case str():
            return _text(value)
        case dict() if set(cast("dict[str, object]", value)) == {"address"}:
            return _address(cast("dict[str, object]", value)["address"])
        case dict():
            return _secret(cast("dict[str, object]", value), info)
        case bool() | None:
            shown = "null" if value is None else str(value).lower()
            raise error(
                f"an environment variable is a text or a number, not {shown}",
                f"quote it if the text is meant: '{shown}'",
            )
        case int() | float():
            return str(value)
        case _:
            raise error("an environment variable is a text, a number, `{secret: name}` or `{address: job}`")


def _secret(value: dict[str, object], info: ValidationInfo) -> str:
    name = value.get("secret")
    if set(value) != {"secret"} or not isinstance(name, str) or not name:
        raise error("a mapping cannot be an environment variable", "only `{secret: name}` and `{address: job}` can")
    if rule := rules.not_a_secret(name):
        raise error(f"{name!r} cannot name a secret", rule)
    reference = Reference(kind="secret", name=name)
    if isinstance(info.context, Context):
        info.context.references[reference] = None
    return reference.token


def _arg_name(name: str) -> str:
    if not name:
        raise error("an argument's name is empty")
    return _text(name)


def _variable_name(name: str) -> str:
    if not re.fullmatch(ENV_NAME_PATTERN, name):
        raise error(f"{name!r} cannot name an environment variable", "letters, digits and _, no digit first")
    return name


_SHELL: dict[str, Any] = {
    "type": "object",
    "description": "A text that a shell in the job's environment expands. All other texts arrive as they are.",
    "properties": {"shell": {"type": "string"}},
    "required": ["shell"],
    "additionalProperties": False,
}
_SECRET: dict[str, Any] = {
    "type": "object",
    "description": "A secret of the stack's configuration: `xmgen up STACK --secret name` asks for its value.",
    "properties": {"secret": {"type": "string", "minLength": 1}},
    "required": ["secret"],
    "additionalProperties": False,
}
_ADDRESS: dict[str, Any] = {
    "type": "object",
    "description": "Where other jobs of the group are: `ps:2222`, or a list, which is joined by commas.",
    "properties": {
        "address": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
    },
    "required": ["address"],
    "additionalProperties": False,
}
_ITEM: dict[str, Any] = {"anyOf": [{"type": ["string", "number", "boolean"]}, _SHELL, _ADDRESS]}

ArgName = Annotated[str, AfterValidator(_arg_name), Field(min_length=1)]
ArgValue = Annotated[
    Arg,
    PlainValidator(_arg),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["string", "number", "boolean", "null"]},
                _SHELL,
                _ADDRESS,
                {"type": "array", "items": _ITEM},
            ]
        }
    ),
]
Token = Annotated[
    Item, PlainValidator(_token), WithJsonSchema({"anyOf": [{"type": ["string", "number"]}, _SHELL, _ADDRESS]})
]
EnvName = Annotated[
    str, AfterValidator(_variable_name), WithJsonSchema({"type": "string", "pattern": ENV_NAME_PATTERN})
]
EnvValue = Annotated[
    Variable,
    PlainValidator(_variable),
    WithJsonSchema({"anyOf": [{"type": ["string", "number"]}, _SECRET, _ADDRESS]}),
]
Args = Annotated[
    Annotated[dict[ArgName, ArgValue], Tag("<mapping>")] | Annotated[list[Token], Tag("<list>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list) else "<mapping>"),
]
EnvVars = dict[EnvName, EnvValue]


def addresses(value: object) -> Iterator[Address]:
    """Those that stand anywhere in it."""
    match value:
        case Address():
            yield value
        case dict():
            yield from addresses(list(cast("dict[str, object]", value).values()))
        case list():
            for item in cast("list[object]", value):
                yield from addresses(item)
        case Model():
            yield from addresses([getattr(value, name) for name in value.model_fields_set])
        case _:
            return
