"""Two trials on Vertex that write to one TensorBoard."""

import asyncio
import os

from absl import app, flags
from xmanager import xm, xm_local
from xmanager.cloud import vertex

FLAGS = flags.FLAGS
flags.DEFINE_string("tensorboard", None, "Name of an existing TensorBoard.")
flags.DEFINE_integer("gpus", 1, "GPUs of each trial.")


def main(_):
    with xm_local.create_experiment(experiment_title="tensorboard sweep") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.PythonContainer(path=".", entrypoint=xm.ModuleName("train")),
                    executor_spec=xm_local.Vertex.Spec(),
                    args={},
                )
            ]
        )
        tensorboard = FLAGS.tensorboard
        if not tensorboard:
            tensorboard = asyncio.get_event_loop().run_until_complete(
                vertex.get_default_client().get_or_create_tensorboard("sweeps")
            )
        bucket = os.environ["GOOGLE_CLOUD_BUCKET_NAME"]
        for index, rate in enumerate([0.5, 1e-05]):
            capability = xm_local.TensorboardCapability(
                name=tensorboard, base_output_directory=f"{bucket}/{experiment.experiment_id}/{index}"
            )
            experiment.add(
                xm.Job(
                    executable=executable,
                    executor=xm_local.Vertex(requirements=xm.JobRequirements(v100=FLAGS.gpus), tensorboard=capability),
                    args={"rate": rate},
                )
            )


if __name__ == "__main__":
    app.run(main)
