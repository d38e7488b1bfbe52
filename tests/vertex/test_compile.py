"""Jobs on Vertex AI as CustomJobs: the bodies of the requests, and what a plan says beside them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vertex.manifests import A100, BOARD, RESERVATION, T4, experiment, job, manifests, spec, vertex
from xmgen.executors.vertex.worker_pools import WorkerPool, worker_pools
from xmgen.experiment import Accelerator, Container, Reference, TensorboardCapability
from xmgen.plan import planner
from xmgen.program import summary
from xmgen.stack import lock

GIB = 2**30


def pools(*executors: Any, **options: Any) -> list[dict[str, Any]]:
    """The worker pools of a group with these executors, without their containers."""
    jobs = tuple(job(name=f"job-{index}", executor=executor) for index, executor in enumerate(executors))
    found = spec(experiment(jobs, **options))["workerPoolSpecs"]
    return [{key: value for key, value in pool.items() if key != "containerSpec"} for pool in found]


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


N1 = {"machineType": "n1-standard-4"}


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
    bodies = [(plan.experiment.units[unit.position].jobs, unit.manifests[0]) for unit in plan.units]
    assert worker_pools(bodies) == [
        WorkerPool("train", "n1-standard-4", "1 x NVIDIA_TESLA_T4", "spot", replicas=1, units=2),
        WorkerPool("workers", "n1-standard-4", "1 x NVIDIA_TESLA_T4", "spot", replicas=3, units=2),
        WorkerPool("train", "n1-standard-4", "", "on-demand", replicas=1, units=1),
    ]
    assert "| workers | `n1-standard-4` | 1 x NVIDIA\\_TESLA\\_T4 | spot | 3 | 2 |\n" in summary.render(plan)
