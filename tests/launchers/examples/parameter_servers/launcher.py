"""A chief, workers and a parameter server on Kubernetes."""

from absl import app
from xmanager import xm, xm_local
from xmanager.contrib import xm_tensorflow


def main(argv):
    del argv
    gpu = xm_local.Kubernetes(requirements=xm.JobRequirements(p100=1))
    with xm_local.create_experiment(experiment_title="parameter servers") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.PythonContainer(entrypoint=xm.CommandList(["python train.py"])),
                    executor_spec=xm_local.Kubernetes.Spec(),
                )
            ]
        )
        builder = xm_tensorflow.ParameterServerStrategyBuilder(
            experiment=experiment,
            chief_executable=executable,
            chief_executor=gpu,
            worker_executable=executable,
            worker_executor=gpu,
            ps_executable=executable,
            ps_executor=xm_local.Kubernetes(),
            num_workers=2,
            num_ps=1,
        )
        experiment.add(builder.gen_job_group(), args={"steps": 10})


if __name__ == "__main__":
    app.run(main)
