"""Runs foreign Python in this process and leaves no trace of it behind.

Two launch scripts may have helper modules, flags and globals of the same names; each must find the process as if it
were the first.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
import sys
import sysconfig
import threading
import types
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from xmgen import __file__ as _xmgen_file

_INSTALLED = (
    *(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    Path(_xmgen_file).resolve().parent,
)
_PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})


class CommandLine(list[str]):
    """`sys.argv` of a script. read: whether anybody looked at more than the script's name."""

    read = False

    def __getitem__(self, index: Any) -> Any:
        self.read |= index != 0
        return cast(Any, super()).__getitem__(index)

    def __iter__(self) -> Iterator[str]:
        self.read = True
        return super().__iter__()

    def __len__(self) -> int:
        self.read = True
        return super().__len__()

    def __add__(self, other: Any) -> Any:
        self.read = True
        return super().__add__(other)

    def copy(self) -> list[str]:
        self.read = True
        return super().copy()


@contextlib.contextmanager
def isolated(script: Path, argv: Sequence[str]) -> Generator[CommandLine]:
    """Everything below, for the time of one script; `argv` are its arguments without its own name."""
    command_line = CommandLine([str(script), *argv])
    with (
        _process_state(),
        _modules(script.parent),
        _event_loop(),
        _output_to_stderr(),
    ):
        sys.argv = command_line
        sys.path.insert(0, str(script.parent))
        # A .pyc of a helper edited twice within a second would be taken for the new one.
        sys.dont_write_bytecode = True
        yield command_line


@contextlib.contextmanager
def main_module(module: types.ModuleType) -> Generator[None]:
    """Let `module` be found under its name: pickle, dataclasses and `typing` look their classes' module up there."""
    saved = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        if saved is None:
            sys.modules.pop(module.__name__, None)
        else:
            sys.modules[module.__name__] = saved


@contextlib.contextmanager
def _process_state() -> Generator[None]:
    """argv, path, environment, working directory and what else a process has one of are as before afterwards."""
    argv, path, environment, cwd = sys.argv, list(sys.path), dict(os.environ), Path.cwd()
    bytecode, recursion, hook = sys.dont_write_bytecode, sys.getrecursionlimit(), sys.excepthook
    mask = os.umask(0o077)
    os.umask(mask)
    try:
        with _signals():
            yield
    finally:
        os.umask(mask)
        sys.setrecursionlimit(recursion)
        sys.argv, sys.path[:], sys.excepthook = argv, path, hook
        sys.dont_write_bytecode = bytecode
        # Not cleared first: a thread of the caller must not see an empty environment.
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        os.environ.update(environment)
        os.chdir(cwd)


@contextlib.contextmanager
def _signals() -> Generator[None]:
    """Handlers of signals, and alarms: a script may time itself out, but not what comes after it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # None stands for a handler that is not Python's, which could not be put back.
    before = {number: found for number in signal.valid_signals() if (found := signal.getsignal(number)) is not None}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            if signal.getsignal(number) != handler:
                signal.signal(number, handler)


@contextlib.contextmanager
def _modules(folder: Path) -> Generator[None]:
    """Modules of the user's that are imported meanwhile are forgotten; such as stand in their way are set aside.

    Installed modules stay imported: many cannot be imported twice.
    """
    mine = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    aside = _forget(name for name in sys.modules if name.partition(".")[0] in mine and name != "__main__")
    before = set(sys.modules)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        _forget(name for name in sys.modules if name not in before)
        sys.modules.update(aside)


def _forget(names: Iterable[str]) -> dict[str, types.ModuleType]:
    """Take those of the modules that are the user's out of the imported ones."""
    # All are asked before the first goes: a namespace package looks for its parent.
    theirs = [name for name in names if is_users(name)]
    return {name: sys.modules.pop(name) for name in theirs}


def is_users(name: str) -> bool:
    """Whether the module of that name lies in a file outside the installed packages."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:
        # A namespace package has folders instead of a file.
        file = next(iter(getattr(module, "__path__", ())), None)
    if not isinstance(file, str):
        return False
    path = Path(file).resolve()
    return not _PACKAGE_FOLDERS.intersection(path.parts) and not any(path.is_relative_to(root) for root in _INSTALLED)


@contextlib.contextmanager
def _event_loop() -> Generator[None]:
    """Scripts call `asyncio.get_event_loop().run_until_complete(…)`; from Python 3.14 that needs a loop that is set.

    The thread's own is set again afterwards: `asyncio.run` in a script would leave it without one.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            before = asyncio.get_event_loop()
        except RuntimeError:
            before = None
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(before)
        loop.close()


@contextlib.contextmanager
def _output_to_stderr() -> Generator[None]:
    """What the script prints goes to stderr, and so does what its child processes print: stdout is read by programs."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        with contextlib.suppress(OSError):  # no descriptor 1 or 2: nothing to keep clean
            if sys.__stdout__:
                sys.__stdout__.flush()
            saved = os.dup(1)
            stack.callback(os.close, saved)
            os.dup2(2, 1)
            stack.callback(os.dup2, saved, 1)
        yield
