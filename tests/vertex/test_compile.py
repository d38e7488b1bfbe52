"""Jobs on Vertex AI as CustomJobs: the bodies of the requests, what is refused, and what runs in the container."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests import gcp_programs, programs
from tests.builders import python_container
from tests.gcp_programs import Play, Program
from tests.vectors import xmanager
from tests.vectors.invocation import invocation
from tests.vertex import protos
from tests.vertex.job_service import TOKEN, JobService
from tests.vertex.manifests import BOARD, T4, experiment, job, manifests, resolved, vertex
from tests.vertex.requests import REQUEST
from xmgen import catalog, compiler, lock, planner, program, rules, summary
from xmgen.catalog.vertex import vertex_machine
from xmgen.errors import InputError, Problem
from xmgen.executors import late_bindings
from xmgen.executors import vertex as custom_jobs
from xmgen.experiment import (
    Accelerator,
    Container,
    Dockerfile,
    Experiment,
    Job,
    Local,
    Reference,
    ShellSafeArg,
    TensorboardCapability,
)
from xmgen.provider.custom_job import CustomJobResource
from xmgen.provider.settings import Settings
from xmgen.summary import WorkerPool
from xmgen.xm_contrib.cloud import auth

ROOT = Path(__file__).resolve().parents[2]
STACKS = sorted(path.parents[2].name for path in ROOT.glob("stacks/*/manifests/vertex/jobs.yaml"))
LAUNCHERS = ROOT / "tests" / "launchers"
GIB = 2**30
WORKERPOOL0 = ShellSafeArg("--chief=%objectname(workerpool0)%")


def spec(compiled: Experiment) -> dict[str, Any]:
    [manifest] = manifests(compiled)
    return manifest["jobSpec"]


def pools(*executors: Any, **options: Any) -> list[dict[str, Any]]:
    """The worker pools of a group with these executors, without their containers."""
    jobs = tuple(job(name=f"job-{index}", executor=executor) for index, executor in enumerate(executors))
    found = spec(experiment(jobs, **options))["workerPoolSpecs"]
    return [{key: value for key, value in pool.items() if key != "containerSpec"} for pool in found]


# The body


def test_a_unit_is_one_custom_job_with_a_worker_pool_per_job() -> None:
    board = TensorboardCapability(name=BOARD.token, base_output_directory="ours/logs")
    same = {"tensorboard": board, "timeout": 3600, "restart": True}
    chief = job("--a", "1", name="chief", executor=vertex(T4, cpu=4, service_tier="freebie", on=same), env={"B": "c"})
    workers = job(name="workers", executor=vertex(T4, replicas=3, service_tier="freebie", on=same))
    compiled = experiment((chief, workers), references=(BOARD,))
    [unit] = planner.plan(compiled).units
    [image] = planner.plan(compiled).images
    t4 = {"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
    reference = f"<xmgen:image:trainer:{image.tag}>"
    folder = f"<xmgen:bucket:output>/sweep/{unit.name}"
    assert unit.manifests == (
        {
            "displayName": f"A sweep {unit.name}",
            "jobSpec": {
                "workerPoolSpecs": [
                    {
                        "machineSpec": t4,
                        "replicaCount": 1,
                        "containerSpec": {
                            "imageUri": reference,
                            "args": ["--a", "1"],
                            "env": [
                                {"name": "XMGEN_OUTPUT_DIR", "value": f"/gcs/{folder}/chief"},
                                {"name": "B", "value": "c"},
                            ],
                        },
                    },
                    {
                        "machineSpec": t4,
                        "replicaCount": 3,
                        "containerSpec": {
                            "imageUri": reference,
                            "env": [{"name": "XMGEN_OUTPUT_DIR", "value": f"/gcs/{folder}/workers"}],
                        },
                    },
                ],
                "scheduling": {"strategy": "SPOT", "timeout": "3600s", "restartJobOnWorkerRestart": True},
                "serviceAccount": "<xmgen:service-account:jobs>",
                "tensorboard": "<xmgen:tensorboard:runs>",
                "baseOutputDirectory": {"outputUriPrefix": "gs://ours/logs"},
                "enableWebAccess": True,
            },
            "labels": {
                "experiment": "a-sweep",
                "owner": "<xmgen:config:owner>",
                "stack": "sweep",
                "unit": unit.name,
            },
        },
    )


@pytest.mark.parametrize(
    ("title", "shown"),
    [("", ""), ("a" * 200, "a"), ("ab " * 60, "ab"), ("é🎉\t" * 99, "é🎉"), ("%(x)s {y} $(HOME)", "%(x)s {y} $(HOME)")],
)
def test_a_title_of_any_length_makes_a_name_that_vertex_ai_takes(title: str, shown: str) -> None:
    compiled = replace(experiment(), title=title)
    [unit] = planner.plan(compiled).units
    [manifest] = manifests(compiled)
    name = manifest["displayName"]
    assert len(name) <= 128
    assert name == unit.name if not title else name.startswith(shown) and name.endswith(f" {unit.name}")
    assert name == name.strip()


def test_jobs_of_a_group_have_a_folder_each_whatever_they_are_called() -> None:
    [manifest] = manifests(experiment((job(name="训练"), job(name="评估"), job(name="Chief 1"))))
    found = [pool["containerSpec"]["env"][0]["value"] for pool in manifest["jobSpec"]["workerPoolSpecs"]]
    folders = [each.rpartition("/")[2] for each in found]
    assert (len(set(folders)), all(folders), folders[2]) == (3, True, "chief-1")


A100 = Accelerator(type="a100", count=1)
N1 = {"machineType": "n1-standard-4"}
RESERVATION = "projects/acme/zones/us-central1-a/reservations/ours"


@pytest.mark.parametrize(
    ("executor", "pool"),
    [
        (vertex(), {"machineSpec": N1, "replicaCount": 1}),
        (vertex(cpu=1, ram=4 * GIB), {"machineSpec": {"machineType": "n1-highmem-2"}, "replicaCount": 1}),
        (
            vertex(disk=200 * 10**9),
            {"machineSpec": N1, "replicaCount": 1, "diskSpec": {"bootDiskSizeGb": 300}},
        ),
        (
            vertex(Accelerator(type="a100", count=2)),
            {
                "machineSpec": {
                    "machineType": "a2-highgpu-2g",
                    "acceleratorType": "NVIDIA_TESLA_A100",
                    "acceleratorCount": 2,
                },
                "replicaCount": 1,
            },
        ),
        (
            vertex(Accelerator(type="tpu_v5e", topology="4x4")),
            {"machineSpec": {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "4x4"}, "replicaCount": 1},
        ),
        (
            vertex(Accelerator(type="a100", count=1), service_tier="reservation", on={"reservation": RESERVATION}),
            {
                "machineSpec": {
                    "machineType": "a2-highgpu-1g",
                    "acceleratorType": "NVIDIA_TESLA_A100",
                    "acceleratorCount": 1,
                    "reservationAffinity": {
                        "reservationAffinityType": "SPECIFIC_RESERVATION",
                        "key": "compute.googleapis.com/reservation-name",
                        "values": [RESERVATION],
                    },
                },
                "replicaCount": 1,
            },
        ),
    ],
)
def test_the_machine_is_the_catalogs(executor: Any, pool: dict[str, Any]) -> None:
    assert pools(executor) == [pool]


@pytest.mark.parametrize(
    ("executor", "fields"),
    [
        (vertex(service_tier="prod"), {"scheduling": None}),
        (
            vertex(Accelerator(type="h200", count=8), service_tier="batch", on={"max_wait": 0}),
            {"scheduling": {"strategy": "FLEX_START", "maxWaitDuration": "0s"}},
        ),
        (
            vertex(on={"network": "projects/1/global/networks/n", "web_access": False, "service_account": "a@b.c"}),
            {"network": "projects/1/global/networks/n", "enableWebAccess": None, "serviceAccount": "a@b.c"},
        ),
        # Jobs on TPUs cannot have an account of their own.
        (vertex(Accelerator(type="tpu_v2", count=8)), {"serviceAccount": None}),
    ],
)
def test_what_holds_for_the_whole_job(executor: Any, fields: dict[str, Any]) -> None:
    found = spec(experiment(job(executor=executor)))
    assert {name: found.get(name) for name in fields} == fields


def test_texts_arrive_byte_for_byte() -> None:
    """Vertex AI documents an expansion for the values of variables, and none for arguments."""
    [pool] = spec(experiment(job("$(HOME)", "$$", "a b", env={"A": "$(HOME) $$ $5 $", "B": "x"})))["workerPoolSpecs"]
    container = pool["containerSpec"]
    assert container["args"] == ["$(HOME)", "$$", "a b"]
    assert container["env"][1:] == [{"name": "A", "value": "$$(HOME) $$$ $5 $"}, {"name": "B", "value": "x"}]


@given(st.text("$()aB_ "))
def test_a_variable_expands_to_what_was_written(text: str) -> None:
    def expanded(value: str) -> str:
        """As Kubernetes does it: `$$` is a dollar sign, `$(NAME)` a variable, everything else itself."""
        return re.sub(r"\$(\$|\((\w+)\))", lambda match: "$" if match[1] == "$" else "VARIABLE", value)

    [pool] = spec(experiment(job(env={"A": text})))["workerPoolSpecs"]
    assert expanded(pool["containerSpec"]["env"][1]["value"]) == text


def test_an_image_of_the_users_is_taken_as_it_is() -> None:
    compiled = experiment(job(executable="redis"), executables=(Container(name="redis", image="redis:7"),))
    assert spec(compiled)["workerPoolSpecs"][0]["containerSpec"]["imageUri"] == "redis:7"


# Addresses of worker pools


def test_a_late_binding_goes_through_the_wrapper_and_plain_arguments_around_it() -> None:
    compiled = experiment(
        (job("--a=$5", WORKERPOOL0, "b c", name="chief"), job(name="worker", env={"X": "%objectname(workerpool1)%"}))
    )
    chief, worker = (pool["containerSpec"] for pool in spec(compiled)["workerPoolSpecs"])
    script = 'exec python -m train "${1}" --chief=%objectname(workerpool0)% "${2}"'
    assert chief["command"] == ["python3", custom_jobs.WRAPPER, script, "--a=$5", "b c"]
    assert worker["command"] == ["python3", custom_jobs.WRAPPER, "exec python -m train"]
    assert "args" not in chief
    [image] = planner.plan(compiled).images
    dockerfile = image.files["Dockerfile"]
    text = Path(late_bindings.__file__).read_text(encoding="utf-8")
    assert f"COPY <<'XMGEN' {custom_jobs.WRAPPER}\n{text}XMGEN\n\nENTRYPOINT" in dockerfile
    [plain] = planner.plan(experiment(job())).images
    assert (plain.tag != image.tag, "XMGEN" in plain.files["Dockerfile"]) == (True, False)


def test_a_shell_without_addresses_needs_no_wrapper() -> None:
    [pool] = spec(experiment(job(ShellSafeArg("$HOME"), "x")))["workerPoolSpecs"]
    assert pool["containerSpec"]["command"] == ["/bin/sh", "-c", 'exec python -m train $HOME "${1}"', "sh", "x"]


CLUSTER = {"cluster": {"workerpool0": ["chief-0:2222"], "workerpool1": ["w-0:2222", "w-1:2222"]}, "task": {}}
PRINTER = f"exec {sys.executable} -c \"import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('X')]))\""


def wrapped(script: str, *arguments: str, cluster: object = CLUSTER, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs the wrapper as the container does, without any other package."""
    environment = {**os.environ, **env, **({"CLUSTER_SPEC": json.dumps(cluster)} if cluster else {})}
    command = [sys.executable, "-I", "-S", late_bindings.__file__, script, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


NASTY = ["", " ", "$HOME", "`id`", "'", '"', "\\", "*", "a\nb", "%objectname(workerpool0)%", "é🎉", "-n", "--", ";ls"]


def test_in_the_container_addresses_are_put_in_and_every_other_argument_is_left_alone() -> None:
    places = " ".join(f'"${{{number}}}"' for number in range(1, len(NASTY) + 1))
    script = f"{PRINTER} --chief=%objectname(workerpool0)% {places} --all=%objectname(workerpool1)%,x"
    done = wrapped(script, *NASTY, X="tcp://%objectname(workerpool1)%")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        ["--chief=chief-0:2222", *NASTY, "--all=w-0:2222,x"],
        "tcp://w-0:2222",
    ]


def test_a_machine_of_its_own_is_its_own_chief() -> None:
    done = wrapped(f"{PRINTER} %objectname(workerpool0)%", cluster=None)
    assert json.loads(done.stdout)[0] == ["127.0.0.1:29500"]


def test_a_worker_pool_that_is_not_there_ends_the_job_with_a_word() -> None:
    done = wrapped(f"{PRINTER} %objectname(workerpool7)%")
    assert done.returncode == 1
    assert done.stderr == ("%objectname(workerpool7)%: there is no such worker pool, only workerpool0, workerpool1\n")


# What is refused

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
            experiment(job(executor=vertex(on={"reservation": "ours", "network": "n", "timeout": -1}))),
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


def test_the_region_is_where_the_reservation_is() -> None:
    reserved = vertex(A100, service_tier="reservation", on={"reservation": RESERVATION})
    plan = planner.plan(experiment(job(executor=reserved)))
    assert plan.vertex is not None
    assert plan.vertex.region == "us-central1"


def test_secrets_are_shown_by_vertex_ai_which_is_noted() -> None:
    secret = Reference(kind="secret", name="key")
    plan = planner.plan(experiment(job(env={"KEY": secret.token}), references=(secret,)))
    assert plan.notes == (
        "Vertex AI shows the arguments and environment of a CustomJob, secrets included, to whoever may read it.",
    )


def test_plain_text_that_looks_like_an_address_is_left_alone_and_noted() -> None:
    compiled = experiment(job("%objectname(workerpool0)%"))
    assert spec(compiled)["workerPoolSpecs"][0]["containerSpec"]["args"] == ["%objectname(workerpool0)%"]
    assert planner.plan(compiled).notes == (
        "Some arguments hold %objectname(…)% as plain text and keep it; "
        "xm.ShellSafeArg(utils.get_workerpool_address(…)) becomes the address.",
    )


# Against the official messages, and the service


def accepted(bodies: list[dict[str, Any]], service: JobService) -> None:
    """Checked and created by the provider, and read back by the messages as they were sent."""
    import asyncio

    async def create() -> None:
        resource = CustomJobResource(Settings(vertex_endpoint=service.address, access_token=TOKEN))
        for body in bodies:
            inputs = {**body, "project": "acme", "region": "us-central1"}
            assert await resource.check(REQUEST, inputs, None) == {}
            await resource.create(REQUEST, inputs)

    asyncio.run(create())
    assert len(service.bodies) == len(bodies)
    for body in bodies:
        message = protos.parsed(body)
        assert without_types(body) == without_types({key: message[key] for key in body})


def without_types(value: Any) -> Any:
    """JSON has integers of 64 bits as texts, and messages leave out empty ones."""
    if isinstance(value, dict):
        return {key: without_types(item) for key, item in value.items() if item != ""}
    if isinstance(value, list):
        return [without_types(item) for item in value]
    return str(value)


def accelerators() -> list[Accelerator]:
    """Everything that a job could ask for on Vertex AI, and more."""
    known = catalog.catalog()
    gpus = [Accelerator(type=gpu.id, count=count) for gpu in known.gpus.values() for count in gpu.counts]
    tpus = [Accelerator(type=tpu.id, topology=each) for tpu in known.tpus.values() for each in tpu.vertex.topologies]
    cores = [Accelerator(type=tpu, count=count) for tpu in ("tpu_v2", "tpu_v3") for count in (8, 32, 512)]
    return [*gpus, *tpus, *cores]


@pytest.mark.parametrize("tier", ["prod", "batch", "freebie", "on-demand", "spot", "flex-start", "reservation"])
def test_whatever_is_planned_is_taken_by_the_preview_and_the_messages(tier: str, service: JobService) -> None:
    on = {"reservation": RESERVATION} if tier == "reservation" else {}
    bodies = list[dict[str, Any]]()
    for asked in [None, *accelerators()]:
        executor = vertex(asked, service_tier=tier, on=on)
        if not isinstance(vertex_machine(executor.requirements, reservation=executor.reservation), Problem):
            bodies += map(resolved, manifests(experiment(job(executor=executor))))
    assert len(bodies) > 10
    accepted(bodies, service)


def test_there_are_stacks_on_vertex_ai() -> None:
    assert {"vertex", "vertex-group"} <= set(STACKS)


@pytest.mark.parametrize("name", STACKS)
def test_every_manifest_of_an_example_is_a_custom_job(name: str, service: JobService) -> None:
    text = (ROOT / "stacks" / name / "manifests" / "vertex" / "jobs.yaml").read_text(encoding="utf-8")
    accepted([resolved(manifest) for manifest in yaml.safe_load_all(text)], service)


XMANAGERS = ["async_groups", "own_dockerfile", "tensorboard_sweep"]


@pytest.mark.parametrize("name", XMANAGERS)
def test_launch_scripts_for_xmanager_are_custom_jobs(
    name: str, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = json.loads((LAUNCHERS / "vectors" / f"{name}.json").read_bytes())
    with xmanager.copied(LAUNCHERS) as root:
        script = root / "examples" / name / "launcher.py"
        how = invocation(name, script, vector)
        for variable, value in how.env.items():
            monkeypatch.setenv(variable, value)
        compiled = compiler.load(script, root=root, stack="example", flags=how.flags)
    bodies = [resolved(manifest) for manifest in manifests(compiled)]
    assert bodies
    accepted(bodies, service)


SEED = [
    ("xm.JobRequirements(cpu=1, ram=4 * xm.GiB, T4=1)", "n1-highmem-2", "NVIDIA_TESLA_T4", 1),
    ("xm.JobRequirements(cpu=1, ram=4 * xm.GiB, TPU_V2=8)", "cloud-tpu", "TPU_V2", 8),
]


@pytest.mark.parametrize(("requirements", "machine", "accelerator", "count"), SEED)
def test_xmanagers_documentation(
    requirements: str, machine: str, accelerator: str, count: int, tmp_path: Path, service: JobService
) -> None:
    (tmp_path / "train.py").touch()
    script = tmp_path / "launcher.py"
    script.write_text(
        f"""\
from absl import app
from xmanager import xm, xm_local

def main(_):
    with xm_local.create_experiment('docs') as experiment:
        [executable] = experiment.package([
            xm.python_container(
                xm_local.Vertex.Spec(push_image_tag='gcr.io/acme/image:tag'), xm.ModuleName('train'), path='.'
            )
        ])
        experiment.add(xm.Job(executable, xm_local.Vertex({requirements})))

app.run(main)
"""
    )
    compiled = compiler.load(script, root=tmp_path, stack="docs")
    [manifest] = manifests(compiled)
    [pool] = manifest["jobSpec"]["workerPoolSpecs"]
    found = pool["machineSpec"]
    assert (found["machineType"], found["acceleratorType"], found["acceleratorCount"]) == (machine, accelerator, count)
    assert planner.plan(compiled).images[0].push_tag == "gcr.io/acme/image:tag"
    accepted([resolved(manifest)], service)


# The examples' code


def test_the_examples_run_here_as_well(tmp_path: Path) -> None:
    def start(example: str, module: str, *arguments: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT / "examples" / example,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env},
            stdout=subprocess.PIPE,
            text=True,
        )

    trial = start("vertex", "train", "--hidden=16", "--steps=1000", XMGEN_OUTPUT_DIR=str(tmp_path / "trial"))
    assert float(trial.communicate(timeout=60)[0].split()[-1]) > 0.6
    comparison = start("vertex", "compare", XMGEN_OUTPUT_DIR=str(tmp_path / "compare"))
    assert re.fullmatch(r"0\.\d{3}  trial\n", comparison.communicate(timeout=60)[0])
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"--chief=127.0.0.1:{free.getsockname()[1]}"
    chief = start("vertex-group", "total", "--role=chief", address)
    task = ({"task": {"index": index}} for index in range(2))
    workers = [start("vertex-group", "total", "--role=worker", address, CLUSTER_SPEC=json.dumps(t)) for t in task]
    assert chief.communicate(timeout=60)[0] == "1 + 2 + … + 1,000,000 = 500,000,500,000\n"
    assert [worker.wait(60) for worker in workers] == [0, 0]


# The program


def written_elsewhere() -> list[Job]:
    """Jobs with folders in buckets that are not the stack's."""
    folders = ("ours/a", "gs://ours/b", f"{auth.PROJECT.token}-logs")
    boards = [TensorboardCapability(name=BOARD.token, base_output_directory=folder) for folder in folders]
    return [job(executor=vertex(on={"tensorboard": board})) for board in boards]


def with_given_accounts() -> list[Job]:
    """Jobs that act as accounts of the experiment's own."""
    accounts = ("ours@acme.iam.gserviceaccount.com", f"theirs@{auth.PROJECT.token}.iam.gserviceaccount.com")
    return [job(executor=vertex(on={"service_account": account})) for account in accounts]


def roles(played: Program) -> dict[str, tuple[str, str]]:
    """Where the jobs' account has a role, and which, by the names of the resources."""
    rights = ("gcp:storage/bucketIAMMember:BucketIAMMember", "gcp:projects/iAMMember:IAMMember")
    found = [each for type in rights for each in played.of(type)]
    assert {each.inputs["member"] for each in found} <= {f"serviceAccount:{each}" for each in emails(played)}
    return {each.name: (each.inputs.get("bucket") or each.inputs["project"], each.inputs["role"]) for each in found}


def apis(played: Program) -> set[str]:
    return {each.inputs["service"] for each in played.of("gcp:projects/service:Service")}


def emails(played: Program) -> list[str]:
    accounts = played.of("gcp:serviceaccount/account:Account")
    return [f"{each.inputs['accountId']}@acme.iam.gserviceaccount.com" for each in accounts]


@pytest.mark.gcp
def test_programs_declare_what_the_manifests_say(tmp_path: Path) -> None:
    secret, config = Reference(kind="secret", name="wandbKey"), Reference(kind="config", name="nickname")
    bucket = Reference(kind="bucket", name="staging")
    board = TensorboardCapability(name=BOARD.token, base_output_directory=f"{bucket.token}/logs")
    first = job(f"--name={config.token}", "<xmgen:config:owner>", env={"KEY": secret.token, "M": "a$(b)"})
    group = (
        job(WORKERPOOL0, name="chief", executor=vertex(location="us-east1", on={"tensorboard": board})),
        job(name="worker", executor=vertex(replicas=2, location="us-east1", on={"tensorboard": board})),
    )
    trainer = python_container("trainer", push_image_tag="gcr.io/acme/trainer:latest")
    references = (secret, config, bucket, BOARD)
    compiled = experiment(first, group, executables=(trainer,), after={1: [0]}, references=references)
    # Copies: running a program leaves caches beside it.
    folders = {name: Path(shutil.copytree(ROOT / "stacks" / name, tmp_path / name)) for name in STACKS}
    for name, each in {
        "everything": compiled,
        "on-tpus": experiment(job(executor=vertex(Accelerator(type="tpu_v2", count=8)))),
        "given accounts": experiment(*with_given_accounts(), references=(auth.PROJECT,)),
        "elsewhere": experiment(*written_elsewhere(), references=(BOARD, auth.PROJECT)),
    }.items():
        programs.write(tmp_path / name, program.render(planner.plan(each)))
        folders[name] = tmp_path / name
    settings = {"experiments:nickname": "$(ada)", "experiments:wandbKey": "k$$y"}
    plays = {name: Play(folder, settings) for name, folder in folders.items()}
    plays["given"] = Play(folders["vertex"], {"experiments:bucket": "ours", "gcp:region": "asia-east1"})
    plays["elsewhere, given"] = Play(folders["elsewhere"], {"experiments:bucket": "ours"})
    played = gcp_programs.run(plays)
    assert {name: each.error for name, each in played.items() if each.error} == {}
    assert [problem for each in played.values() for resource in each.resources for problem in resource.problems] == []
    assert gcp_programs.type_problems(list(folders.values())) == []

    [image] = played["everything"].of("docker-build:index:Image")
    assert image.inputs["tags"][1] == "gcr.io/acme/trainer:latest"
    assert played["everything"].of("gcp:artifactregistry/repository:Repository") == []
    train, second = played["everything"].of("xmgen:vertex:CustomJob")
    output = "sweep-output-1234/sweep"
    [pool] = train.inputs["jobSpec"]["workerPoolSpecs"]
    # Tokens that the experiment did not make are the user's own text.
    assert pool["containerSpec"]["args"] == ["--name=$(ada)", "<xmgen:config:owner>"]
    assert pool["containerSpec"]["env"] == [
        {"name": "XMGEN_OUTPUT_DIR", "value": f"/gcs/{output}/{train.name}"},
        {"name": "KEY", "value": "k$$$y"},
        {"name": "M", "value": "a$$(b)"},
    ]
    assert train.inputs["labels"] | {"unit": ""} == {
        "experiment": "a-sweep",
        "owner": "ada",
        "stack": "sweep",
        "unit": "",
    }
    assert (train.inputs["region"], train.inputs["project"], train.inputs["wait"]) == ("us-east1", "acme", True)
    assert train.options["delete_before_replace"] is True
    assert second.inputs["after"] == {train.name: f"{train.name}-real"}
    assert "wait" not in second.inputs
    assert second.inputs["jobSpec"]["tensorboard"] == "projects/1/locations/us-east1/tensorboards/runs"
    assert second.inputs["jobSpec"]["baseOutputDirectory"] == {"outputUriPrefix": "gs://sweep-output-1234/logs"}
    email = "sweep-jobs@acme.iam.gserviceaccount.com"
    assert second.inputs["jobSpec"]["serviceAccount"] == email

    assert roles(played["everything"]) == {
        "output": ("sweep-output-1234", "roles/storage.objectUser"),
        "tensorboard": ("acme", "roles/aiplatform.user"),
    }
    # Roles in the project take an API more.
    assert apis(played["everything"]) - apis(played["vertex-group"]) == {"cloudresourcemanager.googleapis.com"}
    # A job that writes to no TensorBoard has nothing to do with the project.
    assert roles(played["vertex-group"]) == {"output": ("vertex-group-output-1234", "roles/storage.objectUser")}
    # Jobs on TPUs act as Vertex AI's own account.
    assert roles(played["on-tpus"]) == {}
    assert roles(played["elsewhere"]) == {
        "output": ("sweep-output-1234", "roles/storage.objectUser"),
        "tensorboard": ("acme", "roles/aiplatform.user"),
        "bucket-ours": ("ours", "roles/storage.objectUser"),
        "bucket-xmgen-config-gcp-project-logs": ("acme-logs", "roles/storage.objectUser"),
    }
    rights = played["given accounts"].of("gcp:storage/bucketIAMMember:BucketIAMMember")
    assert [(each.name, each.inputs["bucket"], each.inputs["member"]) for each in rights] == [
        ("output-ours", "sweep-output-1234", "serviceAccount:ours@acme.iam.gserviceaccount.com"),
        ("output-theirs", "sweep-output-1234", "serviceAccount:theirs@acme.iam.gserviceaccount.com"),
    ]
    assert played["given accounts"].of("gcp:serviceaccount/account:Account") == []
    assert roles(played["elsewhere, given"]) == {
        "output": ("ours", "roles/storage.objectUser"),
        "tensorboard": ("acme", "roles/aiplatform.user"),
        "bucket-xmgen-config-gcp-project-logs": ("acme-logs", "roles/storage.objectUser"),
    }

    assert played["on-tpus"].of("gcp:serviceaccount/account:Account") == []
    assert played["given"].of("gcp:storage/bucket:Bucket") == []
    given = played["given"].of("xmgen:vertex:CustomJob")[0]
    assert given.inputs["region"] == "asia-east1"
    assert given.inputs["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"].startswith("gs://ours/vertex/")


def test_the_lock_file_keeps_every_setting() -> None:
    settings = {
        "reservation": RESERVATION,
        "timeout": 1,
        "max_wait": 2,
        "restart": True,
        "network": "n",
        "web_access": False,
        "service_account": "a@b",
    }
    compiled = experiment(job(executor=vertex(on=settings)))
    assert lock.loads(lock.dumps(compiled), "lock") == compiled


def test_images_are_built_for_the_machines_that_run_them() -> None:
    gb200 = vertex(Accelerator(type="gb200", count=4), on={"reservation": RESERVATION})
    built = {
        name: planner.plan(experiment(*jobs)).images[0].architectures
        for name, jobs in {"n1": [job()], "gb200": [job(executor=gb200)], "both": [job(), job(executor=gb200)]}.items()
    }
    assert built == {"n1": ("amd64",), "gb200": ("arm64",), "both": ("amd64", "arm64")}


def test_a_summary_says_what_the_worker_pools_are() -> None:
    spot = {"service_tier": "freebie"}
    chief, workers = job(executor=vertex(T4, **spot)), job(name="workers", executor=vertex(T4, replicas=3, **spot))
    plan = planner.plan(experiment((chief, workers), (chief, workers), job(executor=vertex(cpu=4))))
    assert summary.worker_pools(plan) == [
        WorkerPool("train", "n1-standard-4", "1 x NVIDIA_TESLA_T4", "spot", replicas=1, units=2),
        WorkerPool("workers", "n1-standard-4", "1 x NVIDIA_TESLA_T4", "spot", replicas=3, units=2),
        WorkerPool("train", "n1-standard-4", "", "on-demand", replicas=1, units=1),
    ]
    assert "| workers | `n1-standard-4` | 1 x NVIDIA\\_TESLA\\_T4 | spot | 3 | 2 |\n" in summary.render(plan)
