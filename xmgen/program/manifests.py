"""Manifests as YAML: the bytes of PyYAML's own dumper, from the same C emitter, in a third of the time.

A sweep has a hundred thousand values, nearly all of them texts. The dumper makes a node of each, works out twice what a
reader would take it for, and looks for values that occur again; the emitter needs none of that to write the same bytes.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import yaml
from yaml import cyaml
from yaml.representer import SafeRepresenter
from yaml.resolver import Resolver

from xmgen.plan.model import Manifest, Value

_NEVER_FOLD = 2**31 - 1
"""Width of a line: a long argument stays on one line, since a folded one is hard to compare."""

_STR, _MAP, _SEQ = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq"))

# PyYAML's types are partial.
_OTHERS: Mapping[str, Sequence[tuple[str, re.Pattern[str]]]] = Resolver.yaml_implicit_resolvers
"""What a reader takes a text for, by its first character: tags, and patterns of what is not a text."""
_REPRESENTER: Any = SafeRepresenter()
_EMITTER: Any = cyaml.CEmitter  # pyright: ignore


class Script(str):
    """A text of ours that people read as lines."""

    __slots__ = ()


def dump(documents: Iterable[Manifest]) -> str:
    """The documents in order, keys as they come, without anchors."""
    stream = io.StringIO()
    emit: Callable[[yaml.Event], None] = _EMITTER(stream, allow_unicode=True, width=_NEVER_FOLD).emit
    emit(yaml.StreamStartEvent())
    for document in documents:
        emit(yaml.DocumentStartEvent(explicit=True))
        _emit(document, emit)
        emit(yaml.DocumentEndEvent(explicit=False))
    emit(yaml.StreamEndEvent())
    return stream.getvalue()


def _emit(value: Value, emit: Callable[[yaml.Event], None]) -> None:
    if isinstance(value, dict):
        emit(_MAPPING if value else _EMPTY_MAPPING)
        for key, item in value.items():
            emit(_text(key))
            if isinstance(item, str):
                emit(_text(item))
            else:
                _emit(item, emit)
        emit(_MAPPING_END)
    elif isinstance(value, list):
        emit(_SEQUENCE if value else _EMPTY_SEQUENCE)
        for item in value:
            if isinstance(item, str):
                emit(_text(item))
            else:
                _emit(item, emit)
        emit(_SEQUENCE_END)
    elif isinstance(value, str):
        emit(_text(value))
    else:
        node = _REPRESENTER.represent_data(value)
        emit(yaml.ScalarEvent(None, node.tag, (True, False), node.value))


# Keys and most values come again with every trial; an event can be emitted any number of times.
@functools.lru_cache(maxsize=8192)
def _text(value: str) -> yaml.Event:
    plain = True
    for _, pattern in _OTHERS.get(value[:1], ()):
        # The emitter quotes a text that a reader would take for something else.
        if pattern.match(value):
            plain = False
            break
    if isinstance(value, Script):
        return yaml.ScalarEvent(None, _STR, (plain, True), str(value), style="|")
    return yaml.ScalarEvent(None, _STR, (plain, True), value)


_MAPPING = yaml.MappingStartEvent(None, _MAP, True, flow_style=False)
_EMPTY_MAPPING = yaml.MappingStartEvent(None, _MAP, True, flow_style=True)
_MAPPING_END = yaml.MappingEndEvent()
_SEQUENCE = yaml.SequenceStartEvent(None, _SEQ, True, flow_style=False)
_EMPTY_SEQUENCE = yaml.SequenceStartEvent(None, _SEQ, True, flow_style=True)
_SEQUENCE_END = yaml.SequenceEndEvent()
