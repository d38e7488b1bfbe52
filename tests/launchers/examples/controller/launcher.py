"""A coroutine that launches jobs from inside the cluster."""

import os

from absl import app, flags
from xmanager import xm, xm_local
from xmanager.contrib import parameter_controller


def main(_):
    with xm_local.create_experiment(experiment_title="controller") as experiment:

        @parameter_controller.controller(
            executor=xm_local.Kubernetes(),
            controller_name="conductor",
            controller_args={"xm_k8s_service_account_name": flags.FLAGS.xm_k8s_service_account_name},
            controller_env_vars={"GOOGLE_CLOUD_BUCKET_NAME": os.environ["GOOGLE_CLOUD_BUCKET_NAME"]},
            package_path="packaged",
        )
        async def conduct(experiment: xm.Experiment, seconds):
            [executable] = experiment.package(
                [
                    xm.Packageable(
                        executable_spec=xm.PythonContainer(path="job", entrypoint=xm.ModuleName("work")),
                        executor_spec=xm_local.Kubernetes.Spec(),
                        args={"seconds": seconds},
                    )
                ]
            )
            unit = await experiment.add(xm.Job(executable, xm_local.Kubernetes()))
            await unit.wait_until_complete()

        experiment.add(conduct(seconds=5))


if __name__ == "__main__":
    app.run(main)
