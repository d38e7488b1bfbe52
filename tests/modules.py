"""Programs of experiments as processes that have their libraries already, which take longer to load than to use."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

_LIBRARIES = ("sklearn.datasets", "sklearn.neural_network", "sklearn.svm")

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload([__name__, *_LIBRARIES])


def start(module: str, args: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> BaseProcess:
    """As `python -m module args…` in `cwd`, with these variables beside those of the server."""
    process = _forks.Process(target=_run, args=(module, args, cwd, env, log))
    process.start()
    return process


def _run(module: str, args: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path) -> None:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.chdir(cwd)
    os.environ.update(env)
    sys.path.insert(0, str(cwd))
    sys.argv = [module, *args]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
