"""The stand-in for pulumi-docker-build.

With a registry an image is built by the Docker daemon and pushed there; without one its digest is computed from what
would be built. Nothing is ever pushed anywhere but to a registry that the user named.
"""

# The Docker SDK's types are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, cast

from xmgen import project, sources
from xmgen.errors import InputError, Problem
from xmgen.provider import daemon, wire
from xmgen.provider.images import Log, build, follow, remove, telling
from xmgen.provider.resource import Difference, Request, State, differences
from xmgen.provider.wire import Properties


class Rehearsal(Protocol):
    """The one that is asked before anything is done."""

    async def ask(self, operation: str, **about: Any) -> dict[str, Any]: ...


class ImageResource:
    """An image, with its digest. Of its inputs those are known that generated programs have."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._one_at_a_time = asyncio.Lock()

    async def check(self, request: Request, news: Properties, olds: Properties | None) -> dict[str, Problem]:
        raise NotImplementedError  # `StandIn.Check` answers

    async def diff(self, request: Request, news: Properties, olds: Properties, state: Properties) -> Difference:
        changes = differences(wire.plain(olds), wire.plain(news))
        if not changes and state.get("contextHash") != _hash(*_places(_plain(news))):
            return Difference(changes={"contextHash": "update"}, of_outputs=True)
        return Difference(changes=changes)

    async def create(self, request: Request, news: Properties) -> State:
        if request.preview:
            return State(id="", outputs=news)
        registry = await self._registry(request)
        inputs = _plain(news)
        context, dockerfile = _places(inputs)
        hash = _hash(context, dockerfile)
        tags: list[str] = inputs["tags"]
        platforms: list[str] = inputs["platforms"]
        if registry:
            names = [pushed(tag, registry) for tag in tags]
            log = telling(request.log)
            async with self._one_at_a_time:
                digest = await asyncio.to_thread(
                    _build_and_push, request.urn.name, names, platforms[0], context, dockerfile, log
                )
        else:
            digest = f"sha256:{hashlib.sha256(repr((hash, sorted(platforms))).encode()).hexdigest()}"
        outputs: Properties = {"digest": digest, "contextHash": hash, "ref": f"{tags[0]}@{digest}"}
        return State(id=f"{request.urn.name}-image", outputs={**news, **outputs})

    async def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> State | None:
        return State(id=id, outputs=state, inputs=inputs)

    async def update(self, request: Request, id: str, news: Properties, olds: Properties, state: Properties) -> State:
        new = await self.create(request, news)
        if not request.preview:
            kept: list[str] = _plain(news)["tags"]
            await self._remove(request, [tag for tag in _plain(olds)["tags"] if tag not in kept])
        return new

    async def delete(self, request: Request, id: str, inputs: Properties, state: Properties) -> None:
        await self._remove(request, _plain(inputs)["tags"])

    async def _remove(self, request: Request, tags: list[str]) -> None:
        """From the daemon. The registry keeps what was pushed, as Pulumi's own plugin leaves it there."""
        if registry := await self._registry(request):
            for tag in tags:
                await asyncio.to_thread(remove, pushed(tag, registry))

    async def _registry(self, request: Request) -> str:
        """Empty when nothing is to be built."""
        answer = await self._rehearsal.ask("build", type=request.urn.type, urn=request.urn.text)
        return str(answer["registry"])


def prepare(registry: str) -> None:
    """See to it that images can be built, and pushed to the registry, before anything else is begun.

    registry: HOST:PORT on a loopback address, where Docker does without TLS, and where nobody else is.
    Raises InputError when it is another, OperationError when Docker does not answer or does not reach the registry.
    """
    host, _, port = registry.rpartition(":")
    if not _is_port(port) or not _is_loopback(host):
        raise InputError(
            Problem(
                f"{registry!r} is no registry on this machine: a rehearsal pushes nowhere else",
                where="--registry",
                hint="give a port on a loopback address, such as 127.0.0.1:5000",
            )
        )
    from docker.errors import APIError

    with daemon.failures(f"the Docker daemon does not reach a registry at {registry}"):
        try:
            daemon.client().api.inspect_distribution(f"{registry}/xmgen")
        except APIError as error:
            # That there is no such image, or that we may not see it, is a registry's answer.
            if not error.is_client_error():
                raise


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 2**16


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _plain(properties: Properties) -> dict[str, Any]:
    return cast("dict[str, Any]", wire.plain(properties))


def _places(inputs: dict[str, Any]) -> tuple[Path, Path]:
    """The folder of the build context, and the Dockerfile. Raises InputError when one of them is missing."""
    context, dockerfile = Path(str(inputs["context"]["location"])), Path(str(inputs["dockerfile"]["location"]))
    if not dockerfile.is_file():
        raise InputError(Problem(f"failed to read dockerfile: open {dockerfile}: no such file or directory"))
    if not context.is_dir():
        raise InputError(Problem(f"unable to prepare context: path {str(context)!r} not found"))
    return context, dockerfile


def _hash(context: Path, dockerfile: Path) -> str:
    return sources.digest(context)[7:39] + sources.digest(dockerfile)[7:39]


def pushed(tag: str, registry: str) -> str:
    """The name in our registry of what has another registry's name, or Docker Hub's, which need not say so."""
    host, _, rest = tag.partition("/")
    return f"{registry}/{rest if set('.:') & set(host) or host == 'localhost' else tag}"


def _build_and_push(name: str, images: list[str], platform: str, context: Path, dockerfile: Path, log: Log) -> str:
    """Blocks. Returns the digest that the registry knows the image by."""
    with daemon.failures(f"image of {name} cannot be built"):
        build(name, images[0], sent(context, dockerfile), dockerfile, _from_project(dockerfile), log, platform)
        for image in images[1:]:
            repository, _, tag = image.rpartition(":")
            daemon.client().api.tag(images[0], repository, tag=tag)
    digests = [_push(name, image) for image in images]
    return digests[0]


def _from_project(path: Path) -> str:
    """As the user names it; the program's paths begin in `stacks`."""
    return os.path.relpath(path, project.find().root)


def _push(name: str, image: str) -> str:
    repository, _, tag = image.rpartition(":")
    with daemon.failures(f"image of {name} cannot be pushed"):
        events = daemon.client().api.push(repository, tag=tag, stream=True, decode=True)
        return str(follow(events, f"image of {name} cannot be pushed", image, lambda _: None)["Digest"])


def sent(context: Path, dockerfile: Path) -> Iterator[tuple[str, Path]]:
    """What of the context a build sends. A `.dockerignore` beside the Dockerfile goes before the context's own."""
    from docker.utils.build import PatternMatcher

    rules: list[str] = []
    for file in (dockerfile.with_name(f"{dockerfile.name}{sources.IGNORE_FILE}"), context / sources.IGNORE_FILE):
        if file.is_file():
            rules = sources.rules(file.read_text(encoding="utf-8"))
            break
    for name in sorted(cast("Iterator[str]", PatternMatcher(rules).walk(str(context)))):
        yield name, context / name
