"""A stack's resources as data: what the program declares, in Pulumi's terms.

The executors make the list, and everything else that knows a stack is a view of it: the program, `resources.yaml`, the
summary. An input is a literal or one of the few types below; keys are camelCase, as providers have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast


@dataclass(frozen=True, slots=True)
class Variable:
    """A value that the program has under a name. plain: a text while the program runs, not an output of Pulumi's."""

    name: str
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of the stack's configuration, such as `location` or `gcp:project`; `default` where it is not set."""

    name: str
    default: str = ""


@dataclass(frozen=True, slots=True)
class SecretSetting:
    """A value that is kept encrypted in the stack's configuration."""

    name: str


@dataclass(frozen=True, slots=True)
class Output:
    """A property of another resource, which the program has under the name `resource`: `masterAuth.clientKey`.

    An empty one means the resource itself.
    """

    resource: str
    property: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text made of others."""

    parts: tuple[str | Variable | Output | Setting, ...]


@dataclass(frozen=True, slots=True)
class Json:
    """A value as the text of its JSON."""

    value: Input


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a Boolean."""

    value: Variable


@dataclass(frozen=True, slots=True)
class Commented:
    """An input with the comment that stands above it. after: behind it, on its line."""

    value: Input
    why: str
    after: bool = False


Input = (
    None
    | bool
    | int
    | float
    | str
    | list["Input"]
    | dict[str, "Input"]
    | Variable
    | Setting
    | SecretSetting
    | Output
    | Text
    | Json
    | Not
    | Commented
)

Inputs = Mapping[str, Input]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Pulumi's resource options. Names are the program's variables; those of lists mean all in them.

    why: of the first option that is said, where it needs a reason.
    """

    parent: str = ""
    provider: str = ""
    depends_on: tuple[str, ...] = ()
    delete_before_replace: bool = False
    retain_on_delete: bool | Not = False
    ignore_changes: tuple[str, ...] = ()
    why: str = ""
    why_ignored: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """variable: its name in the program; several resources of one variable are a list, of which `key` names each.

    name:   the logical name. type: the token, as in Pulumi's state.
    over:   the values of a variable, for each of which there is one such resource: name and inputs use the variable.
    unless: the setting that takes its place. only_if: the setting by which it is wanted.
    why:    the comment above it.
    """

    variable: str
    name: str | Text | Variable
    type: str
    inputs: Inputs
    options: Options = field(default_factory=Options)
    key: str = ""
    over: tuple[str, tuple[str, ...]] | None = None
    unless: str = ""
    only_if: str = ""
    why: str = ""

    def expanded(self) -> Iterator[Resource]:
        """The resource, or one for each value of `over`."""
        if self.over is None:
            yield self
            return
        loop, values = self.over
        for value in values:
            yield replace(
                self,
                key=value,
                name=_text(_filled(self.name, loop, value)),
                inputs=cast("Inputs", _filled(dict(self.inputs), loop, value)),
                over=None,
            )


SettingType = Literal["string", "boolean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationKey:
    """What the program reads of the stack's configuration. required: whether nothing runs without it."""

    type: SettingType = "string"
    secret: bool = False
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Workloads:
    """What runs: one resource for each document of a file."""

    type: str
    manifests: str
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """All that a stack's program declares.

    runs:      where its work units run; `cluster` for a stack that is but a cluster.
    cluster:   whose cluster it is, as `--cluster` takes it; empty where there is none.
    variables: values that several resources use.
    """

    runs: str
    cluster: str = ""
    configuration: Mapping[str, ConfigurationKey] = field(default_factory=dict[str, ConfigurationKey])
    variables: Inputs = field(default_factory=dict[str, Input])
    resources: tuple[Resource, ...] = ()
    workloads: Workloads | None = None

    def of(self, variable: str) -> list[Resource]:
        return [resource for resource in self.resources if resource.variable == variable]


def _filled(value: Input, loop: str, with_: str) -> Input:
    match value:
        case Variable(name=name) if name == loop:
            return with_
        case Text(parts=parts):
            return _joined(tuple(with_ if part == Variable(loop) else part for part in parts))
        case list():
            return [_filled(item, loop, with_) for item in value]
        case dict():
            return {key: _filled(item, loop, with_) for key, item in value.items()}
        case Commented(value=inner):
            return replace(value, value=_filled(inner, loop, with_))
        case _:
            return value


def _joined(parts: tuple[str | Variable | Output | Setting, ...]) -> Input:
    if all(isinstance(part, str) for part in parts):
        return "".join(cast("tuple[str, ...]", parts))
    return Text(parts)


def _text(value: Input) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a logical name is a text, not {value!r}")
    return value
