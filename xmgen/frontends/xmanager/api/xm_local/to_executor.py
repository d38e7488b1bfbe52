"""From the launch API's executors and requirements to the experiment's."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from xmgen import experiment as ir
from xmgen.errors import Problem
from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm_local.executors import (
    GOOGLE_KUBERNETES_ENGINE_CLOUD_PROVIDER,
    DockerOptions,
    Kubernetes,
    Local,
    Vertex,
)

Record = TypeVar("Record")


class Executors:
    """Converts each executor object once: a sweep shares one among its jobs, and so does the result."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._converted: dict[int, tuple[xm.Executor, ir.Executor]] = {}

    def convert(self, executor: xm.Executor, where: str) -> ir.Executor:
        # The object is kept beside the result: an id is only unique while its object lives.
        known = self._converted.get(id(executor))
        if known is None:
            known = self._converted[id(executor)] = (executor, self._convert(executor, where))
        return known[1]

    def _convert(self, executor: xm.Executor, where: str) -> ir.Executor:
        match executor:
            case Local():
                return _record(
                    ir.Local,
                    executor,
                    requirements=requirements(executor.requirements),
                    docker_options=self._docker_options(executor.docker_options, where),
                    stream_output=executor.experimental_stream_output,
                )
            case Kubernetes():
                if executor.cloud_provider != GOOGLE_KUBERNETES_ENGINE_CLOUD_PROVIDER:
                    self._problems.append(
                        Problem(
                            f"unknown cloud_provider {executor.cloud_provider!r}",
                            where,
                            f"only {GOOGLE_KUBERNETES_ENGINE_CLOUD_PROVIDER!r} is known",
                        )
                    )
                capability = executor.tpu_capability
                return _record(
                    ir.Kubernetes,
                    executor,
                    requirements=requirements(executor.requirements),
                    tpu_runtime_version=capability.tpu_runtime_version if capability else None,
                    volumes=tuple(_record(ir.Volume, volume) for volume in executor.volumes) or None,
                    service=executor.service or None,
                )
            case Vertex():
                board = executor.tensorboard
                return _record(
                    ir.Vertex,
                    executor,
                    requirements=requirements(executor.requirements),
                    tensorboard=_record(ir.TensorboardCapability, board) if board is not None else None,
                )
            case _:
                raise TypeError(f"{executor!r} was recorded and cannot be converted")

    def _docker_options(self, options: DockerOptions | None, where: str) -> ir.DockerOptions | None:
        if options is None:
            return None
        ports: dict[int, int] = {}
        for inside, outside in (options.ports or {}).items():
            try:
                ports[_port(inside)] = _port(outside)
            except (TypeError, ValueError):
                self._problems.append(
                    Problem(
                        f"docker_options.ports has {inside!r}: {outside!r}",
                        where,
                        "port in the container: port of this machine, both from 1 to 65535",
                    )
                )
        return _record(ir.DockerOptions, options, ports=ports, volumes=self._volumes(options, where))

    def _volumes(self, options: DockerOptions, where: str) -> dict[str, str]:
        volumes: dict[str, str] = {}
        for host, inside in (options.volumes or {}).items():
            if isinstance(host, str | os.PathLike) and isinstance(inside, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance] - scripts are not checked
                volumes[os.fspath(host)] = os.fspath(inside)
            else:
                self._problems.append(
                    Problem(
                        f"docker_options.volumes has {host!r}: {inside!r}",
                        where,
                        "path on this machine: path in the container",
                    )
                )
        return volumes


def _port(value: object) -> int:
    """Docker also takes `'8080/tcp'` for the port in the container."""
    port = int(str(value).removesuffix("/tcp"))
    if isinstance(value, bool) or not 0 < port < 65536:
        raise ValueError(value)
    return port


def _record(kind: Callable[..., Record], options: object, **others: object) -> Record:
    """The experiment's record: `others`, and what the launch API has under the same names. Amounts become whole."""
    same = {name: getattr(options, name) for name in _names(kind) if name not in others and hasattr(options, name)}
    return kind(**others, **{name: round(value) if isinstance(value, float) else value for name, value in same.items()})


def _names(kind: Any) -> list[str]:
    return [each.name for each in fields(kind)]


def requirements(asked: xm.JobRequirements) -> ir.JobRequirements:
    """What was asked for in so many words; None where the choice was left to us."""
    explicit = asked.explicit
    amounts = asked.task_requirements
    tier: xm.ServiceTier | None = explicit["service_tier"]
    architecture: xm.Architecture | None = explicit["architecture"]
    return ir.JobRequirements(
        cpu=amounts.get(xm.ResourceType.CPU),
        ram=_whole(amounts.get(xm.ResourceType.RAM)),
        disk=_whole(amounts.get(xm.ResourceType.DISK)),
        accelerator=_accelerator(asked),
        architecture=architecture.name.lower() if architecture else None,
        location=asked.location,
        replicas=asked.replicas if explicit["replicas"] is not None or asked.replicas != 1 else None,
        service_tier=tier.name.lower() if tier else None,
    )


def _whole(amount: float | None) -> int | None:
    """Of bytes."""
    return None if amount is None else round(amount)


def _accelerator(asked: xm.JobRequirements) -> ir.Accelerator | None:
    """None too for zero accelerators, which a script gets from `t4=FLAGS.gpus`."""
    kind = asked.accelerator
    if kind is None or asked.topology is None or not asked.task_requirements[kind]:
        return None
    if not asked.has_topology:
        return ir.Accelerator(type=kind.name.lower(), count=asked.task_requirements[kind], slices=asked.num_slices)
    # A replica of a GPU job is one host, which the first dimension describes.
    per_host = kind in xm.GpuType and kind is not xm.ResourceType.B40_48TH
    return ir.Accelerator(
        type=kind.name.lower(),
        count=float(asked.topology.dimensions[0]) if per_host else None,
        topology=asked.topology.name,
        slices=asked.num_slices,
    )
