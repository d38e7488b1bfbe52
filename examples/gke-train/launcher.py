"""Trains on one T4, on a GKE cluster that comes and goes with the stack."""

from absl import app, flags
from xmanager import xm, xm_local

STEPS = flags.DEFINE_integer("steps", 2000, "Training steps.")


def main(_):
    with xm_local.create_experiment(experiment_title="Sine on a T4") as experiment:
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
        executor = xm_local.Kubernetes(xm.JobRequirements(t4=1, cpu=2, ram=6 * xm.GiB))
        experiment.add(xm.Job(name="train", executable=executable, executor=executor, args={"steps": STEPS.value}))


if __name__ == "__main__":
    app.run(main)
