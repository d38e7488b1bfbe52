"""Three stages that wait for each other: prepare the data, train one model per setting, evaluate the best.

The stages hand their data on in the folder `outputs` beside the code. As processes they find it there; containers
share it as a Docker volume, mounted where the image has that folder.
"""

from absl import app, flags
from xmanager import xm, xm_local

REGULARISATIONS = flags.DEFINE_list("regularisations", ["0.01", "0.1", "1", "10"], "Settings to train with.")


@xm.run_in_asyncio_loop
async def main(_):
    async with xm_local.create_experiment(experiment_title="Digits in three stages") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    # `pipeline.stages` is imported from above this folder, which puts the code into /workdir/pipeline.
                    xm.PythonContainer(path=".", entrypoint=xm.ModuleName("pipeline.stages"), use_deep_module=True),
                    xm_local.Local.Spec(),
                )
            ]
        )
        executor = xm_local.Local(
            xm.JobRequirements(cpu=1),
            docker_options=xm_local.DockerOptions(volumes={"pipeline-outputs": "/workdir/pipeline/outputs"}),
        )

        preprocess = await experiment.add(
            xm.Job(executable, executor, name="preprocess", args={"stage": "preprocess", "seed": 0})
        )
        await preprocess.wait_until_complete()

        trials = []
        for value in REGULARISATIONS.value:
            args = {"stage": "train", "regularisation": value}
            trials.append(await experiment.add(xm.Job(executable, executor, name="train", args=args)))
        for trial in trials:
            await trial.wait_until_complete()

        args = {"stage": "evaluate", "regularisation": REGULARISATIONS.value}
        await experiment.add(xm.Job(executable, executor, name="evaluate", args=args))


if __name__ == "__main__":
    app.run(main)
