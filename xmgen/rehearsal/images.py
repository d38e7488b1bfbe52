"""The stand-in for pulumi-docker-build: images, whose digests are computed from what would be built."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Protocol, cast

from xmgen import sources
from xmgen.errors import InputError, Problem
from xmgen.provider import wire
from xmgen.provider.resource import Difference, Request, State, differences
from xmgen.provider.wire import Properties


class Rehearsal(Protocol):
    """The one that is asked before anything is done."""

    async def ask(self, operation: str, **about: Any) -> dict[str, Any]: ...


class ImageResource:
    """An image that is built: here only its digest is computed, from what would be built."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal

    async def check(self, request: Request, news: Properties, olds: Properties | None) -> dict[str, Problem]:
        raise NotImplementedError  # `StandIn.Check` answers

    async def diff(self, request: Request, news: Properties, olds: Properties, state: Properties) -> Difference:
        changes = differences(wire.plain(olds), wire.plain(news))
        if not changes and state.get("contextHash") != _context(cast("dict[str, Any]", wire.plain(news))):
            return Difference(changes={"contextHash": "update"}, of_outputs=True)
        return Difference(changes=changes)

    async def create(self, request: Request, news: Properties) -> State:
        if request.preview:
            return State(id="", outputs=news)
        await self._rehearsal.ask("ping", type=request.urn.type, urn=request.urn.text)
        inputs = cast("dict[str, Any]", wire.plain(news))
        return State(id=f"{request.urn.name}-image", outputs={**news, **_computed(inputs, _context(inputs))})

    async def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> State | None:
        return State(id=id, outputs=state, inputs=inputs)

    async def update(self, request: Request, id: str, news: Properties, olds: Properties, state: Properties) -> State:
        return await self.create(request, news)

    async def delete(self, request: Request, id: str, inputs: Properties, state: Properties) -> None:
        await self._rehearsal.ask("ping", type=request.urn.type, urn=request.urn.text)


def _context(inputs: dict[str, Any]) -> str:
    """A digest of the build context and the Dockerfile. Raises InputError when one of them is missing."""
    dockerfile, context = _location(inputs, "dockerfile", "Dockerfile"), _location(inputs, "context", ".")
    if not dockerfile.is_file():
        raise InputError(Problem(f"failed to read dockerfile: open {dockerfile}: no such file or directory"))
    if not context.is_dir():
        raise InputError(Problem(f"unable to prepare context: path {str(context)!r} not found"))
    return sources.digest(context)[7:39] + sources.digest(dockerfile)[7:39]


def _location(inputs: dict[str, Any], name: str, default: str) -> Path:
    given: dict[str, Any] = inputs.get(name) or {}
    return Path(str(given.get("location") or default))


def _computed(inputs: dict[str, Any], context: str) -> dict[str, Any]:
    """What building and pushing an image gives. context: a digest of what is built."""
    content = hashlib.sha256(repr((context, sorted(inputs.get("platforms") or []))).encode()).hexdigest()
    tags: list[str] = inputs.get("tags") or []
    digest = f"sha256:{content}"
    return {"digest": digest, "contextHash": context, "ref": f"{tags[0]}@{digest}" if tags else digest}
