"""XManager's local implementation of the launch API: the names that launch scripts use.

Launch scripts reach it as `xmanager.xm_local` while they are compiled.
"""

from typing import Any

from xmgen.frontends.xmanager.api import xm_flags as xm_flags  # defines the flags that launch scripts read
from xmgen.frontends.xmanager.api.xm_local.executors import (
    Caip,
    CaipSpec,
    DockerOptions,
    Kubernetes,
    KubernetesSpec,
    Local,
    LocalSpec,
    TensorboardCapability,
    TpuCapability,
    Vertex,
    VertexSpec,
    Volume,
)
from xmgen.frontends.xmanager.api.xm_local.experiment import create_experiment, get_experiment, list_experiments, secret

__all__ = [
    "Caip",
    "CaipSpec",
    "DockerOptions",
    "Kubernetes",
    "KubernetesSpec",
    "Local",
    "LocalSpec",
    "TensorboardCapability",
    "TpuCapability",
    "Vertex",
    "VertexSpec",
    "Volume",
    "auth",  # pyright: ignore[reportUnsupportedDunderAll] - made on first use
    "create_experiment",
    "get_experiment",
    "list_experiments",
    "secret",
]


def __getattr__(name: str) -> Any:
    if name == "auth":
        from xmgen.frontends.xmanager.api.cloud import auth  # here: it builds on this package

        return auth
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
