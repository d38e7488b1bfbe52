"""Manifests as YAML: the bytes of PyYAML's own dumper, in less time."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import yaml
from yaml.resolver import Resolver

from xmgen.plan import Manifest

_NEVER_FOLD = 2**31 - 1
"""Width of a line: a long argument stays on one line, since a folded one is hard to compare."""


def dump(documents: Iterable[Manifest]) -> str:
    return yaml.dump_all(
        documents,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        explicit_start=True,
        width=_NEVER_FOLD,
    )


class _Dumper(yaml.CSafeDumper):
    """PyYAML's C dumper with a short way for what manifests are made of; a sweep has a hundred thousand such values."""

    def represent_data(self, data: Any) -> yaml.Node:
        # No anchors either: documents that share a value would become unreadable.
        kind: object = data.__class__
        if kind is str:
            return yaml.ScalarNode(_STR, data)
        if kind is dict:
            pairs = [(self.represent_data(key), self.represent_data(value)) for key, value in data.items()]
            return yaml.MappingNode(_MAP, pairs, flow_style=not pairs)
        if kind is list:
            return yaml.SequenceNode(_SEQ, [self.represent_data(item) for item in data], flow_style=not data)
        return super().represent_data(data)  # pyright: ignore[reportUnknownMemberType]

    def resolve(self, kind: type[Any], value: Any, implicit: Any) -> str:
        """Which tag a reader would give the value; the emitter quotes a text that would become something else."""
        if kind is not yaml.ScalarNode:
            return _RESOLVER.resolve(kind, value, implicit)
        return _plain_tag(value) if implicit[0] else _STR


_STR, _MAP, _SEQ = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq"))


@functools.lru_cache(maxsize=4096)
def _plain_tag(value: str) -> str:
    return _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))


_RESOLVER: Any = Resolver()
