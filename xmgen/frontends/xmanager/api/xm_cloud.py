"""`xmanager.xm_cloud`, the client of a service that runs experiments: none of it can become part of a stack."""

from __future__ import annotations

from typing import NoReturn

from xmgen.frontends.xmanager.api.xm import problems


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise problems.unsupported(
        f"xm_cloud.{name} asks XManager's own service to run the experiment, which a stack does without",
        "use xm_local.create_experiment(...) and xm_local.Kubernetes(...)",
    )
