"""Launch scripts of the shapes that XManager's users have on Kubernetes: compiled, and their programs run under mocks.

What is compared is whole: every Job with all that its launch script decides, and everything beside the Jobs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import gcp_programs, programs
from tests.gcp_programs import Declared, Play, Program
from tests.vectors.invocation import ENVIRONMENT
from tests.vectors.xmanager import LAUNCHERS, copied
from xmgen import compiler, names

pytestmark = pytest.mark.gcp

FLAGS = {
    "mirrored_workers": (),
    "parameter_servers": (),
    "beside_tensorboard": ("--logs=gs://bkt/runs",),
    "controller": ("--xm_db_yaml_config_path=records.yaml",),
}
JOB = "kubernetes:batch/v1:Job"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("stacks")
    with pytest.MonkeyPatch.context() as patch, copied(LAUNCHERS) as root:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        for name, flags in FLAGS.items():
            source = root / "examples" / name / "launcher.py"
            _, files = compiler.compile_source(source, root=root, stack=names.stack_name(name), flags=flags)
            programs.write(folder / names.stack_name(name), files)
    return {name: folder / names.stack_name(name) for name in FLAGS}


@pytest.fixture(scope="module")
def played(folders: dict[str, Path]) -> dict[str, Program]:
    return gcp_programs.run({name: Play(folder) for name, folder in folders.items()})


def xid(name: str) -> int:
    return names.experiment_id(names.stack_name(name))


def decided(job: Declared) -> dict[str, Any]:
    """What a launch script decides about a Job."""
    pod = job.inputs["spec"]["template"]["spec"]
    [container] = pod["containers"]
    env = {each["name"]: each["value"] for each in container["env"]}
    assert env.pop("XMGEN_OUTPUT_DIR") == "/xmgen/output"
    image = container["image"].rpartition("/")[2].partition(":")[0]
    found = {
        "job": job.inputs["metadata"]["labels"]["xmgen/job"],
        "image": image,
        "args": container.get("args"),
        "env": env,
        "accelerator": pod["nodeSelector"].get("cloud.google.com/gke-accelerator"),
        "limits": container["resources"].get("limits"),
        "account": pod["serviceAccountName"],
        "host": (pod.get("hostname"), pod.get("subdomain")),
        "service": job.inputs["spec"]["template"]["metadata"]["labels"].get("service"),
    }
    return {key: value for key, value in found.items() if value not in (None, {}, (None, None))}


def beside(program: Program) -> list[tuple[str, str]]:
    """What there is on the cluster beside the Jobs."""
    on_cluster = [each for each in program.resources if each.type.startswith("kubernetes:") and each.type != JOB]
    return [(each.type.rpartition(":")[2], each.name) for each in on_cluster]


@pytest.mark.parametrize("name", FLAGS)
def test_a_program_runs_with_inputs_that_pulumi_gcp_takes(name: str, played: dict[str, Program]) -> None:
    assert played[name].error == ""
    assert [problem for resource in played[name].resources for problem in resource.problems] == []


def test_mirrored_workers(played: dict[str, Program]) -> None:
    number, found = xid("mirrored_workers"), played["mirrored_workers"]

    def worker(unit: int, index: int, *args: str) -> dict[str, Any]:
        hosts = [
            f"{number}-{unit}-replica-{each}.experiments.mirrored-workers.svc.cluster.local:2222" for each in (0, 1)
        ]
        return {
            "job": f"replica-{index}",
            "image": "mirrored-workers",
            "args": list(args),
            "env": {
                "TF_CONFIG": json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
            },
            "limits": {"memory": "4Gi"},
            "account": "jobs",
            "host": (f"{number}-{unit}-replica-{index}", "experiments"),
            "service": "experiments",
        }

    assert [decided(each) for each in found.of(JOB)] == [
        worker(1, 0, "--rate=0.1", "--verbose"),
        worker(1, 1, "--rate=0.1", "--verbose"),
        worker(2, 0, "--rate=0.2", "--noverbose"),
        worker(2, 1, "--rate=0.2", "--noverbose"),
    ]
    assert beside(found) == [
        ("Namespace", "mirrored-workers"),
        ("ServiceAccount", "jobs"),
        ("Service", "experiments"),
    ]


def test_a_chief_workers_and_a_parameter_server(played: dict[str, Program]) -> None:
    found = played["parameter_servers"]

    def host(job: str) -> str:
        return f"{xid('parameter_servers')}-1-{job}"

    def address(job: str) -> str:
        return f"{host(job)}.experiments.parameter-servers.svc.cluster.local:2222"

    cluster = {
        "chief": [address("chief")],
        "worker": [address("worker-0"), address("worker-1")],
        "ps": [address("ps-0")],
    }
    on_gpu = {"accelerator": "nvidia-tesla-p100", "limits": {"nvidia.com/gpu": "1"}}

    def task(job: str, kind: str, index: int, **more: Any) -> dict[str, Any]:
        return {
            "job": job,
            "image": "parameter-servers",
            "env": {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})},
            "account": "jobs",
            "host": (host(job), "experiments"),
            "service": "experiments",
            **more,
        }

    # XManager hands the arguments of a group to the jobs of its inner groups alone.
    assert [decided(each) for each in found.of(JOB)] == [
        task("chief", "chief", 0, **on_gpu),
        task("ps-0", "ps", 0, args=["--steps=10"]),
        task("worker-0", "worker", 0, args=["--steps=10"], **on_gpu),
        task("worker-1", "worker", 1, args=["--steps=10"], **on_gpu),
    ]
    assert beside(found) == [
        ("Namespace", "parameter-servers"),
        ("ServiceAccount", "jobs"),
        ("Service", "experiments"),
    ]


def test_a_tensorboard_beside_the_trials(played: dict[str, Program]) -> None:
    found = played["beside_tensorboard"]
    logs = f"gs://bkt/runs/{xid('beside_tensorboard')}/logs"
    trial = {"job": "beside-tensorboard", "image": "beside-tensorboard", "account": "jobs"}
    assert [decided(each) for each in found.of(JOB)] == [
        {
            "job": "tensorboard",
            "image": "beside-tensorboard-2",
            "args": [
                f"--logdir={logs}",
                "--port=6006",
                "--host=0.0.0.0",
                "--load_fast=false",
                "--reload_interval=5",
            ],
            "account": "jobs",
        },
        {**trial, "args": [f"--logs={logs}/0", "--seed=0"]},
        {**trial, "args": [f"--logs={logs}/1", "--seed=1"]},
    ]
    assert beside(found) == [("Namespace", "beside-tensorboard"), ("ServiceAccount", "jobs")]


def test_a_controller(played: dict[str, Program]) -> None:
    found = played["controller"]
    assert [decided(each) for each in found.of(JOB)] == [
        {
            "job": "conductor",
            "image": "conductor",
            "args": ["--xm_k8s_service_account_name=default", "--xm_db_yaml_config_path=records.yaml"],
            "env": {"GOOGLE_CLOUD_BUCKET_NAME": "bkt"},
            "account": "controllers",
        }
    ]
    assert beside(found) == [
        ("Namespace", "controller"),
        ("ServiceAccount", "jobs"),
        ("ServiceAccount", "controllers"),
        ("Role", "controller-controllers"),
        ("RoleBinding", "controller-controllers"),
        ("Role", "controller-controllers-default"),
        ("RoleBinding", "controller-controllers-default"),
    ]
    for place, name in (("controller", "controller-controllers"), ("default", "controller-controllers-default")):
        rights = found.get("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", name).inputs
        assert rights == {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "controller-controllers", "namespace": place},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "controller-controllers"},
            "subjects": [{"kind": "ServiceAccount", "name": "controllers", "namespace": "controller"}],
        }
    # XManager stages there what it builds.
    staging = found.get("gcp:storage/bucketIAMMember:BucketIAMMember", "controllers-bucket-bkt").inputs
    assert (staging["bucket"], staging["member"].partition("@")[0]) == ("bkt", "serviceAccount:controller-controllers")


def test_programs_type_check(folders: dict[str, Path]) -> None:
    assert gcp_programs.type_problems(list(folders.values())) == []
