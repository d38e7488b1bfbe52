"""A TPU slice of four hosts: one program on each, sixteen chips together."""

from absl import app, flags
from xmanager import xm, xm_local

TOPOLOGY = flags.DEFINE_string("topology", "4x4", "The slice, or several of them: 4x4*2.")


def main(_):
    with xm_local.create_experiment(experiment_title="Sum over a slice") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.PythonContainer(path=".", entrypoint=xm.ModuleName("train")),
                    executor_spec=xm_local.Kubernetes.Spec(),
                )
            ]
        )
        requirements = xm.JobRequirements(tpu_v5e=TOPOLOGY.value, cpu=24, ram=48 * xm.GiB)
        experiment.add(
            xm.Job(
                name="train",
                executable=executable,
                executor=xm_local.Kubernetes(requirements, shared_memory=16 * xm.GiB),
                args={"steps": 100},
            )
        )


if __name__ == "__main__":
    app.run(main)
