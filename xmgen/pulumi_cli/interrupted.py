"""Creations of which nobody knows whether they came true: found by their ids, and taken into the state or dropped.

The engine notes an operation before it begins it. When it is killed, or loses a provider or an answer, something may be
there that Pulumi does not know, and that costs money. What a create was asked for says under which id it would be
(`resource_types.ids`); so it goes into the state under that id, marked, and `pulumi refresh` reads it: what is there
gets the outputs of an import and loses the mark, what is not there leaves the state.

The mark stays until that is known, so that a kill in the midst of it changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from xmgen import resource_types
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.state import Document, StateResource, pending_operations, resources, saved_at
from xmgen.resource_types.ids import import_id

MARK = "nobody knows yet whether this was created: `xmgen up` or `xmgen destroy` looks"
"""The only reason of a resource that is being looked for. Plain Pulumi shows it, too."""

_BEGUN = "; it would be newer than "
"""After the mark, before the time at which the operation began, where that is known: a later search has no other way to
tell what the operation made from what was there before.
"""

_UNKNOWN_OUTCOME = re.compile(
    r"error reading from server|transport is closing|code = (?:Unavailable|DeadlineExceeded)|\bEOF\b"
    r"|connection (?:reset|refused)|broken pipe|i/o timeout|deadline exceeded"
    r"|Error 5\d\d\b|HTTP response code 5\d\d"
)
"""A provider that died, a connection that broke, a server that failed: the request may have been carried out.
A refusal (4xx) is an answer; the one that says a name is taken speaks of something that belongs to somebody else."""

_NOT_THERE = re.compile(r"Error 404\b|code = NotFound")
"""An import of what is not there: some of Google's say so by an error."""

_AGAIN = re.compile(r"pulumi:|docker-build:|xmgen:")
"""Types that are safely created again: an image has its content's tag, and xmgen's own provider keeps a journal."""

_CREATED = ("creationTimestamp", "createTime", "timeCreated")
_CLOCKS_APART = timedelta(minutes=2)


@dataclass(slots=True)
class Sorted:
    """sought: what can be looked for, with its id. untraceable: the others that may be there. again: number of creates
    that are simply done again. taken_up: operations on resources that the state has, which `up` repeats.
    """

    sought: list[StateResource] = field(default_factory=list[StateResource])
    untraceable: list[StateResource] = field(default_factory=list[StateResource])
    again: int = 0
    taken_up: int = 0


def pending(export: str) -> Sorted:
    """What an operation that was killed left open, and what an earlier search has not found out about."""
    result = Sorted(sought=[each for each in resources(export) if _marked(each)])
    operations = pending_operations(export)
    creates = [each.resource for each in operations if each.type == "creating"]
    result.taken_up = len(operations) - len(creates)
    _sort(export, creates, result)
    return result


def failed(export: str, progress: Progress) -> Sorted:
    """Creates of an operation that has ended by itself whose answers say nothing about what became of them."""
    state = resources(export)
    known = {each.urn for each in state if not each.pending_replacement}
    # The order in which everything must go again is not known of these. Nothing depends on them yet.
    before = [each.urn for each in state]
    creates = [
        StateResource.of({**new, "custom": True, "dependencies": before})
        for urn, new in progress.failed_creates.items()
        if urn not in known and any(_UNKNOWN_OUTCOME.search(text) for text in progress.errors.get(urn, ()))
    ]
    result = Sorted()
    _sort(export, creates, result)
    return result


def cancelled(export: str) -> list[str]:
    """Jobs on Vertex AI whose deletion was begun, which cancels them: the state has them as they were before, so that
    an `up` would leave alone what does not run any more.
    """
    there = {each.urn for each in resources(export) if not each.delete}
    gone = (each.resource for each in pending_operations(export) if each.type == "deleting")
    return [each.urn for each in gone if each.type == resource_types.CUSTOM_JOB and each.urn in there]


def begin(export: str, locked: Iterable[datetime]) -> datetime | None:
    """When the operation began that was killed in the midst of what is pending; None when that cannot be known.

    locked: when killed processes took the locks they left. The one that noted what is pending has saved the state
    since; one that was killed before it did, such as an earlier search, tells nothing.
    """
    saved = saved_at(export)
    return None if saved is None else min((each for each in locked if each <= saved), default=None)


def begun(sought: StateResource, operation: datetime | None) -> datetime | None:
    """When the creation of what is sought can have begun at the earliest: the mark of an earlier search knows it, else
    it was this operation's.
    """
    if not _marked(sought):
        return operation
    time = sought.errors[0].removeprefix(MARK).removeprefix(_BEGUN)
    return datetime.fromisoformat(time) if time else None


def marked(export: str, sought: Iterable[StateResource], operation: datetime | None = None) -> str:
    """The state with what is sought in it, under the ids by which it is found, and without pending operations.

    operation: when that began in which it would have been created.
    """
    content = json.loads(export)
    deployment = content["deployment"]
    deployment.pop("pending_operations", None)
    documents: list[Document] = deployment.get("resources") or []
    for each in sought:
        since = begun(each, operation)
        mark = MARK if since is None else f"{MARK}{_BEGUN}{since.isoformat()}"
        documents = _with(documents, StateResource.of({**each.document, "initErrors": [mark]}))
    deployment["resources"] = documents
    return json.dumps(content)


def without(export: str, urns: Iterable[str]) -> str:
    """The state without these resources, which are marked and not there, or which are not the stack's."""
    content = json.loads(export)
    gone = set(urns)
    deployment = content["deployment"]
    deployment["resources"] = [each.document for each in resources(export) if each.urn not in gone or each.delete]
    return json.dumps(content)


def still_marked(export: str) -> set[str]:
    return {each.urn for each in resources(export) if _marked(each)}


def found(export: str, sought: Iterable[StateResource]) -> dict[str, StateResource]:
    """Those that are there, as they were read."""
    wanted = {each.urn for each in sought}
    return {
        each.urn: each for each in resources(export) if each.urn in wanted and not _marked(each) and not each.delete
    }


def is_absent(texts: Iterable[str]) -> bool:
    """Whether a read that failed says that nothing is there."""
    return any(_NOT_THERE.search(text) for text in texts)


def older(resource: StateResource, begun: datetime | None) -> bool:
    """Whether it was there before the operation began that would have created it: then it is somebody else's."""
    places, metadata = [resource.outputs], resource.outputs.get("metadata")
    if isinstance(metadata, dict):
        places.append(cast(dict[str, Any], metadata))
    texts = [place[key] for place in places for key in _CREATED if isinstance(place.get(key), str)]
    if begun is None or not texts:
        return False
    created = datetime.fromisoformat(texts[0])
    return created.tzinfo is not None and created < begun - _CLOCKS_APART


def title(resource: StateResource) -> str:
    """How a user knows it."""
    return f"{resource.type} {resource.name}"


def _sort(export: str, creates: Iterable[StateResource], result: Sorted) -> None:
    providers = {f"{each.urn}::{each.id}": each.inputs for each in resources(export)}
    for each in creates:
        if _AGAIN.match(each.type) or not each.custom:
            result.again += 1
            continue
        id = import_id(each.type, each.inputs, providers.get(each.provider, {}))
        if id is None:
            result.untraceable.append(each)
        else:
            wanted = {key: value for key, value in each.document.items() if key != "outputs"}
            result.sought.append(StateResource.of({**wanted, "id": id}))


def _with(documents: list[Document], sought: StateResource) -> list[Document]:
    result: list[Document] = []
    placed = False
    for each in map(StateResource.of, documents):
        if each.urn != sought.urn or each.delete:
            result.append(each.document)
            continue
        result.append(sought.document)
        placed = True
        # Else it was deleted already, for the one that is sought; or it is this very search, which was interrupted.
        if not each.pending_replacement and not _marked(each):
            # It is still there, and goes when its replacement is in place.
            result.append({**each.document, "delete": True})
    return result if placed else [*result, sought.document]


def _marked(resource: StateResource) -> bool:
    return len(resource.errors) == 1 and resource.errors[0].startswith(MARK)
