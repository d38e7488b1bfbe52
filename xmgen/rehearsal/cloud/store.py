"""The resources of the simulated cloud, kept in a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Properties = dict[str, Any]


def part(properties: Properties, key: str) -> Properties:
    """A nested object; empty where there is none."""
    return properties.get(key) or {}


def parts(properties: Properties, key: str) -> list[Properties]:
    """A list of nested objects; empty where there is none."""
    return properties.get(key) or []


def texts(properties: Properties, key: str) -> list[str]:
    """A list of texts; empty where there is none."""
    found: list[object] = properties.get(key) or []
    return [str(each) for each in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One resource. id: Google's, unique among all. type: Pulumi's token. owner: the URN that created it; empty for
    what was there before. assumed: nobody created it, a program looked it up, and so it is taken to exist.
    """

    id: str
    type: str
    inputs: Properties
    outputs: Properties
    owner: str = ""
    assumed: bool = False
    parents: list[str] = field(default_factory=list[str])
    """Ids of resources that cannot be deleted before this one."""


class Store:
    """Every change is on the disk before it returns, so that a rehearsal that is killed and begun again finds it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.RLock()
        self._items: dict[str, Item] = {}
        if file.exists():
            content: list[Any] = json.loads(file.read_text(encoding="utf-8"))
            self._items = {each["id"]: Item(**each) for each in content}

    def get(self, id: str) -> Item | None:
        return self._items.get(id)

    def of(self, type: str) -> list[Item]:
        return [item for item in self if item.type == type]

    def __iter__(self) -> Iterator[Item]:
        with self._lock:
            return iter(list(self._items.values()))

    def children(self, id: str) -> list[Item]:
        return [item for item in self if id in item.parents]

    def put(self, item: Item) -> None:
        with self._lock:
            self._items[item.id] = item
            self._save()

    def remove(self, id: str) -> None:
        with self._lock:
            self._items.pop(id, None)
            self._save()

    def forget_assumed(self) -> None:
        """What one stack looked up is not there for the next one, nor what comes with a cluster."""
        for item in self:
            if item.assumed:
                self.remove(item.id)

    def _save(self) -> None:
        part = self._file.with_name(f".{self._file.name}.part")
        part.write_text(json.dumps([asdict(item) for item in self._items.values()]), encoding="utf-8")
        part.replace(self._file)
