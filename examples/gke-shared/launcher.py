"""Two stages on a cluster that other experiments use as well; the second needs machines that it does not have yet."""

from absl import app
from xmanager import xm, xm_local


async def main(_):
    async with xm_local.create_experiment(experiment_title="Primes on a shared cluster") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.PythonContainer(path=".", entrypoint=xm.ModuleName("primes")),
                    executor_spec=xm_local.Kubernetes.Spec(),
                )
            ]
        )
        small = xm_local.Kubernetes(xm.JobRequirements(cpu=1, ram=2 * xm.GiB))
        large = xm_local.Kubernetes(xm.JobRequirements(cpu=30, ram=64 * xm.GiB), priority=100)
        first = await experiment.add(xm.Job(executable, small, name="probe", args={"below": 10_000}))
        await first.wait_until_complete()
        experiment.add(xm.Job(executable, large, name="count", args={"below": 10_000_000}))


if __name__ == "__main__":
    app.run(xm.run_in_asyncio_loop(main))
