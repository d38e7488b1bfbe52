"""Jobs that run as containers of the Docker daemon. The SDK blocks, so each call runs in a thread of its own."""

# The SDK's types are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xmgen import shell
from xmgen.project import OUTPUT_VARIABLE
from xmgen.provider import daemon
from xmgen.provider.processes import CannotStart
from xmgen.provider.unit import Job
from xmgen.shell import ShellSafeArg

if TYPE_CHECKING:
    from docker.models.containers import Container as DockerContainer
    from docker.models.images import Image

OUTPUT_IN_CONTAINER = "/xmgen/output"

_STOP_SECONDS = 3
_BETWEEN_LOOKS_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a container belongs.

    name: its own, in free text. network: the unit's. output: the job's output folder on this machine.
    """

    root: Path
    labels: Mapping[str, str]
    name: str
    network: str
    output: Path


def create_network(attempt: str, labels: Mapping[str, str]) -> str:
    """A network of the unit's own, on which its jobs find each other by name. Blocks."""
    name = f"xmgen-{attempt}"
    with daemon.failures("a network for the work unit cannot be made"):
        daemon.client().networks.create(name, driver="bridge", labels=dict(labels))
    return name


def remove_all(label: str, *, looks: int = 1) -> None:
    """Removes the containers and networks that bear the label, running or not. Blocks.

    More than one look finds what was being created when its caller was killed, and appears late.
    """
    with daemon.failures("containers cannot be removed"):
        for look in range(looks):
            time.sleep(_BETWEEN_LOOKS_SECONDS if look else 0)
            _remove_containers(label)
        for network in daemon.client().networks.list(filters={"label": label}):
            network.remove()


def _remove_containers(label: str) -> None:
    from docker.errors import APIError

    found = daemon.client().containers.list(all=True, filters={"label": label}, ignore_removed=True)
    for container in found:
        try:
            container.remove(force=True, v=True)
        except APIError as error:
            # Gone, or somebody else is removing it.
            if error.status_code not in (404, 409):
                raise


def arguments(job: Job, place: Place, image: Image, gpus: Sequence[str]) -> dict[str, Any]:
    """What the SDK's `containers.create` takes for the job."""
    config = cast("dict[str, Any]", image.attrs["Config"])
    result: dict[str, Any] = {
        "image": image.id,
        "name": _docker_name(place.name),
        "environment": {"PYTHONUNBUFFERED": "1", **job.env, OUTPUT_VARIABLE: OUTPUT_IN_CONTAINER},
        "labels": dict(place.labels),
        "ports": {f"{inside}/tcp": outside for inside, outside in job.docker.ports.items()},
        "volumes": _volumes(job, place, _home(cast("list[str]", config.get("Env") or []))),
        "network": place.network,
        "tty": job.docker.interactive,
        "stdin_open": job.docker.interactive,
        **_command(job, cast("list[str]", config.get("Entrypoint") or [])),
    }
    if hostname := _docker_name(job.hostname or job.name)[:63]:
        result["hostname"] = hostname
    if gpus:
        result["device_requests"] = [{"Driver": "", "DeviceIDs": list(gpus), "Capabilities": [["gpu"]]}]
    return result


def _docker_name(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_.-]+", "-", text).strip("-._")


def _command(job: Job, entrypoint: Sequence[str]) -> dict[str, Any]:
    """Arguments follow the image's entry point. Where a shell is to expand some, it takes the entry point's place."""
    if any(isinstance(arg, ShellSafeArg) for arg in job.args):
        return {"entrypoint": shell.command(entrypoint, job.args), "command": []}
    return {"command": list(job.args)} if job.args else {}


def _home(environment: Sequence[str]) -> str:
    """The home folder of the image's user, where Google's libraries look."""
    return next((value for key, _, value in (each.partition("=") for each in environment) if key == "HOME"), "/root")


def _volumes(job: Job, place: Place, home: str) -> list[str]:
    """Bind mounts, as `host:container:mode`. home: in the container."""
    mounts = [f"{place.output}:{OUTPUT_IN_CONTAINER}:rw"]
    for source, target in job.docker.volumes.items():
        # A bare word is the name of a volume of Docker's; anything else is a path, relative ones from the project root.
        path = source if re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*", source) else place.root / Path(source).expanduser()
        mounts.append(f"{path}:{target}" if ":" in target else f"{path}:{target}:rw")
    # XManager mounts it so that Google's libraries find the user's credentials; read-only, because a trial has no
    # business changing them. Docker would create a missing folder, owned by root.
    credentials = Path("~/.config/gcloud").expanduser()
    if credentials.is_dir():
        mounts.append(f"{credentials}:{home}/.config/gcloud:ro")
    buckets = Path("~/gcs").expanduser()
    if job.docker.mount_gcs_path and buckets.is_dir():
        mounts.append(f"{buckets}:/gcs:rw")
    return mounts


class Container:
    """A job that runs as a container."""

    def __init__(self, job: Job, place: Place, gpus: Sequence[str], record: Callable[[int], None]) -> None:
        """record: called with the exit code of a container that ended by itself, before anybody else is told."""
        self._job = job
        self._place = place
        self._gpus = gpus
        self._record = record
        self._container: DockerContainer | None = None
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._code: asyncio.Future[int] | None = None
        self._stopped = False

    async def start(self) -> None:
        """Raises CannotStart."""
        loop = asyncio.get_running_loop()
        chunks = await asyncio.to_thread(self._create_and_start)
        following = loop.run_in_executor(None, self._follow, chunks, loop)
        self._code = asyncio.ensure_future(self._wait(following))

    def _create_and_start(self) -> Iterator[bytes]:
        from docker.errors import APIError

        client = daemon.client()
        try:
            image = client.images.get(self._job.executable.image)
            if user := str(image.attrs["Config"].get("User") or ""):
                _writable_for(user, self._place.output)
            creation = arguments(self._job, self._place, image, self._gpus)
            aliases = [name for name in dict.fromkeys((self._job.hostname, self._job.name)) if name]
            endpoint = client.api.create_endpoint_config(aliases=aliases)
            creation["networking_config"] = {self._place.network: endpoint}
            self._container = client.containers.create(**creation)
            # Attached before it starts, so that nothing it writes is missed, whatever the daemon does with logs. With
            # its log as well, what it writes right after the start may come twice: from there, and from the stream.
            chunks = cast("Iterator[bytes]", self._container.attach(stream=True, stdout=True, stderr=True, logs=False))
            self._container.start()
        except APIError as error:
            raise CannotStart(str(error.explanation or error)) from None
        return chunks

    def _follow(self, chunks: Iterator[bytes], loop: asyncio.AbstractEventLoop) -> int:
        assert self._container is not None  # noqa: S101 — started
        with daemon.failures(f"container of job {self._job.name} is lost"):
            for chunk in chunks:
                loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
            code = int(self._container.wait(timeout=None)["StatusCode"])
        if not self._stopped:
            self._record(code)
        return code

    async def _wait(self, following: asyncio.Future[int]) -> int:
        try:
            return await following
        finally:
            self._chunks.put_nowait(None)

    async def output(self) -> AsyncIterator[bytes]:
        while (chunk := await self._chunks.get()) is not None:
            yield chunk

    async def ended(self) -> int:
        assert self._code is not None  # noqa: S101 — started
        return await asyncio.shield(self._code)

    async def stop(self) -> None:
        self._stopped = True
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        from docker.errors import NotFound

        if self._container is None:
            return
        with daemon.failures("a container cannot be stopped"):
            try:
                self._container.stop(timeout=_STOP_SECONDS)
            except NotFound:
                return


def _writable_for(user: str, output: Path) -> None:
    """The image's user is not ours, and may have no name or number that this machine knows."""
    if user.partition(":")[0] not in ("0", "root"):
        output.chmod(0o777)


def main() -> None:
    """Called by the watchdog of a provider that is gone."""
    remove_all(f"{daemon.LABEL_ATTEMPT}={sys.argv[1]}", looks=3)


if __name__ == "__main__":
    main()
