"""A YAML file as plain data, with the line of every key and item.

Plain scalars follow YAML 1.2, which is what editors check against the JSON Schema: `no` and `on` are texts, `1e-5` is
a number, `2024-01-01` and `12:30` are texts. A number with a leading zero is a text too, because YAML 1.1 and 1.2
disagree on its value. Aliases and merge keys (`<<`) work; what has no JSON form is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from xmgen.errors import InputError, Problem

Scalar = str | int | float | bool | None
Value = Scalar | list["Value"] | dict[str, "Value"]

MAX_BYTES = 32 * 2**20
MAX_VALUES = 1_000_000
"""Values after aliases are expanded. More is an alias bomb, or a sweep that should be written as a grid."""

_PLAIN = "plain"
_YAML = "tag:yaml.org,2002:"
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
# The lengths are bounded because Python refuses to convert thousands of digits.
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,999})|0x[0-9a-fA-F]{1,800}|0o[0-7]{1,999}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?(0|[1-9][0-9]*)[eE][-+]?[0-9]+")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

# PyYAML built without libyaml has no C loader: slower, the same nodes.
_LOADER = cast("type[yaml.SafeLoader]", getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _resolve(kind: type[Node], value: str | None, implicit: object) -> str:
    """The tag of a node without one. Plain scalars get a tag of our own, to tell `1` from `!!str 1`."""
    if kind is ScalarNode:
        plain, _ = cast("tuple[bool, bool]", implicit)
        return _PLAIN if plain else f"{_YAML}str"
    return f"{_YAML}map" if kind is MappingNode else f"{_YAML}seq"


@dataclass(frozen=True, slots=True)
class Document:
    """value: the file's content; a key is always the text as written. name: the file as problems name it."""

    name: str
    value: Value
    _root: Node = field(repr=False)

    def line(self, path: Sequence[str | int]) -> int:
        """The line of what stands at a key path."""
        return _locate(self._root, path)[0]

    def where(self, path: Sequence[str | int]) -> str:
        """The place of a key path as an error names it. Parts of the path that are not in the file are ignored."""
        line, keys = _locate(self._root, path)
        where = f"{self.name}:{line}"
        return f"{where} {keys}" if keys else where

    def problem(self, message: str, path: Sequence[str | int] = (), hint: str = "") -> Problem:
        """A problem at a key path."""
        return Problem(message, where=self.where(path), hint=hint)


def read(path: Path, name: str) -> Document:
    """Read one YAML document. Raises InputError for a file that is missing or not such a document."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(Problem(f"is larger than {MAX_BYTES // 2**20} MiB", where=name))
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(Problem(f"is not UTF-8 text (byte {error.start + 1})", where=name)) from None
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror}", where=name)) from None
    return parse(text, name)


def parse(text: str, name: str) -> Document:
    """The document of a text. name: of the file that it is in, or is to be. Raises InputError as `read` does."""
    try:
        root = _compose(text, name)
        converter = _Converter(name)
        converter.bound(root)
        value = converter.value(root)
    except RecursionError:
        raise InputError(Problem("is nested too deeply", where=name)) from None
    if converter.problems:
        raise InputError(*converter.problems)
    return Document(name, value, root)


def _compose(text: str, name: str) -> Node:
    try:
        # Nothing is ever constructed from a node, so no tag can run code.
        loader = _LOADER(text)
        loader.resolve = _resolve
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise InputError(_syntax_problem(error, text, name)) from None
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        raise InputError(Problem("holds a control character", f"{name}:{line}", _ESCAPE_HINT)) from None
    if root is None:
        raise InputError(Problem("is empty", where=name))
    return root


_ESCAPE_HINT = 'in a double-quoted text it can be written as an escape, such as "\\x07"'


def _syntax_problem(error: yaml.MarkedYAMLError, text: str, name: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    where = f"{name}:{line}"
    if error.problem == "but found another document":
        return Problem("holds more than one document", where, "remove the line `---` and what follows it")
    source = text.splitlines()[line - 1 : line]
    if source and source[0][: len(source[0]) - len(source[0].lstrip())].count("\t"):
        return Problem("is indented with a tab", where, "YAML is indented with spaces")
    return Problem(f"is not valid YAML: {error.problem or error}", where, error.context or "")


class _Converter:
    """Nodes to plain data. What an alias repeats is converted once and shared."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._done: dict[int, Value] = {}
        self.problems: list[Problem] = []

    def bound(self, root: Node) -> None:
        """Refuse what would not end or not fit when aliases are followed."""
        sizes: dict[int, int] = {}
        open_nodes: set[int] = set()

        def size(node: Node) -> int:
            known = sizes.get(id(node))
            if known is not None:
                return known
            if id(node) in open_nodes:
                raise InputError(Problem("an alias refers to what contains it", self._where(node)))
            open_nodes.add(id(node))
            total = 1 + sum(size(child) for child in _children(node))
            open_nodes.discard(id(node))
            if total > MAX_VALUES:
                raise InputError(Problem(f"holds more than {MAX_VALUES} values", self._where(node)))
            sizes[id(node)] = total
            return total

        size(root)

    def value(self, node: Node) -> Value:
        if id(node) not in self._done:
            if isinstance(node, ScalarNode):
                self._done[id(node)] = self._scalar(node)
            elif isinstance(node, SequenceNode):
                self._tag(node, "seq")
                self._done[id(node)] = [self.value(item) for item in _items(node)]
            else:
                self._tag(node, "map")
                self._done[id(node)] = {key: self.value(value) for key, value in self._entries(node).items()}
        return self._done[id(node)]

    def _scalar(self, node: ScalarNode) -> Scalar:
        text: str = node.value
        if node.tag == _PLAIN:
            return _plain(text)
        if node.tag == f"{_YAML}str":
            return text
        kinds: dict[str, type] = {"int": int, "float": float, "bool": bool, "null": type(None)}
        wanted = kinds.get(node.tag.removeprefix(_YAML))
        value = _plain(text)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if wanted is None or type(value) is not wanted:
            self._tag(node, "str")
        return value

    def _tag(self, node: Node, expected: str) -> None:
        if node.tag != f"{_YAML}{expected}":
            tag = node.tag.replace(_YAML, "!!", 1)
            self.problems.append(Problem(f"the tag {tag} does not belong here", self._where(node)))

    def _entries(self, node: Node) -> dict[str, Node]:
        """Key -> value; what is merged (`<<`) comes first and gives way to the mapping's own keys."""
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in _pairs(node):
            if not isinstance(key, ScalarNode):
                self.problems.append(Problem("a key must be a text", self._where(key)))
            elif key.value == "<<" and key.tag == _PLAIN:
                for source in _items(value) if isinstance(value, SequenceNode) else [value]:
                    if isinstance(source, MappingNode):
                        merged = {**self._entries(source), **merged}
                    else:
                        self.problems.append(Problem("only a mapping can be merged with `<<`", self._where(key)))
            elif key.value in own:
                self.problems.append(Problem(f"the key {key.value!r} is there twice", self._where(key)))
            else:
                own[key.value] = value
        return {**merged, **own}

    def _where(self, node: Node) -> str:
        return f"{self._name}:{_line(node)}"


def _plain(text: str) -> Scalar:
    """YAML 1.2's core schema, apart from leading zeros."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INT.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return float(text.replace(".", "")) if _SPECIAL.fullmatch(text) else text


def _items(node: Node) -> list[Node]:
    return cast("list[Node]", node.value) if isinstance(node, SequenceNode) else []


def _pairs(node: Node) -> list[tuple[Node, Node]]:
    return cast("list[tuple[Node, Node]]", node.value) if isinstance(node, MappingNode) else []


def _children(node: Node) -> Iterator[Node]:
    if isinstance(node, CollectionNode):
        yield from _items(node)
        for pair in _pairs(node):
            yield from pair


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _locate(node: Node, path: Sequence[str | int]) -> tuple[int, str]:
    """The line of the last key or item of the path, and the path as text."""
    line, text = _line(node), ""
    for part in path:
        if isinstance(part, int):
            items = _items(node)
            if part >= len(items):
                continue
            node = items[part]
            line, text = _line(node), f"{text}[{part}]"
            continue
        found = _find(node, part)
        if found is None:
            continue
        key, node = found
        line = _line(key)
        shown = part if re.fullmatch(r"[\w-]+", part) else repr(part)
        text = f"{text}.{shown}" if text else shown
    return line, text


def _find(node: Node, name: str) -> tuple[Node, Node] | None:
    """The entry of a mapping, its own or merged into it."""
    merged: list[Node] = []
    for key, value in _pairs(node):
        if key.value == name:
            return key, value
        if key.value == "<<":
            merged += _items(value) or [value]
    return next((found for source in merged if (found := _find(source, name)) is not None), None)
