"""Coroutines, groups that grow after they were made, addresses that are known at run time only, edges between units."""

from absl import app, flags
from xmanager import xm, xm_local
from xmanager.cloud import utils

_NODES = flags.DEFINE_integer("nodes", 2, "Machines of each trial.")


@xm.run_in_asyncio_loop
async def main(_):
    async with xm_local.create_experiment(experiment_title="async groups") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.PythonContainer(entrypoint=xm.ModuleName("train"), base_image="python:3.11"),
                    executor_spec=xm_local.Vertex.Spec(),
                    args={
                        "master": xm.ShellSafeArg(utils.get_workerpool_address("workerpool0")),
                        "note": "keep this as it is",
                    },
                )
            ]
        )
        units = []
        for size in (64, 128):
            group = xm.JobGroup()
            for rank in range(_NODES.value):
                group.jobs[f"node_{rank}"] = xm.Job(
                    executable=executable,
                    executor=xm_local.Vertex(xm.JobRequirements(t4=2)),
                    args={"size": size, "rank": rank},
                )
            units.append(await experiment.add(group))
        print("all are added")
    for unit in units:
        await unit.wait_until_complete()
    print("all are done")


if __name__ == "__main__":
    app.run(main)
