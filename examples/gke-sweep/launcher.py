"""A sweep on spot L4s: a machine that is taken away costs a trial nothing but the steps since its last checkpoint."""

import itertools

from absl import app
from xmanager import xm, xm_local


def main(_):
    with xm_local.create_experiment(experiment_title="Sine: learning rate and width on spot GPUs") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.PythonContainer(
                        path=".",
                        base_image="pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
                        entrypoint=xm.ModuleName("train"),
                    ),
                    executor_spec=xm_local.Kubernetes.Spec(),
                )
            ]
        )
        executor = xm_local.Kubernetes(
            xm.JobRequirements(l4_24th=1, cpu=3, ram=12 * xm.GiB, service_tier=xm.ServiceTier.FREEBIE), retries=2
        )
        job = xm.Job(name="train", executable=executable, executor=executor, args={"steps": 20000})
        for learning_rate, width in itertools.product([0.0003, 0.001, 0.003], [64, 256]):
            experiment.add(job, args={"args": {"learning_rate": learning_rate, "width": width}})


if __name__ == "__main__":
    app.run(main)
