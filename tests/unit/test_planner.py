"""Experiment -> Plan, whole objects compared."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.builders import XID, experiment, job, python_container
from tests.on_gke import kubernetes
from xmgen.errors import InputError, Problem
from xmgen.experiment import (
    Accelerator,
    BazelBinary,
    Binary,
    CommandList,
    Container,
    Dockerfile,
    DockerOptions,
    Executable,
    JobRequirements,
    Kubernetes,
    Local,
    ModuleName,
    ShellSafeArg,
    TensorboardCapability,
    Vertex,
)
from xmgen.plan import planner
from xmgen.pulumi_values import UNKNOWN, UNKNOWNS

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("executable", "inputs"),
    [
        (
            python_container(),
            {
                "directory": "code/trainer",
                "digest": DIGEST,
                "command": ["python", "-m", "train"],
                "workingDirectory": "code/trainer",
                "dockerfile": "stacks/sweep/images/trainer/Dockerfile",
            },
        ),
        (
            python_container(use_deep_module=True, entrypoint=ModuleName("trainer.main")),
            {
                "directory": "code/trainer",
                "digest": DIGEST,
                "command": ["python", "-m", "trainer.main"],
                "workingDirectory": "code",
                "dockerfile": "stacks/sweep/images/trainer/Dockerfile",
            },
        ),
        (
            python_container(
                entrypoint=CommandList(("./prepare.sh", "python train.py")), docker_instructions=("RUN x",)
            ),
            {
                "directory": "code/trainer",
                "digest": DIGEST,
                "command": ["/bin/sh", "-euc", './prepare.sh\npython train.py "$@"', "sh"],
                "workingDirectory": "code/trainer",
                "dockerfile": "stacks/sweep/images/trainer/Dockerfile",
                "contextPath": "trainer",
            },
        ),
        (
            Dockerfile(name="trainer", path="code", dockerfile="docker/Dockerfile", digest=DIGEST),
            {"directory": "code", "digest": DIGEST, "dockerfile": "docker/Dockerfile"},
        ),
        (Container(name="trainer", image="redis:7"), {"image": "redis:7"}),
        (
            Binary(name="trainer", path="bin/train", digest=DIGEST),
            {"directory": "bin/train", "digest": DIGEST, "command": ["./train"], "workingDirectory": "bin"},
        ),
    ],
)
def test_what_an_executable_becomes(executable: Executable, inputs: dict[str, object]) -> None:
    plan = planner.plan(experiment(executables=(executable,)))
    assert dict(plan.executables[0].inputs) == inputs


def test_what_a_work_unit_becomes() -> None:
    executor = Local(
        requirements=JobRequirements(cpu=2.0, accelerator=Accelerator(type="local_gpu", count=1)),
        docker_options=DockerOptions(
            ports={80: 8080}, volumes={"/data": "/mnt"}, interactive=True, mount_gcs_path=False
        ),
        stream_output=False,
    )
    worker = job("--x=1", ShellSafeArg("$HOME"), name="worker-0", executor=executor, env={"A": "b"})
    server = job(name="server", executor=Local(service=True))
    planned = planner.plan(experiment(job("--first"), (worker, server), after={1: [0]})).units[1]
    assert planned.manifests[0] == {
        "name": planned.name,
        "identity": planned.identity,
        "jobs": [
            {
                "name": "worker-0",
                "hostname": f"{XID}_2_worker-0",
                "executable": "trainer",
                "args": ["--x=1", {"shell": "$HOME"}],
                "env": {"A": "b"},
                "requirements": {"cpu": 2, "gpus": 1},
                "docker": {
                    "ports": {"80": 8080},
                    "volumes": {"/data": "/mnt"},
                    "interactive": True,
                    "mountGcsPath": False,
                },
                "streamOutput": False,
            },
            {"name": "server", "hostname": f"{XID}_2_server", "executable": "trainer", "service": True},
        ],
        "dependsOn": list(planned.depends_on),
    }
    assert planned.name.startswith("worker-0-x-1-")


def test_executables_whose_names_make_one_folder_get_two() -> None:
    plan = planner.plan(
        experiment(
            job(executable="My Model"),
            job(executable="my-model"),
            job(executable="🎉"),
            executables=(python_container("My Model"), python_container("my-model"), python_container("🎉")),
        )
    )
    assert [executable.name for executable in plan.executables][:2] == ["my-model", "my-model-2"]
    assert plan.executables[2].name.startswith("executable-")
    assert [unit.manifests[0]["jobs"][0]["executable"] for unit in plan.units] == [e.name for e in plan.executables]  # type: ignore[index,call-overload]


def test_what_has_no_effect_is_said() -> None:
    executor = Local(requirements=JobRequirements(cpu=1, ram=2**30, accelerator=Accelerator(type="t4", count=1)))
    assert planner.plan(experiment(job(executor=executor))).notes == (
        "The Local executor takes cpu and local_gpu; it ignores ram, t4.",
    )


@pytest.mark.parametrize("unknown", sorted(UNKNOWNS))
def test_a_text_that_pulumi_takes_for_an_unknown_value_is_refused(unknown: str) -> None:
    with pytest.raises(InputError, match="unknown value") as caught:
        planner.plan(experiment(job(unknown), job(f"--id={unknown}"), job(env={"ID": unknown})))
    assert [problem.where for problem in caught.value.problems] == ["work unit 1, job train", "work unit 3, job train"]


def test_a_slip_of_the_finger_in_the_number_of_slices_is_refused() -> None:
    executor = Kubernetes(
        requirements=JobRequirements(accelerator=Accelerator(type="tpu_v5e", topology="4x4", slices=99_999_999))
    )
    with pytest.raises(InputError, match="99,999,999 slices"):
        planner.plan(experiment(job(executor=executor)))


def test_everything_that_cannot_be_planned_is_said_at_once() -> None:
    with pytest.raises(InputError) as caught:
        planner.plan(
            experiment(
                job(executor=Vertex(tensorboard=TensorboardCapability(name="board"))),
                job(executor=Kubernetes()),
                job(executor=Local(service=True)),
                executables=(BazelBinary(name="trainer", label="//:train"),),
            )
        )
    assert caught.value.problems == (
        Problem(
            "'board' is no TensorBoard",
            "work unit 1, job train",
            "projects/<project>/locations/<region>/tensorboards/<id>, or what "
            "`vertex.get_default_client().get_or_create_tensorboard(name)` returns",
        ),
        Problem(
            "all of its jobs are services, so it would never end",
            "work unit 3",
            "a unit needs a job that ends; leave out `service` for that one",
        ),
        Problem(
            "executable 'trainer' is built by Bazel (//:train), which a stack cannot do",
            "",
            "build it with Bazel and use xm.Binary with the program or xm.Container with the pushed image",
        ),
        Problem(
            "executable 'trainer' is built by Bazel (//:train), which a stack cannot do",
            "",
            "push the image with Bazel and use xm.Container with its name",
        ),
    )


def test_problems_come_in_the_order_of_units_and_jobs_whoever_finds_them() -> None:
    wrong_priority, wrong_count = Kubernetes(priority=-11), kubernetes(Accelerator(type="t4", count=3))
    with pytest.raises(InputError) as caught:
        planner.plan(
            experiment(
                job(executor=wrong_priority),
                (job(name="b", executor=wrong_count), job(name="a", executor=wrong_priority)),
                job(UNKNOWN, executor=kubernetes(ram=-1)),
                job(executable="bazel", executor=wrong_priority),
                job(executor=kubernetes(cpu=-1)),
                executables=(python_container(), BazelBinary(name="bazel", label="//:train")),
            )
        )
    assert [problem.where for problem in caught.value.problems] == [
        "work unit 1, job train",
        "work unit 2, job b",
        "work unit 3, job train",
        "work unit 3, job train",
        "work unit 5, job train",
        "",
    ]


@pytest.mark.parametrize("executor", [Local, Kubernetes, Vertex])
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ram": -1}, "ram is -1"),
        ({"cpu": -0.5}, "cpu is -0.5"),
        ({"cpu": math.nan}, "cpu is nan"),
        ({"cpu": math.inf}, "cpu is inf"),
        ({"disk": -1, "replicas": 0}, "disk is -1 and replicas is 0"),
        ({"replicas": -2}, "replicas is -2"),
    ],
)
def test_amounts_that_nothing_has_are_refused(
    executor: type[Local] | type[Kubernetes] | type[Vertex], asked: dict[str, Any], message: str
) -> None:
    shared = executor(requirements=JobRequirements(**asked))
    with pytest.raises(InputError) as caught:
        planner.plan(experiment(job("1", executor=shared), job("2", executor=shared)))
    found = set(caught.value.problems)
    assert (
        Problem(
            message,
            "work unit 1, job train",
            "cpu, ram and disk are more than 0 (or left out), replicas from 1 to 100000",
        )
        in found
    )
    assert {problem.message for problem in found} == {message}
