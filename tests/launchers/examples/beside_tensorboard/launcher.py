"""A TensorBoard server beside the trials, as an auxiliary unit."""

from absl import app, flags
from xmanager import xm, xm_local
from xmanager.contrib import tensorboard

_LOGS = flags.DEFINE_string("logs", None, "Where the trials write to.")


def main(_):
    with xm_local.create_experiment(experiment_title="beside tensorboard") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.PythonContainer(entrypoint=xm.ModuleName("train")),
                    executor_spec=xm_local.Kubernetes.Spec(),
                )
            ]
        )
        logs = f"{_LOGS.value}/{experiment.experiment_id}/logs"
        tensorboard.add_tensorboard(
            experiment, logs, executor=xm_local.Kubernetes(), timeout_secs=60, args={"reload_interval": 5}
        )
        for index in range(2):
            experiment.add(
                xm.Job(
                    executable=executable,
                    executor=xm_local.Kubernetes(),
                    args={"logs": f"{logs}/{index}", "seed": index},
                )
            )


if __name__ == "__main__":
    app.run(main)
