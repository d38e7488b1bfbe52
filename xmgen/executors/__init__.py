"""What a job becomes where it runs: a folder for each executor, and here what several share.

A folder has `planner.py`, the compile-time side of the interface (`planning`), and `runtime.py`, the run-time side
(`base`). Nothing else names an executor: they are found here.
"""

from __future__ import annotations

import pkgutil

_FOLDERS = {"cluster": "gke"}
"""Of what a stack may run on that is no folder's name: a stack that is but a cluster."""


def folders() -> list[str]:
    """Those of executors, by name; this machine first, for which executables are planned that no job uses."""
    found = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    return sorted(found, key=lambda name: (name != "local", name))


def folder_of(runs: str) -> str | None:
    """The folder for what a stack runs on, as its `resources.yaml` says it; None where there is none."""
    name = _FOLDERS.get(runs, runs)
    return name if name in folders() else None
