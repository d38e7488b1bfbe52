"""Trials on TPUs whose image is built by instructions: the project's own, and those that TPU VMs need."""

import asyncio
import os

from absl import app, flags
from xmanager import xm, xm_local
from xmanager.cloud import build_image, vertex
from xmanager.contrib import tpu

_BOARD = flags.DEFINE_string("board", None, "Full name of a TensorBoard; one of the stack's own without it.")


def main(_):
    here = os.path.basename(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH119, PTH120
    with xm_local.create_experiment(experiment_title="on TPUs") as experiment:
        image = xm.PythonContainer(
            path=".",
            base_image="debian:bookworm",
            docker_instructions=[
                "RUN apt-get update && apt-get install -y python-is-python3 python3-pip wget",
                *build_image.default_steps(here, use_deep_module=False),
                *tpu.tpuvm_docker_instructions(),
            ],
            entrypoint=xm.ModuleName("train"),
        )
        [trainer] = experiment.package([xm.Packageable(image, xm_local.Vertex.Spec(), args={})])
        board = _BOARD.value or asyncio.get_event_loop().run_until_complete(
            vertex.get_default_client().get_or_create_tensorboard("on TPUs")
        )
        for index, rate in enumerate((0.5, 0.05)):
            folder = os.environ.get("GOOGLE_CLOUD_BUCKET_NAME")
            if folder:
                folder = f"{folder}/{experiment.experiment_id}/{index}"
            executor = xm_local.Vertex(
                requirements=xm.JobRequirements(tpu_v2=8),
                tensorboard=xm_local.TensorboardCapability(name=board, base_output_directory=folder),
            )
            experiment.add(xm.Job(trainer, executor, args={"rate": rate}))


if __name__ == "__main__":
    app.run(main)
