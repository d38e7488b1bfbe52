"""A base image for a machine-learning framework."""

from __future__ import annotations

import enum

from absl import logging

from xmgen.frontends.xmanager.api import xm

_DEEP_LEARNING = "gcr.io/deeplearning-platform-release"


class MLFramework(enum.Enum):
    UNKNOWN = 0
    JAX = 1
    PYTORCH = 2
    TF2 = 3
    TF1 = 4


FrameworkSpec = str | MLFramework

_IMAGES = {
    MLFramework.UNKNOWN: f"{_DEEP_LEARNING}/base-cu113",
    MLFramework.JAX: f"{_DEEP_LEARNING}/base-cu113",
    MLFramework.PYTORCH: f"{_DEEP_LEARNING}/pytorch-gpu.1-12",
    MLFramework.TF2: f"{_DEEP_LEARNING}/tf2-gpu.2-6",
    MLFramework.TF1: f"{_DEEP_LEARNING}/tf-gpu.1-15",
}
_PYTORCH_ON_TPU = "us-central1-docker.pkg.dev/tpu-pytorch-releases/docker/xla:r2.7.0_3.10_tpuvm"


def base_image(framework: FrameworkSpec, accelerator: xm.ResourceType | None) -> str:
    """The image for a framework (an MLFramework, or a name such as `jax`, `torch`, `tf2`) and an accelerator.

    Only PyTorch has a separate image for TPUs. An unknown framework gets the plain CUDA image.
    """
    if isinstance(framework, str):
        framework = _get_framework(framework)
    if framework is MLFramework.TF1:
        logging.warning("TensorFlow 1 is no longer maintained")
    if framework is MLFramework.PYTORCH and accelerator is not None and accelerator in xm.TpuType:
        return _PYTORCH_ON_TPU
    return _IMAGES[framework]


def _get_framework(framework: str) -> MLFramework:
    if framework in {"jax", "flax"}:
        return MLFramework.JAX
    if "torch" in framework:
        return MLFramework.PYTORCH
    if "tf" in framework or "tensorflow" in framework:
        return MLFramework.TF1 if "1" in framework else MLFramework.TF2
    logging.error("unknown framework %r: the base image is a plain CUDA one", framework)
    return MLFramework.UNKNOWN
