"""A resource as the Python that declares it, as a person would write it. ruff lays the lines out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import assert_never

from xmgen.plan.resources import (
    Commented,
    Input,
    Json,
    Not,
    Options,
    Output,
    Resource,
    SecretSetting,
    Setting,
    Text,
    Variable,
)
from xmgen.templating import Code, one_line, python_literal

FREE_KEYS = frozenset({"annotations", "labels", "parameters", "requests", "resourceLabels", "selector", "stringData"})
"""Inputs whose keys are the user's own texts, not names of properties."""

_ENUMERATIONS = {"platforms": "docker_build.Platform"}
"""Inputs whose texts the SDK has as members of an enumeration: `linux/amd64` is `LINUX_AMD64`."""

_WIDTH = 120
"""Of a line of a comment, with its indentation."""


def declaration(resources: Sequence[Resource]) -> Code:
    """The statement that declares the resources of one variable: a resource, a list or a comprehension of some."""
    first = resources[0]
    lines = comment(first.why)
    if first.over is not None:
        lines.append(f"{first.variable} = {_comprehension(first)}")
    elif first.key:
        items = ",".join(_item(each) for each in resources)
        lines.append(f"{first.variable}{_annotation(resources)} = [{items},\n]")
    else:
        lines.append(f"{first.variable} = {constructor(first)}")
    return Code("\n".join(lines))


def constructor(resource: Resource) -> Code:
    """`gcp.storage.Bucket("name", location=region, …)`."""
    arguments = [_entry(f"{snake_case(name)}=", value, name, snake=True) for name, value in resource.inputs.items()]
    if options := _options(resource.options):
        arguments.append(options)
    return Code(f"{python_class(resource.type)}({_lines([expression(resource.name), *arguments])})")


def expression(value: Input, name: str = "", *, snake: bool = False) -> Code:
    """An input as Python. name: of the property that it is. snake: whether its keys are properties of the SDK's."""
    match value:
        case Variable(name=variable):
            text = variable
        case Output(resource=of, property=path):
            text = f"{_reference(of)}.{snake_case(path)}"
        case Setting():
            text = _setting(value)
        case SecretSetting():
            text = f"{_config(value.name)[0]}.require_secret({python_literal(_config(value.name)[1])})"
        case Text(parts=parts):
            text = _joined(parts)
        case Json(value=inner):
            text = f"pulumi.Output.json_dumps(\n{expression(inner)}\n)"
        case Not(value=inner):
            text = f"not {expression(inner)}"
        case Commented(value=inner):
            text = expression(inner, name, snake=snake)
        case list():
            text = _list(value, name, snake=snake)
        case dict():
            keys: Callable[[str], str] = snake_case if snake and name not in FREE_KEYS else str
            entries = [
                _entry(f"{python_literal(keys(key))}: ", item, key, snake=snake and name not in FREE_KEYS)
                for key, item in value.items()
            ]
            text = "{" + _lines(entries) + "}"
        case None | bool() | int() | float() | str():
            text = python_literal(value)
        case _:
            assert_never(value)
    return Code(text)


def comment_lines(resource: Resource) -> Code:
    """Why a resource is there, where its declaration stands further down."""
    return Code("\n".join(comment(resource.why)))


def indent_code(code: Code) -> Code:
    return Code(code.replace("\n", "\n    "))


def comment(why: str, *, indent: int = 0) -> list[str]:
    """The lines of a comment."""
    lines: list[str] = []
    for word in one_line(why).split():
        if lines and len(lines[-1]) + 1 + len(word) <= _WIDTH - indent:
            lines[-1] += f" {word}"
        else:
            lines.append(f"# {word}")
    return lines


def python_class(type_: str) -> str:
    """`gcp.container.Cluster` of `gcp:container/cluster:Cluster`."""
    package, module, name = type_.split(":")
    if package == "pulumi":
        return "Provider" if name == "xmgen" else f"{name}.Provider"
    if package == "xmgen":
        return name
    if package == "kubernetes":
        group, version = module.split("/")
        return f"kubernetes.{group.split('.')[0]}.{version}.{name}"
    folder = module.partition("/")[0]
    return f"{package.replace('-', '_')}.{name}" if folder == "index" else f"{package}.{folder}.{name}"


def snake_case(name: str) -> str:
    """`clusterIP` -> `cluster_ip`."""
    return re.sub(r"(?<=[a-z0-9])[A-Z]+", lambda letters: f"_{letters[0].lower()}", name)


def _annotation(resources: Sequence[Resource]) -> str:
    """A list of several kinds says what they have in common."""
    return ": list[pulumi.Resource]" if len({each.type for each in resources}) > 1 else ""


def _item(resource: Resource) -> str:
    return f"\n{constructor(resource)}"


def _comprehension(resource: Resource) -> str:
    assert resource.over is not None  # noqa: S101 — the caller asks
    loop, values = resource.over
    return f"[\n{constructor(resource)}\nfor {loop} in {python_literal(values)}\n]"


def _entry(before: str, value: Input, name: str, *, snake: bool) -> str:
    """`key: value` or `name=value`, with its comment."""
    text = f"{before}{expression(value, name, snake=snake)}"
    if not isinstance(value, Commented):
        return text
    if value.after:
        return f"{text},  # {one_line(value.why)}"
    return "\n".join([*comment(value.why, indent=4), text])


def _lines(entries: Iterable[str]) -> str:
    """One below the other, so that comments may stand between them. A comment behind an entry follows its comma."""
    text = ""
    for entry in entries:
        text += f"\n{entry}" + ("" if re.search(r",  # [^\n]*\Z", entry) else ",")
    # No comma at the end: ruff puts what fits on one line.
    return f"{text[:-1]}\n" if text.endswith(",") else f"{text}\n"


def _list(value: list[Input], name: str, *, snake: bool) -> str:
    if name in _ENUMERATIONS:
        members = [re.sub(r"\W", "_", item).upper() for item in value if isinstance(item, str)]
        return "[" + ", ".join(f"{_ENUMERATIONS[name]}.{member}" for member in members) + "]"
    return "[" + ", ".join(expression(item, snake=snake) for item in value) + "]"


def _joined(parts: Sequence[str | Variable | Output | Setting]) -> str:
    if all(isinstance(part, str) or (isinstance(part, Variable) and part.plain) for part in parts):
        return f"f{python_literal(''.join(map(_in_format, parts)))}"
    return f"pulumi.Output.concat({', '.join(expression(part) for part in parts)})"


def _in_format(part: str | Variable | Output | Setting) -> str:
    if isinstance(part, str):
        return part.replace("{", "{{").replace("}", "}}")
    return f"{{{expression(part)}}}"


def _setting(setting: Setting) -> str:
    config, key = _config(setting.name)
    if setting.default:
        return f"{config}.get({python_literal(key)}) or {python_literal(setting.default)}"
    return f"{config}.require({python_literal(key)})"


def _config(name: str) -> tuple[str, str]:
    """The program's expression for the configuration that a key is in, and the key in it."""
    namespace, separator, key = name.partition(":")
    return (f"pulumi.Config({python_literal(namespace)})", key) if separator else ("config", name)


def _options(options: Options) -> str:
    arguments = list(_option_arguments(options))
    if not arguments:
        return ""
    said = ",\n".join(arguments)
    return "\n".join([*comment(options.why, indent=4), f"opts=ResourceOptions(\n{said}\n)"])


def _option_arguments(options: Options) -> Iterator[str]:
    if options.parent:
        yield f"parent={_reference(options.parent)}"
    if options.provider:
        yield f"provider={_reference(options.provider)}"
    if options.depends_on:
        yield f"depends_on={depends_on(options.depends_on)}"
    if options.delete_before_replace:
        yield "delete_before_replace=True"
    if options.retain_on_delete is not False:
        yield f"retain_on_delete={expression(options.retain_on_delete)}"
    if options.ignore_changes:
        line = f"ignore_changes={python_literal(list(options.ignore_changes))}"
        yield "\n".join([*comment(options.why_ignored, indent=8), line])


def depends_on(names: tuple[str, ...]) -> Code:
    """One or several; `*services` means all that are in the list."""
    if len(names) == 1:
        return Code(_reference(names[0].removeprefix("*")))
    words = [f"*{_reference(name[1:])}" if name[0] == "*" else _reference(name) for name in names]
    return Code(f"[{', '.join(words)}]")


def _reference(name: str) -> str:
    """`code.train` is the resource `train` of the dictionary `code`."""
    variable, dot, key = name.partition(".")
    return f"{variable}[{python_literal(key)}]" if dot else variable
