"""Titles and other notes about an experiment or a unit."""

from __future__ import annotations

import attrs


class ContextAnnotations:
    """What a user writes about an experiment or a unit. This base keeps nothing."""

    @property
    def title(self) -> str:
        return ""

    def set_title(self, title: str) -> None:
        """Does nothing here; `KeptAnnotations` keeps the title."""


class KeptAnnotations(ContextAnnotations):
    """Annotations kept for the length of the run."""

    def __init__(self, title: str = "") -> None:
        self._title = title
        self._tags: set[str] = set()
        self._notes = ""

    @property
    def title(self) -> str:
        return self._title

    def set_title(self, title: str) -> None:
        self._title = title

    @property
    def tags(self) -> set[str]:
        return self._tags

    def add_tags(self, *tags: str) -> None:
        self._tags.update(tags)

    def remove_tags(self, *tags: str) -> None:
        self._tags.difference_update(tags)

    @property
    def notes(self) -> str:
        return self._notes

    def set_notes(self, notes: str) -> None:
        self._notes = notes


@attrs.define(slots=False)
class MetadataContext:
    """creator: the user who launches. annotations: what they wrote."""

    creator: str
    annotations: ContextAnnotations
