"""A sweep on Vertex AI, one T4 each, shown in a TensorBoard; when all have succeeded, a job compares them."""

import asyncio
import itertools

from absl import app
from xmanager import xm, xm_local
from xmanager.cloud import vertex


async def main(_):
    async with xm_local.create_experiment(experiment_title="Spirals on Vertex AI") as experiment:
        trainer, comparer = experiment.package(
            [
                xm.Packageable(xm.PythonContainer(path=".", entrypoint=xm.ModuleName(module)), xm_local.Vertex.Spec())
                for module in ("train", "compare")
            ]
        )
        board = await vertex.get_default_client().get_or_create_tensorboard("spirals")
        trial = xm_local.Vertex(
            xm.JobRequirements(t4=1, cpu=4, ram=15 * xm.GiB),
            tensorboard=xm_local.TensorboardCapability(name=board),
            timeout=2 * 3600,
        )
        trials = [
            await experiment.add(xm.Job(trainer, trial, args={"hidden": hidden, "learning_rate": rate}))
            for hidden, rate in itertools.product([16, 64], [0.1, 0.01])
        ]
        await asyncio.gather(*(unit.wait_until_complete() for unit in trials))
        await experiment.add(xm.Job(comparer, xm_local.Vertex(xm.JobRequirements(cpu=2)), name="compare"))


if __name__ == "__main__":
    app.run(xm.run_in_asyncio_loop(main))
