"""`--docker_run_args`: options of `docker run`, of which a stack knows those for volumes, ports and the environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from xmgen.errors import InputError, Problem
from xmgen.experiment import DockerOptions

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHERE = "--docker_run_args"
_VOLUME, _PORT, _ENV = ("-v", "--volume"), ("-p", "--publish"), ("-e", "--env")


@dataclass(slots=True)
class Found:
    volumes: dict[str, str] = field(default_factory=dict[str, str])
    ports: dict[int, int] = field(default_factory=dict[int, int])
    env: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def options(self) -> DockerOptions | None:
        if not self.volumes and not self.ports:
            return None
        return DockerOptions(volumes=self.volumes, ports=self.ports)


def docker_options(words: Sequence[str], cloud_key: tuple[str, str] | None = None) -> Found:
    """What the options mean. cloud_key: a key's path here and in the container.

    Raises InputError with every option that no stack can have.
    """
    found, problems = Found(), list[Problem]()
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name not in (*_VOLUME, *_PORT, *_ENV):
            problems.append(Problem(f"{word!r} cannot be compiled", _WHERE, "a stack knows -v, -p and -e"))
            continue
        _add(found, name, value if equals else next(rest, ""), problems)
    if cloud_key is not None:
        path, inside = cloud_key
        found.volumes[path] = f"{inside}:ro"
    if problems:
        raise InputError(*problems)
    return found


def _add(found: Found, name: str, value: str, problems: list[Problem]) -> None:
    if name in _ENV:
        key, equals, text = value.partition("=")
        if equals and _ENV_NAME.fullmatch(key):
            found.env[key] = text
        elif equals:
            problems.append(Problem(f"{key!r} cannot name an environment variable", _WHERE, "letters, digits and _"))
        else:
            problems.append(Problem(f"{value!r} has no value", _WHERE, "write -e NAME=VALUE"))
    elif name in _VOLUME:
        source, colon, target = value.partition(":")
        if source and colon and target.startswith("/"):
            found.volumes[source] = target
        else:
            problems.append(Problem(f"{value!r} is no volume", _WHERE, "write -v HERE:/IN/THE/CONTAINER"))
    else:
        outside, _, inside = value.partition(":")
        if outside.isdecimal() and inside.isdecimal():
            found.ports[int(inside)] = int(outside)
        else:
            problems.append(Problem(f"{value!r} is no port", _WHERE, "write -p HERE:IN_THE_CONTAINER"))
