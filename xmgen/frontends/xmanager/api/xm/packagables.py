"""One function for each kind of executable, each giving a `Packageable`.

`args` and `env_vars` are those that every job of the executable gets; a job's own are merged over them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from xmgen.frontends.xmanager.api.xm import executables
from xmgen.frontends.xmanager.api.xm.job_blocks import ExecutorSpec, Packageable, SequentialArgs, UserArgs


def _packageable(
    spec: Any, executor_spec: ExecutorSpec, args: UserArgs | None, env_vars: Mapping[str, Any] | None
) -> Packageable:
    return Packageable(spec, executor_spec, SequentialArgs.from_collection(args), dict(env_vars or {}))


def binary(
    executor_spec: ExecutorSpec,
    path: str,
    dependencies: Collection[executables.BinaryDependency] = (),
    *,
    args: UserArgs | None = None,
    env_vars: Mapping[str, Any] | None = None,
) -> Packageable:
    """A program file."""
    return _packageable(executables.Binary(path, list(dependencies)), executor_spec, args, env_vars)


def bazel_binary(
    executor_spec: ExecutorSpec,
    label: str,
    dependencies: Collection[executables.BinaryDependency] = (),
    bazel_args: Collection[str] = (),
    *,
    args: UserArgs | None = None,
    env_vars: Mapping[str, Any] | None = None,
) -> Packageable:
    """A program that Bazel builds."""
    spec = executables.BazelBinary(label, list(dependencies), list(bazel_args))
    return _packageable(spec, executor_spec, args, env_vars)


def container(
    executor_spec: ExecutorSpec,
    image_path: str,
    *,
    args: UserArgs | None = None,
    env_vars: Mapping[str, Any] | None = None,
) -> Packageable:
    """A prebuilt image."""
    return _packageable(executables.Container(image_path), executor_spec, args, env_vars)


def bazel_container(
    executor_spec: ExecutorSpec,
    label: str,
    bazel_args: Collection[str] = (),
    *,
    args: UserArgs | None = None,
    env_vars: Mapping[str, Any] | None = None,
) -> Packageable:
    """An image that Bazel builds."""
    return _packageable(executables.BazelContainer(label, list(bazel_args)), executor_spec, args, env_vars)


def python_container(
    executor_spec: ExecutorSpec,
    entrypoint: executables.ModuleName | executables.CommandList,
    path: str = ".",
    base_image: str | None = None,
    docker_instructions: list[str] | None = None,
    use_deep_module: bool = False,
    *,
    args: UserArgs | None = None,
    env_vars: Mapping[str, Any] | None = None,
) -> Packageable:
    """Python code in a folder."""
    spec = executables.PythonContainer(entrypoint, path, base_image, docker_instructions, use_deep_module)
    return _packageable(spec, executor_spec, args, env_vars)


def dockerfile_container(
    executor_spec: ExecutorSpec,
    path: str = ".",
    dockerfile: str | None = None,
    *,
    args: UserArgs | None = None,
    env_vars: Mapping[str, Any] | None = None,
) -> Packageable:
    """An image built from the user's own Dockerfile."""
    return _packageable(executables.Dockerfile(path, dockerfile or ""), executor_spec, args, env_vars)
