"""Helpers for tests of the launch API: a project with a launch script, and what a launch in it records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from xmgen.experiment import Experiment
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api import xm, xm_local
from xmgen.frontends.xmanager.api.xm_local import conversion
from xmgen.frontends.xmanager.api.xm_local.experiment import LocalExperiment
from xmgen.frontends.xmanager.recording import Recording

XID = 7


def project(folder: Path) -> Recording:
    """A launch script `launch/launcher.py` beside a folder of code `launch/trainer`."""
    code = folder / "launch" / "trainer"
    code.mkdir(parents=True)
    (code / "train.py").write_text("print('training')\n")
    script = folder / "launch" / "launcher.py"
    script.write_text("\n")
    return Recording(stack="sweep", root=folder, script=script, experiment_id=XID)


def trainer(**options: Any) -> xm.Executable:
    """The code, packaged for this machine."""
    packageable = xm.python_container(xm_local.Local.Spec(), xm.ModuleName("train"), path="trainer", **options)
    [executable] = LocalExperiment.package([packageable])
    return executable


def job(name: str | None = None, **options: Any) -> xm.Job:
    return xm.Job(trainer(), xm_local.Local(), name=name, **options)


def launch(active: Recording, body: Callable[[xm.Experiment], object]) -> Experiment:
    """What `body` records in a synchronous context."""
    with recording.use(active), xm_local.create_experiment("a sweep") as experiment:
        body(experiment)
    return converted(active)


def launch_async(active: Recording, body: Callable[[xm.Experiment], Coroutine[Any, Any, object]]) -> Experiment:
    """What `body` records in an asynchronous context."""

    async def run() -> None:
        async with xm_local.create_experiment("a sweep") as experiment:
            await body(experiment)

    with recording.use(active):
        asyncio.run(run())
    return converted(active)


def converted(active: Recording) -> Experiment:
    return conversion.to_experiment(active, stack="sweep", source="launch/launcher.py")


def edges(experiment: Experiment) -> dict[str, list[str]]:
    """First job of each unit -> the first jobs of those it waits for."""
    names = [unit.jobs[0].name for unit in experiment.units]
    return {
        name: sorted(names[position] for position in unit.depends_on)
        for name, unit in zip(names, experiment.units, strict=True)
    }
