"""XManager's launch API, recording an experiment instead of launching it.

Launch scripts reach it as `xmanager.xm` while they are compiled.
"""

# ruff: noqa: F403 - those three say what they have to offer

from xmgen.frontends.xmanager.api.xm import (
    async_packager,
    compute_units,
    core,
    executables,
    framework_utils,
    job_blocks,
    job_operators,
    metadata_context,
    packagables,
    resources,
    utils,
)
from xmgen.frontends.xmanager.api.xm.compute_units import GB, KB, MB, PB, TB, GiB, KiB, MiB, PiB, TiB, vCPU
from xmgen.frontends.xmanager.api.xm.core import *
from xmgen.frontends.xmanager.api.xm.executables import (
    BazelBinary,
    BazelContainer,
    Binary,
    BinaryDependency,
    CommandList,
    Container,
    Dockerfile,
    ModuleName,
    PythonContainer,
)
from xmgen.frontends.xmanager.api.xm.framework_utils import framework_label
from xmgen.frontends.xmanager.api.xm.job_blocks import *
from xmgen.frontends.xmanager.api.xm.metadata_context import ContextAnnotations, MetadataContext
from xmgen.frontends.xmanager.api.xm.packagables import (
    bazel_binary,
    bazel_container,
    binary,
    container,
    dockerfile_container,
    python_container,
)
from xmgen.frontends.xmanager.api.xm.resources import *
from xmgen.frontends.xmanager.api.xm.utils import ShellSafeArg, run_in_asyncio_loop

__all__ = [
    "GB",
    "KB",
    "MB",
    "PB",
    "TB",
    "BazelBinary",
    "BazelContainer",
    "Binary",
    "BinaryDependency",
    "CommandList",
    "Container",
    "ContextAnnotations",
    "Dockerfile",
    "GiB",
    "KiB",
    "MetadataContext",
    "MiB",
    "ModuleName",
    "PiB",
    "PythonContainer",
    "ShellSafeArg",
    "TiB",
    "async_packager",
    "bazel_binary",
    "bazel_container",
    "binary",
    "compute_units",
    "container",
    "core",
    "dockerfile_container",
    "executables",
    "framework_label",
    "framework_utils",
    "job_blocks",
    "job_operators",
    "metadata_context",
    "packagables",
    "python_container",
    "resources",
    "run_in_asyncio_loop",
    "utils",
    "vCPU",
]
__all__ += core.__all__
__all__ += job_blocks.__all__
__all__ += resources.__all__
