"""TensorFlow workers on Kubernetes that find each other by name."""

from absl import app
from xmanager import xm, xm_local
from xmanager.contrib import xm_tensorflow


def main(_):
    with xm_local.create_experiment("mirrored workers") as experiment:
        [executable] = experiment.package(
            [
                xm.python_container(
                    xm_local.Kubernetes.Spec(),
                    xm.ModuleName("train"),
                    base_image="python:3.11",
                    docker_instructions=["COPY mirrored_workers/ code", "WORKDIR code"],
                )
            ]
        )
        builder = xm_tensorflow.MultiWorkerMirroredStrategyBuilder(
            experiment=experiment,
            worker_executable=executable,
            worker_executor=xm_local.Kubernetes(requirements=xm.JobRequirements(cpu=2, ram=4 * xm.GiB)),
            worker_name="replica",
            num_workers=2,
        )
        for hyperparameters in ({"rate": 0.1, "verbose": True}, {"rate": 0.2, "verbose": False}):
            experiment.add(builder.gen_job_group(), args=hyperparameters)


if __name__ == "__main__":
    app.run(main)
