"""Packaged executables. At compile time nothing is built: they remember what is to be built."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import attrs

from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm.async_packager import AsyncPackager
from xmgen.frontends.xmanager.api.xm.problems import of_type
from xmgen.frontends.xmanager.recording import Recording


@attrs.define(slots=False)
class PackagedExecutable(xm.Executable):
    """What `Experiment.package` returns: the packageable, under its executable's name."""

    spec: xm.ExecutableSpec
    executor_spec: xm.ExecutorSpec
    args: xm.SequentialArgs
    env_vars: dict[str, Any]


@attrs.define(slots=False)
class LoadedContainerImage(xm.Executable):
    """An image that the local Docker daemon has."""

    image_id: str = attrs.field(validator=of_type(str))
    args: xm.SequentialArgs = attrs.field(factory=xm.SequentialArgs)
    env_vars: dict[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.define(slots=False)
class LocalBinary(xm.Executable):
    """A program on this machine. command: its path."""

    command: str = attrs.field(validator=of_type(str))
    args: xm.SequentialArgs = attrs.field(factory=xm.SequentialArgs)
    env_vars: dict[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.define(slots=False)
class GoogleContainerRegistryImage(xm.Executable):
    """An image in a registry."""

    image_path: str = attrs.field(validator=of_type(str))
    args: xm.SequentialArgs = attrs.field(factory=xm.SequentialArgs)
    env_vars: dict[str, Any] = attrs.field(factory=dict[str, Any])


def packager(recording: Recording) -> AsyncPackager:
    """Queues what `package_async` is given until `package` is called."""
    return AsyncPackager(functools.partial(package, recording))


def package(recording: Recording, packageables: Sequence[xm.Packageable]) -> list[xm.Executable]:
    """Notes what is to be packaged."""
    recording.packageables.extend(packageables)
    return [
        PackagedExecutable(
            name=packageable.executable_spec.name,
            spec=packageable.executable_spec,
            executor_spec=packageable.executor_spec,
            args=packageable.args,
            env_vars=packageable.env_vars,
        )
        for packageable in packageables
    ]
