"""Trains a small classifier of handwritten digits with every combination of learning rate and width."""

import itertools

from absl import app
from xmanager import xm, xm_local

LEARNING_RATES = [0.0003, 0.001, 0.003, 0.01]
WIDTHS = [16, 64]


def main(_):
    with xm_local.create_experiment(experiment_title="Digits: learning rate and width") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.PythonContainer(path=".", entrypoint=xm.ModuleName("train")),
                    executor_spec=xm_local.Local.Spec(),
                )
            ]
        )
        job = xm.Job(
            name="train",
            executable=executable,
            executor=xm_local.Local(xm.JobRequirements(cpu=1)),
            args={"epochs": 20},
        )
        for learning_rate, width in itertools.product(LEARNING_RATES, WIDTHS):
            experiment.add(job, args={"args": {"learning_rate": learning_rate, "width": width}})


if __name__ == "__main__":
    app.run(main)
