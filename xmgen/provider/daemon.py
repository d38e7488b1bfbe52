"""The Docker daemon: whether there is one, and how to reach it. The SDK is imported only when it is used."""

# The SDK's types are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator
from typing import TYPE_CHECKING

from xmgen.errors import OperationError, Problem

if TYPE_CHECKING:
    from docker.client import DockerClient

_PING_SECONDS = 3

LABEL_STACK = "xmgen.stack"
LABEL_RUN = "xmgen.run"
LABEL_ATTEMPT = "xmgen.attempt"
LABEL_EXECUTABLE = "xmgen.executable"
"""Labels of containers, networks and images, by which ours are found again."""


@functools.cache
def unreachable() -> str:
    """Why no daemon answers; empty when one does. Asked once: a plan must not change its mind half-way."""
    import docker
    import requests
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=_PING_SECONDS)
        client.ping()
        client.close()
    except (DockerException, requests.RequestException, OSError) as error:
        return " ".join(str(error).split())
    return ""


@functools.cache
def client() -> DockerClient:
    """Raises OperationError when no daemon answers."""
    import docker

    if why := unreachable():
        raise OperationError(
            Problem("no Docker daemon answers", hint=f"start it, or set DOCKER_HOST to the one you mean ({why})")
        )
    # No timeout: building and pulling may take their time between two lines of output.
    return docker.from_env(timeout=None)  # pyright: ignore[reportArgumentType] — None is documented


@contextlib.contextmanager
def failures(what: str) -> Generator[None]:
    """Turns what the SDK raises into an OperationError that begins with `what`."""
    import requests
    from docker.errors import APIError, DockerException

    try:
        yield
    except (APIError, DockerException, requests.RequestException) as error:
        reason = error.explanation if isinstance(error, APIError) and error.explanation else str(error)
        raise OperationError(Problem(f"{what}: {' '.join(str(reason).split())}")) from None
