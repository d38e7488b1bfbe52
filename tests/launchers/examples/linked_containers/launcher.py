"""Containers on this machine that reach each other by name."""

from absl import app
from xmanager import xm, xm_local


def main(argv):
    del argv
    with xm_local.create_experiment(experiment_title="linked containers") as experiment:
        [database, server] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.Container(image_path="registry.example/team/valkey:8"),
                    executor_spec=xm_local.Local.Spec(),
                    args={"save": "", "appendonly": "no"},
                ),
                xm.bazel_container(xm_local.Local.Spec(), label="//service:image.tar", bazel_args=["--config=release"]),
            ]
        )

        async def generator(work_unit, port):
            work_unit.add(
                xm.JobGroup(
                    web=xm.Job(
                        executable=server,
                        executor=xm_local.Local(
                            docker_options=xm_local.DockerOptions(ports={port: 8000 + port}, interactive=True)
                        ),
                        args={"store": work_unit.get_full_job_name("store"), "port": port},
                    ),
                    data=xm.JobGroup(
                        store=xm.Job(
                            name="store",
                            executable=database,
                            executor=xm_local.Local(
                                docker_options=xm_local.DockerOptions(
                                    volumes={"/tmp/store": "/data"}, mount_gcs_path=False
                                )
                            ),
                        )
                    ),
                )
            )

        for port in (80, 81):
            experiment.add(generator, args={"port": port})


if __name__ == "__main__":
    app.run(main)
