"""Docker instructions that TPU VMs need."""

from __future__ import annotations

_ARTIFACTS = "https://storage.googleapis.com/cloud-tpu-tpuvm-artifacts"
_WHEEL = "tf_nightly-2.6.0-cp38-cp38-linux_x86_64.whl"


def tpuvm_docker_instructions() -> list[str]:
    """Lines that install libtpu and the TensorFlow build that matches it (both of 2021-05-25, as XManager has them)."""
    return [
        f"RUN wget {_ARTIFACTS}/libtpu/20210525/libtpu.so -O /lib/libtpu.so",
        "RUN chmod 700 /lib/libtpu.so",
        f"RUN wget {_ARTIFACTS}/tensorflow/20210525/{_WHEEL}",
        f"RUN pip3 install {_WHEEL}",
        f"RUN rm {_WHEEL}",
    ]
