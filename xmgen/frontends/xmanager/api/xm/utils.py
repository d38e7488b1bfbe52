"""Helpers of the launch API that launch scripts and its other modules use."""

from __future__ import annotations

import abc
import asyncio
import concurrent.futures
import enum
import functools
import os
import shlex
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import attrs
from absl import flags

from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api.xm.problems import unsupported

FLAGS = flags.FLAGS
if "xm_launch_script" not in FLAGS:
    flags.DEFINE_string("xm_launch_script", None, "Path of the launch script that uses the launch API.")

P = ParamSpec("P")
T = TypeVar("T")


class SpecialArg(abc.ABC):  # noqa: B024 - a marker, as in XManager
    """An argument that is not serialised like other values."""


@attrs.define(slots=False)
class ShellSafeArg(SpecialArg):
    """Text that a shell in the job's environment expands: `ShellSafeArg('$HOSTNAME')`. Every other argument is
    passed on byte for byte."""

    arg: str

    def __str__(self) -> str:
        # Inside an f-string it would silently become an ordinary argument.
        raise RuntimeError(f"{self!r} cannot become part of a text: it would no longer be expanded by the shell")


_PLAIN = frozenset({str, int, float, bool})


def ARGV_ESCAPER(value: Any) -> str:
    """The token that a program receives for `value`."""
    # First what is usual: a sweep has many arguments.
    if type(value) in _PLAIN:
        return str(value)
    if isinstance(value, ShellSafeArg):
        return value.arg
    return str(value.name) if isinstance(value, enum.Enum) else str(value)


def ARG_ESCAPER(value: Any) -> str:
    """The token for `value` in a command line that a POSIX shell reads."""
    return value.arg if isinstance(value, ShellSafeArg) else shlex.quote(ARGV_ESCAPER(value))


def trivial_kwargs_joiner(key: str, value: str) -> str:
    return f"{key}={value}"


def run_in_asyncio_loop(f: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Decorator: the asynchronous function `f` as an ordinary one. Works inside a running loop too."""

    @functools.wraps(f)
    def decorated(*args: P.args, **kwargs: P.kwargs) -> T:
        def run() -> T:
            loop = asyncio.new_event_loop()
            try:
                return loop.run_until_complete(f(*args, **kwargs))
            finally:
                loop.run_until_complete(cancel_tasks())
                loop.close()

        if not is_in_running_loop():
            return run()
        with concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(recording.in_this_recording(run)).result()

    return decorated


async def cancel_tasks() -> None:
    """Ends what the running loop still has to do: a task that is left over complains when it is collected."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=1)


def is_in_running_loop() -> bool:
    return asyncio._get_running_loop() is not None  # pyright: ignore[reportPrivateUsage] - documented for frameworks


def find_launch_script_path() -> str:
    """Absolute path of the launch script; empty when there is none (an interactive session)."""
    script = recording.current().script
    if script is not None:
        return str(script)
    path = sys.argv[0] if sys.argv else ""
    given: str | None = FLAGS.xm_launch_script if FLAGS.is_parsed() else None
    path = given or path
    if not path.endswith(".py"):
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        path = main if main and os.access(main, os.R_OK) else path
    return str(Path(path).absolute()) if path else ""


def resolve_path_relative_to_launcher(path: str) -> str:
    """`path` as it is when absolute, else relative to the launch script's folder (never to the working directory).

    Raises RuntimeError when a relative path is given and there is no launch script.
    """
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance] - scripts are not checked
        raise unsupported(f"a path is a text, not {path!r}")
    path = os.fspath(path)
    if Path(path).is_absolute():
        return path
    script = find_launch_script_path()
    if not script or not os.access(script, os.R_OK):
        raise RuntimeError(f"{path!r} is relative to the launch script, and there is no readable file {script!r}")
    return str((Path(script).resolve().parent / path).resolve())
