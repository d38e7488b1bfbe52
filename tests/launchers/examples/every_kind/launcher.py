"""Every kind of packageable, and requirements of every form."""

import enum

from absl import app, flags
from xmanager import xm, xm_local

_REPEAT = flags.DEFINE_multi_string("repeat", ["x", "y z"], "A flag that is given twice.")


class Schedule(enum.Enum):
    COSINE = 1


def main(_):
    with xm_local.create_experiment(experiment_title="every kind") as experiment:
        local = xm_local.Local.Spec()
        program, built, image, module = experiment.package(
            [
                xm.binary(local, path="tool.sh", args=["--plain"]),
                xm.bazel_binary(local, label="//tools:run", bazel_args=["--compilation_mode=opt"], args={"level": 1}),
                xm.container(
                    xm_local.Vertex.Spec(), "gcr.io/deeplearning-platform-release/base-cpu", args={"from": "image"}
                ),
                xm.python_container(
                    xm_local.Kubernetes.Spec(),
                    xm.ModuleName("every_kind.train"),
                    use_deep_module=True,
                    args={"rate": 0.1, "verbose": True, "unset": "default"},
                    env_vars={"PLACE": "package"},
                ),
            ]
        )
        experiment.add(
            xm.JobGroup(
                program=xm.Job(program, xm_local.Local(), args={"repeat": _REPEAT.value, "schedule": Schedule.COSINE}),
                built=xm.Job(built, xm_local.Local(xm.JobRequirements(local_gpu=1)), args={"level": 2, "deep": [[1]]}),
            )
        )
        requirements = [
            xm.JobRequirements(cpu=0.5 * xm.vCPU, memory=2 * xm.GiB, disk=10 * xm.GB),
            xm.JobRequirements({xm.ResourceType.TPU_V3: "4x4"}),
            xm.JobRequirements(tpu_v2=8, location="here", replicas=1),
            xm.JobRequirements(v100="4x2", service_tier=xm.ServiceTier.PROD),
            xm.JobRequirements(t4=1, replicas=3),
        ]
        for index, requirement in enumerate(requirements):
            experiment.add(
                xm.Job(image, xm_local.Vertex(requirement), name=f"job-{index}"), args={"args": {"n": index}}
            )
        experiment.add(
            xm.Job(
                module,
                xm_local.Kubernetes(),
                args={"verbose": False, "new": "it's", "unset": None},
                env_vars={"PLACE": "job"},
            ),
            args={"env_vars": {"SEED": 3}},
        )


if __name__ == "__main__":
    app.run(main)
