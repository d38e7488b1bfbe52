"""Distributed TensorFlow: three workers with a T4 each, which find each other through TF_CONFIG."""

from absl import app, flags
from xmanager import xm, xm_local
from xmanager.contrib import xm_tensorflow

WORKERS = flags.DEFINE_integer("workers", 3, "Number of workers.", lower_bound=1)


def main(_):
    with xm_local.create_experiment(experiment_title="Digits on several workers") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.PythonContainer(
                        path=".", base_image="tensorflow/tensorflow:2.18.0-gpu", entrypoint=xm.ModuleName("train")
                    ),
                    executor_spec=xm_local.Kubernetes.Spec(),
                )
            ]
        )
        builder = xm_tensorflow.MultiWorkerMirroredStrategyBuilder(
            experiment=experiment,
            worker_executable=executable,
            worker_executor=xm_local.Kubernetes(xm.JobRequirements(t4=1, cpu=2, ram=6 * xm.GiB)),
            num_workers=WORKERS.value,
        )
        for learning_rate in (0.01, 0.001):
            experiment.add(builder.gen_job_group(), args={"learning_rate": learning_rate})


if __name__ == "__main__":
    app.run(main)
