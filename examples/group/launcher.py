"""Data-parallel training: a parameter server and two workers, jobs of one group that talk over TCP.

In containers the jobs find each other by the name XManager gives them; as processes all are on this machine.
"""

from absl import app, flags
from xmanager import xm, xm_local

WORKERS = flags.DEFINE_integer("workers", 2, "Number of workers.", lower_bound=1)


def main(_):
    with xm_local.create_experiment(experiment_title="Digits with a parameter server") as experiment:
        server, worker = experiment.package(
            [
                xm.Packageable(
                    xm.PythonContainer(path=".", entrypoint=xm.ModuleName("train")),
                    xm_local.Local.Spec(),
                    args={"role": role},
                )
                for role in ("server", "worker")
            ]
        )

        async def group(work_unit, learning_rate):
            address = f"{work_unit.get_full_job_name('server')}:28470"
            executor = xm_local.Local()
            jobs = {
                f"worker-{shard}": xm.Job(
                    worker, executor, args={"server": address, "shard": shard, "shards": WORKERS.value}
                )
                for shard in range(WORKERS.value)
            }
            server_args = {"server": address, "shards": WORKERS.value, "learning_rate": learning_rate}
            work_unit.add(xm.JobGroup(server=xm.Job(server, executor, args=server_args), **jobs))

        experiment.add(group, args={"learning_rate": 0.5})


if __name__ == "__main__":
    app.run(main)
