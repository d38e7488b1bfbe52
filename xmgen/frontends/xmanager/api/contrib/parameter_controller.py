"""A job that launches other jobs while it runs: a coroutine of the launch script, packaged into a container.

The controller's container installs XManager and launches with it, so what it launches is no part of the stack.
"""

from __future__ import annotations

import functools
import pickle
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import flags

from xmgen import names, sources
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.contrib import portable_pickle
from xmgen.frontends.xmanager.api.xm import problems
from xmgen.project import controllers

_DATA_FILE = "job.pkl"
_INIT_FILE = "init.pkl"
_ENTRY = Path(__file__).with_name("process_entry.py")

Controller = Callable[..., Awaitable[None]]
"""`async def controller(experiment, ...)`."""


def controller(
    *,
    executor: xm.Executor,
    controller_name: str = "parameter_controller",
    controller_env_vars: Mapping[str, str] | None = None,
    controller_args: Mapping[str, Any] | None = None,
    package_path: str = ".",
    python_path: Sequence[str] | None = None,
    use_host_db_config: bool = True,
) -> Callable[[Controller], Callable[..., xm.AuxiliaryUnitJob]]:
    """Make of a coroutine function one whose result `experiment.add` takes: an auxiliary unit that runs it.

    executor:            where the controller's job runs.
    controller_args:     flags of XManager inside it.
    package_path:        folder with the code that it needs and a requirements.txt.
    python_path:         folders in it to import from.
    use_host_db_config:  copy the file of --xm_db_yaml_config_path, which says where XManager keeps its records.
    """

    def decorate(function: Controller) -> Callable[..., xm.AuxiliaryUnitJob]:
        @functools.wraps(function)
        def make(*args: Any, **kwargs: Any) -> xm.AuxiliaryUnitJob:
            async def generate(unit: xm.ExperimentUnit) -> None:
                folder, flags_of_config = _package(
                    controller_name,
                    (unit.experiment.experiment_id, function, args, kwargs),
                    package_path,
                    python_path or (),
                    use_host_db_config,
                )
                spec = _container(folder, python_path is not None)
                [executable] = unit.experiment.package([xm.Packageable(spec, executor.Spec())])
                unit.add(
                    xm.Job(
                        executable,
                        executor,
                        name=controller_name,
                        args=_with_config(controller_args or {}, flags_of_config),
                        env_vars=dict(controller_env_vars or {}),
                    )
                )

            return xm.AuxiliaryUnitJob(generate, importance=xm.Importance.HIGH, termination_delay_secs=0)

        return make

    return decorate


def _with_config(args: Mapping[str, Any], config: Mapping[str, str]) -> dict[str, Any]:
    if clash := sorted(set(args) & set(config)):
        raise problems.invalid(
            f"controller_args sets --{clash[0]}, which use_host_db_config sets too",
            "leave the flag out, or pass use_host_db_config=False",
        )
    return {**args, **config}


def _container(folder: Path, has_init: bool) -> xm.PythonContainer:
    command = f"python -m process_entry --data_file={_DATA_FILE}"
    context = folder.name
    return xm.PythonContainer(
        path=str(folder),
        # The pickle holds byte code, which only this version of Python reads.
        base_image=f"python:{sys.version_info.major}.{sys.version_info.minor}",
        entrypoint=xm.CommandList([command + (f" --init_file={_INIT_FILE}" if has_init else "")]),
        docker_instructions=[
            "RUN apt-get update && apt-get install -y git",
            "RUN python -m pip install --upgrade pip",
            f"COPY {context}/requirements.txt requirements.txt",
            "RUN python -m pip install xmanager",
            "RUN python -m pip install -r requirements.txt",
            f"COPY {context}/ {context}",
            f"WORKDIR {context}",
        ],
    )


def _package(
    name: str,
    call: tuple[int, Controller, tuple[Any, ...], dict[str, Any]],
    package_path: str,
    python_path: Sequence[str],
    use_host_db_config: bool,
) -> tuple[Path, dict[str, str]]:
    """A folder with the code, the pickled call and its entry point; and the flags that go with it.

    It is one of the machine's private folders (the configuration may hold a password), remade by every compile.
    """
    active = recording.current()
    code = Path(xm.utils.resolve_path_relative_to_launcher(package_path))
    if not (code / "requirements.txt").is_file():
        raise problems.invalid(
            f"the controller's package_path has no requirements.txt: {package_path}",
            "write one with what the controller imports; it may be empty",
        )
    folder = active.root / controllers(active.stack) / (names.slug(name) or "controller")
    shutil.rmtree(folder, ignore_errors=True)
    for relative in sources.files(code):
        _copy(code / relative, folder / relative)
    shutil.copyfile(_ENTRY, folder / _ENTRY.name)
    (folder / _DATA_FILE).write_bytes(portable_pickle.dumps(call, f"the controller {call[1].__name__}"))
    if python_path:
        (folder / _INIT_FILE).write_bytes(pickle.dumps([_inside(code, path) for path in python_path], protocol=5))
    if not use_host_db_config:
        return folder, {}
    config = _host_config()
    _copy(config, folder / config.name)
    return folder, {"xm_db_yaml_config_path": config.name}


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def _inside(code: Path, path: str) -> str:
    folder = Path(xm.utils.resolve_path_relative_to_launcher(path))
    if not folder.is_relative_to(code):
        raise problems.invalid(f"python_path {path!r} lies outside package_path", "only package_path is packaged")
    return folder.relative_to(code).as_posix()


def _host_config() -> Path:
    path: str | None = flags.FLAGS.xm_db_yaml_config_path
    if not path:
        raise problems.invalid(
            "the controller needs --xm_db_yaml_config_path, the file that says where XManager keeps its records",
            "add it after `--` on the command line, or pass use_host_db_config=False",
        )
    config = Path(xm.utils.resolve_path_relative_to_launcher(path))
    if not config.is_file():
        raise problems.invalid(f"--xm_db_yaml_config_path: no such file: {path}")
    return config
