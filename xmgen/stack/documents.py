"""Reads manifests: of each document at once what everybody asks for, and the rest when somebody does.

A sweep has ten thousand documents of a hundred lines, of which most commands need the names. The lines of the top-level
keys that are wanted are cut out of the text and parsed together, in a fraction of the time that all of it takes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import yaml

from xmgen.plan.model import Manifest

_TOP_LEVEL = re.compile(r"^(?:([A-Za-z]+):(?=[ \n])|[^ \n\-]|-(?! ))", re.MULTILINE)
"""A line that begins a top-level key, or one that belongs to nothing which we write."""

_ODD_MARKER = re.compile(r"^(?:\.\.\.|%|---.)", re.MULTILINE)
"""What separates documents in other ways than ours do."""

_SEPARATOR = "\n---\n"


@dataclass(frozen=True, slots=True)
class Document:
    """head: the top-level keys that were asked for; all of them where `text` is empty."""

    head: Manifest
    text: str = field(default="", repr=False)

    def whole(self) -> Manifest:
        """Raises yaml.YAMLError."""
        return cast(Manifest, _load(self.text)) if self.text else self.head


def read(text: str, keys: Collection[str]) -> list[Document]:
    """The documents of a text, with these keys of each. Raises yaml.YAMLError, also for what is no mapping."""
    texts = [] if _ODD_MARKER.search(text) else _split(text)
    heads = [_blocks(each, keys) for each in texts]
    if texts and None not in heads:
        try:
            found = read_all("---\n".join(cast(list[str], heads)))
        except yaml.YAMLError:
            # It may refer to what was left out: then all of it is read.
            found = []
        if len(found) == len(texts):
            return [Document(head, each) for head, each in zip(found, texts, strict=True)]
    return [Document(each) for each in read_all(text)]


def _split(text: str) -> list[str]:
    first, *rest = f"\n{text}".split(_SEPARATOR)
    # What comes before the first separator is a comment.
    comment = all(line.startswith("#") or not line.strip() for line in first.splitlines())
    return [f"{each}\n" for each in rest] if comment else []


def _blocks(text: str, keys: Collection[str]) -> str | None:
    """The lines of these keys; None where the text is not as we write it, so that only YAML itself can tell."""
    found: list[str] = []
    begun: dict[str, int] = {}
    last = ""
    for match in _TOP_LEVEL.finditer(text):
        key = cast("str | None", match[1])
        if key is None or key in begun:
            return None
        if last in keys:
            found.append(text[begun[last] : match.start()])
        begun[key] = match.start()
        last = key
    if last in keys:
        found.append(text[begun[last] :])
    return "".join(found) or None


def _load(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def read_all(text: str) -> list[Manifest]:
    """The documents of a text, with all that they say. Raises as `read` does."""
    return list(_mappings(text))


def _mappings(text: str) -> Iterator[Manifest]:
    for document in yaml.load_all(text, Loader=yaml.CSafeLoader):
        if not isinstance(document, dict):
            raise yaml.YAMLError("a document is no mapping")
        yield cast(Manifest, document)
