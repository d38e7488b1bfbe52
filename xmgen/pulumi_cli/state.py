"""A stack's state, as `pulumi stack export` prints it: its resources, and what the engine began and never saw end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from xmgen.urns import Urn

Document = dict[str, Any]
"""A resource as Pulumi writes it: what goes back into the state, with an edit, is made of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateResource:
    """A resource of a stack, or one that an event or a pending operation tells of.

    id: the provider's; empty while there is none. custom: whether a provider made it. provider: the URN of that, `::`
    and its id. errors: why it is there but failed. delete: whether it has been replaced, and waits for its deletion.
    pending_replacement: whether it has been deleted already, for one that takes its place.
    retain_on_delete: whether it stays when the stack has it no more. document: all that Pulumi has of it.
    """

    urn: str
    type: str
    id: str
    custom: bool
    provider: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    errors: tuple[str, ...]
    delete: bool
    pending_replacement: bool
    retain_on_delete: bool
    document: Document = field(repr=False)

    @classmethod
    def of(cls, document: Document) -> StateResource:
        """What is not in the document, is empty: events leave out what a provider did not tell."""
        return cls(
            urn=str(document.get("urn") or ""),
            type=str(document.get("type") or ""),
            id=str(document.get("id") or ""),
            custom=bool(document.get("custom")),
            provider=str(document.get("provider") or ""),
            inputs=document.get("inputs") or {},
            outputs=document.get("outputs") or {},
            errors=tuple(str(error) for error in document.get("initErrors") or ()),
            delete=bool(document.get("delete")),
            pending_replacement=bool(document.get("pendingReplacement")),
            retain_on_delete=bool(document.get("retainOnDelete")),
            document=document,
        )

    @property
    def name(self) -> str:
        """The logical name."""
        return Urn(self.urn).name

    @property
    def is_pulumis_own(self) -> bool:
        """Whether it is the stack itself, or a provider."""
        return self.type.startswith("pulumi:")


@dataclass(frozen=True, slots=True)
class PendingOperation:
    """An operation that the engine began and never saw end, because it was killed.

    type: `creating`, `updating`, `deleting`, `reading` or `importing`. resource: as it would be, or as it was.
    """

    type: str
    resource: StateResource


def resources(export: str) -> list[StateResource]:
    return [StateResource.of(each) for each in _list(_deployment(export).get("resources"))]


def pending_operations(export: str) -> list[PendingOperation]:
    return [
        PendingOperation(str(each.get("type") or ""), StateResource.of(each["resource"]))
        for each in _list(_deployment(export).get("pending_operations"))
    ]


def saved_at(export: str) -> datetime | None:
    """When the engine wrote it last; None when it does not say."""
    manifest: object = _deployment(export).get("manifest")
    time = cast(Mapping[str, object], manifest).get("time") if isinstance(manifest, dict) else None
    return datetime.fromisoformat(time) if isinstance(time, str) else None


def _deployment(export: str) -> Document:
    content = json.loads(export)
    deployment = content.get("deployment") if isinstance(content, dict) else None  # pyright: ignore
    return cast(Document, deployment) if isinstance(deployment, dict) else {}


def _list(value: object) -> Iterable[Document]:
    return cast(list[Document], value) if isinstance(value, list) else []
