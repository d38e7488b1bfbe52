"""Runs an image that is built from a Dockerfile of our own, with settings in environment variables."""

from absl import app
from xmanager import xm, xm_local


def main(_):
    with xm_local.create_experiment(experiment_title="Pi from a Dockerfile") as experiment:
        [executable] = experiment.package(
            [xm.Packageable(xm.Dockerfile(path="."), xm_local.Local.Spec(), env_vars={"SAMPLES": "200000"})]
        )
        job = xm.Job(
            name="estimate",
            executable=executable,
            executor=xm_local.Local(xm.JobRequirements(cpu=1)),
            env_vars={"LANG": "C.UTF-8"},
        )
        for seed in range(3):
            experiment.add(job, args={"args": {"seed": seed}})
        experiment.add(job, args={"args": {"seed": 0}, "env_vars": {"SAMPLES": "1000000"}})


if __name__ == "__main__":
    app.run(main)
