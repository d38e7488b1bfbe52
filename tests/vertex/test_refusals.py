"""What Vertex AI does not do is refused when it is compiled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.vertex.manifests import A100, BOARD, RESERVATION, T4, WORKERPOOL0, experiment, job, vertex
from xmgen import rules
from xmgen.errors import InputError, Problem
from xmgen.experiment import Accelerator, Dockerfile, Experiment, Local, ShellSafeArg, TensorboardCapability
from xmgen.plan import planner

GROUP = "work unit 1"
TRAIN = "work unit 1, job train"


@pytest.mark.parametrize(
    ("compiled", "problems"),
    [
        (
            experiment(tuple(job(name=f"job-{index}") for index in range(5))),
            [
                Problem(
                    "has 5 jobs, but a CustomJob has at most 4 worker pools",
                    GROUP,
                    "use `replicas` for jobs that are alike, or add some as work units of their own",
                )
            ],
        ),
        (
            experiment(job(executor=vertex(replicas=2))),
            [
                Problem(
                    "its first job has 2 replicas, but the first worker pool of a CustomJob has one",
                    GROUP,
                    "xm.JobGroup(chief=…, workers=…): a chief of one replica, then a job with the other replicas",
                )
            ],
        ),
        (
            experiment((job(executor=vertex(Accelerator(type="tpu_v2", count=8))), job(name="other"))),
            [
                Problem(
                    "a CustomJob on TPUs has one worker pool", GROUP, "add the other jobs as work units of their own"
                )
            ],
        ),
        (
            experiment((job(executor=vertex(T4, service_tier="freebie")), job(name="other"))),
            [
                Problem(
                    "its jobs ask for SPOT, ON_DEMAND, but a CustomJob is scheduled as a whole",
                    GROUP,
                    "one service_tier for all",
                )
            ],
        ),
        (
            experiment(
                (
                    job(executor=vertex(on={"tensorboard": TensorboardCapability(name=BOARD.token), "timeout": 5})),
                    job(name="other"),
                )
            ),
            [
                Problem("its jobs differ in `tensorboard`, which a CustomJob has once", GROUP, "give all the same"),
                Problem("its jobs differ in `timeout`, which a CustomJob has once", GROUP, "give all the same"),
            ],
        ),
        (
            experiment(job(executor=vertex(location="us-east1")), job(executor=vertex(location="us-west1-b"))),
            [
                Problem(
                    "jobs ask for us-east1, us-west1, but a stack's bucket, images and jobs are in one region",
                    "",
                    "compile the jobs of each region into a stack of their own",
                )
            ],
        ),
        (
            experiment(job(ShellSafeArg("--x=%objectname(workerpool1)%"))),
            [
                Problem(
                    "asks for the address of 'workerpool1', which its CustomJob does not have",
                    TRAIN,
                    "there: workerpool0, in the order of the group's jobs",
                )
            ],
        ),
        (
            experiment(
                job(WORKERPOOL0),
                executables=(Dockerfile(name="trainer", path="a", dockerfile="a/Dockerfile", digest="sha256:0"),),
            ),
            [
                Problem(
                    "has a ShellSafeArg, but the entry point of 'trainer' is not known",
                    TRAIN,
                    "use xm.PythonContainer, or let the image's own entry point read CLUSTER_SPEC",
                )
            ],
        ),
        (
            experiment(
                job(env={"CHIEF": "%objectname(workerpool0)%"}),
                executables=(Dockerfile(name="trainer", path="a", dockerfile="a/Dockerfile", digest="sha256:0"),),
            ),
            [
                Problem(
                    "has the address of a worker pool in its environment, but the entry point of 'trainer' is not "
                    "known",
                    TRAIN,
                    "use xm.PythonContainer, or let the image's own entry point read CLUSTER_SPEC",
                )
            ],
        ),
        (
            experiment(job(env={f"A{number}": "" for number in range(100)})),
            [Problem("has 100 environment variables", TRAIN, "at most 99 on Vertex AI")],
        ),
        (
            experiment(job(executor=vertex(on={"tensorboard": TensorboardCapability(name="runs")}))),
            [
                Problem(
                    "'runs' is no TensorBoard",
                    TRAIN,
                    "projects/<project>/locations/<region>/tensorboards/<id>, or what "
                    "`vertex.get_default_client().get_or_create_tensorboard(name)` returns",
                )
            ],
        ),
        (
            experiment(job(executor=vertex(on={"service_account": "me"}))),
            [Problem("'me' is no service account", TRAIN, rules.not_a_service_account("me"))],
        ),
        (
            experiment(
                job(
                    executor=vertex(
                        A100, service_tier="reservation", location="us-east1", on={"reservation": RESERVATION}
                    )
                )
            ),
            [
                Problem(
                    "jobs ask for us-central1, us-east1, but a stack's bucket, images and jobs are in one region",
                    "",
                    "compile the jobs of each region into a stack of their own",
                )
            ],
        ),
        (
            experiment(
                (
                    job(executor=vertex(A100, service_tier="batch")),
                    job(name="w", executor=vertex(replace(A100, count=2), replicas=2, service_tier="batch")),
                )
            ),
            [
                Problem(
                    "its jobs take 1 x a2-highgpu-1g, 2 x a2-highgpu-2g, but flex-start takes one kind of machine for "
                    "all",
                    GROUP,
                    "ask for the same in all jobs, or for another service_tier",
                )
            ],
        ),
        (
            experiment(job(executor=vertex(A100, service_tier="batch", on={"timeout": 8 * 24 * 3600}))),
            [Problem("its timeout is 691200 s, but flex-start lends machines for seven days", GROUP, "at most 604800")],
        ),
        (
            experiment(job(executor=vertex(on={"network": "projects/acme/global/networks/n"}))),
            [
                Problem(
                    "'projects/acme/global/networks/n' is no network",
                    TRAIN,
                    "projects/<project number>/global/networks/<network>",
                )
            ],
        ),
        (
            experiment(job(env={"A-B": ""})),
            [Problem("'A-B' cannot name an environment variable on Vertex AI", TRAIN, "letters, digits and `_`")],
        ),
        (
            experiment(job(executor=vertex(Accelerator(type="tpu_v4", topology="2x2x1")))),
            [Problem("Vertex AI has no custom jobs on tpu_v4", TRAIN)],
        ),
        (
            experiment(job(executor=vertex(A100, on={"reservation": "ours", "network": "n", "timeout": -1}))),
            [
                Problem("'n' is no network", TRAIN, "projects/<project number>/global/networks/<network>"),
                Problem(
                    "'ours' is no reservation that Vertex AI finds",
                    TRAIN,
                    "projects/<project>/zones/<zone>/reservations/<name>",
                ),
                Problem("timeout is -1", TRAIN, "from 1 to 315576000000 seconds"),
            ],
        ),
        (
            experiment(job(), job(executor=Local())),  # type: ignore[arg-type]
            [
                Problem(
                    "some work units run on this machine and others on Vertex AI, but a stack runs in one place",
                    "work unit 2, job train",
                    "compile them into stacks of their own: a flag of the launch script can choose",
                )
            ],
        ),
    ],
)
def test_what_vertex_ai_does_not_do_is_refused_with_what_it_does(compiled: Experiment, problems: list[Problem]) -> None:
    with pytest.raises(InputError) as caught:
        planner.plan(compiled)
    assert list(caught.value.problems) == problems


def test_what_is_wrong_with_an_executor_that_a_sweep_shares_is_said_once() -> None:
    shared = vertex(on={"network": "n"})
    with pytest.raises(InputError) as caught:
        planner.plan(experiment(job("1", executor=shared), job("2", executor=shared)))
    assert [problem.message for problem in caught.value.problems] == ["'n' is no network"]
