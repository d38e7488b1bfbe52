"""One job on three machines of Vertex AI: a chief, and workers that learn its address where they run."""

from absl import app, flags
from xmanager import xm, xm_local
from xmanager.cloud import utils

WORKERS = flags.DEFINE_integer("workers", 2, "Number of workers.", lower_bound=1)


def main(_):
    with xm_local.create_experiment(experiment_title="Sum on three machines") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    xm.PythonContainer(path=".", entrypoint=xm.ModuleName("total")),
                    xm_local.Vertex.Spec(),
                    # The first job of the group is the first worker pool.
                    args={"chief": xm.ShellSafeArg(utils.get_workerpool_address("workerpool0"))},
                )
            ]
        )
        spot = {"service_tier": xm.ServiceTier.FREEBIE}
        experiment.add(
            xm.JobGroup(
                chief=xm.Job(
                    executable,
                    xm_local.Vertex(xm.JobRequirements(cpu=2, **spot), restart=True),
                    args={"role": "chief", "workers": WORKERS.value},
                ),
                worker=xm.Job(
                    executable,
                    xm_local.Vertex(xm.JobRequirements(cpu=4, replicas=WORKERS.value, **spot), restart=True),
                    args={"role": "worker", "workers": WORKERS.value},
                ),
            )
        )


if __name__ == "__main__":
    app.run(main)
