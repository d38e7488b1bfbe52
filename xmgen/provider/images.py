"""Images: built from a Dockerfile, or pulled. All functions here block."""

# The SDK's types are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import hashlib
import io
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from xmgen import sources
from xmgen.errors import InputError, OperationError, Problem
from xmgen.provider import daemon
from xmgen.provider.unit import Packaged

Log = Callable[[str], None]


class PulumiLog(Protocol):
    async def info(self, text: str) -> None: ...


_DOCKERFILE = ".xmgen.Dockerfile"
"""Name in the build context: the Dockerfile itself may lie outside."""

_DOCKERIGNORE = ".dockerignore"


def tag(name: str, digest: str, dockerfile: bytes, context_path: str) -> str:
    """The tag of the image: the same for the same code and the same Dockerfile, whoever builds it."""
    parts = (digest.encode(), dockerfile, context_path.encode())
    content = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
    repository = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "executable"
    return f"xmgen/{repository}:{content[:12]}"


def check_code(root: Path, packaged: Packaged, stack: str) -> None:
    """Raises OperationError when the code is not what the stack was compiled from."""
    if not packaged.directory or not packaged.digest:
        return
    try:
        current = sources.digest(root / packaged.directory, packaged.exclude)
    except InputError as error:
        raise OperationError(*error.problems) from None
    if current != packaged.digest:
        raise OperationError(
            Problem(
                f"code of {packaged.name} changed after the compile",
                where=packaged.directory,
                hint=f"run `{_command(root, stack)}` again",
            )
        )


class Images:
    """root: the project's folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._one_at_a_time = asyncio.Lock()

    async def ensure(self, packaged: Packaged, stack: str, log: PulumiLog) -> None:
        """Builds or pulls the image when the daemon does not have it. Raises OperationError."""
        tell = telling(log)
        # Units that share an image must not each build it.
        async with self._one_at_a_time:
            await asyncio.to_thread(_ensure, self._root, packaged, stack, tell)


def telling(log: PulumiLog) -> Log:
    """Pulumi's log for other threads than this one's: a line after the other, in the order in which they came."""
    loop = asyncio.get_running_loop()
    return lambda line: asyncio.run_coroutine_threadsafe(log.info(line), loop).result()


def find(image: str) -> str | None:
    """The id of the image that the daemon has by this name; None when it has none."""
    from docker.errors import ImageNotFound

    try:
        return daemon.client().images.get(image).id
    except ImageNotFound:
        return None


def _command(root: Path, stack: str) -> str:
    """What compiles the stack again. Imported here: who has not changed the code never needs it."""
    from xmgen.stack import recompile

    return recompile.of_stack(root, stack)


def _ensure(root: Path, packaged: Packaged, stack: str, log: Log) -> None:
    with daemon.failures(f"image of {packaged.name} cannot be looked up"):
        if find(packaged.image):
            return
    if packaged.dockerfile:
        check_code(root, packaged, stack)
        with daemon.failures(f"image of {packaged.name} cannot be built"):
            _build(root, packaged, log)
    else:
        log(f"pulling {packaged.image}")
        with daemon.failures(f"image {packaged.image} cannot be pulled"):
            _pull(packaged.image)


def _build(root: Path, packaged: Packaged, log: Log) -> None:
    folder = root / packaged.directory
    context = [
        (f"{packaged.context_path}/{name}".lstrip("/"), folder / name)
        for name in sources.files(folder, packaged.exclude)
    ]
    build(packaged.name, packaged.image, context, root / packaged.dockerfile, packaged.dockerfile, log)


def build(
    name: str,
    tag: str,
    context: Iterable[tuple[str, Path]],
    dockerfile: Path,
    where: str,
    log: Log,
    platform: str | None = None,
) -> None:
    """Builds an image with the daemon's builder. Raises OperationError with the last lines that it printed.

    name: of the executable. context: the files that are sent, with the names that they have in there. where: the
    Dockerfile as the user would name it. platform: such as `linux/amd64`; None for the daemon's own.
    """
    events = daemon.client().api.build(
        fileobj=_archive(context, dockerfile),
        custom_context=True,
        dockerfile=_DOCKERFILE,
        tag=tag,
        labels={daemon.LABEL_EXECUTABLE: name},
        platform=platform,
        rm=True,
        forcerm=True,
        decode=True,
    )
    follow(events, f"image of {name} cannot be built", where, log)


def _pull(image: str) -> None:
    repository, tag = _repository_and_tag(image)
    events = daemon.client().api.pull(repository, tag=tag, stream=True, decode=True)
    # Progress comes many times a second, for each layer: only a failure matters.
    follow(events, f"image {image} cannot be pulled", "", lambda _: None)


def _repository_and_tag(image: str) -> tuple[str, str | None]:
    if "@" in image:
        repository, _, digest = image.partition("@")
        return repository, digest
    head, colon, tag = image.rpartition(":")
    # A colon before a slash is a registry's port.
    return (head, tag) if colon and "/" not in tag else (image, "latest")


def follow(events: Iterator[dict[str, Any]], failure: str, where: str, log: Log) -> dict[str, Any]:
    """Hears the daemon out. Returns what it tells of the result, such as a digest; raises OperationError."""
    lines: list[str] = []
    result: dict[str, Any] = {}
    for event in events:
        for line in str(event.get("stream", "")).splitlines():
            if line.strip():
                lines.append(line.rstrip())
                log(line.rstrip())
        if "error" in event:
            detail = " ".join(str(event["error"]).split())
            tail = "\n  ".join(lines[-20:])
            raise OperationError(Problem(f"{failure}: {detail}" + (f"\n  {tail}" if tail else ""), where=where))
        result |= event.get("aux") or {}
    return result


def _archive(context: Iterable[tuple[str, Path]], dockerfile: Path) -> io.BytesIO:
    """The build context: exactly the files that are named. The Dockerfile is sent, and not seen by COPY."""
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode="w") as archive:
        for name, path in context:
            if name != _DOCKERIGNORE:
                archive.add(path, name, recursive=False, filter=_as_root)
        _add(archive, _DOCKERFILE, dockerfile.read_bytes())
        _add(archive, _DOCKERIGNORE, f"{_DOCKERFILE}\n{_DOCKERIGNORE}\n".encode())
    result.seek(0)
    return result


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _as_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    # As docker's own command line does: owners of this machine mean nothing in an image.
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def remove(image: str) -> None:
    """Removes an image that we built. One that is gone, or that something else uses, is left alone. Blocks."""
    from docker.errors import APIError

    if daemon.unreachable():
        return
    with daemon.failures(f"image {image} cannot be removed"):
        try:
            daemon.client().images.remove(image)
        except APIError as error:
            if error.status_code not in (404, 409):
                raise
