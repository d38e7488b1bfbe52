"""Jobs as dictionaries, names, labels, machines: tables, and what must hold for any input."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmgen.errors import InputError
from xmgen.frontends.caliban import jobs, labels, machines, packaging, settings
from xmgen.frontends.caliban.mlflow import mlflow_args

RUN = jobs.Run(experiment={"b": True, "a": "$(X)"}, args=("in.csv",), group="sweep")
LABEL = re.compile(r"([a-z][a-z0-9_-]{0,62})?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def test_a_simple_job() -> None:
    accelerator = machines.parse_gpu_spec("2xT4")
    options = {"name": "My.Job", "image": "i:1", "min_cpu": 1500, "min_mem": 7000, "index": 0}
    assert jobs.simple_job(RUN, **options, accelerator=accelerator, machine_type="n1-standard-8") == {  # type: ignore[arg-type]
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "my.job-"},
        "spec": {
            "backoffLimit": 4,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "hostIPC": True,
                    "containers": [
                        {
                            "name": "my-job",
                            "image": "i:1",
                            "imagePullPolicy": "Always",
                            "args": ["in.csv", "--a", "$$(X)", "--b"],
                            "env": [],
                            "resources": {
                                "requests": {"cpu": "1500m", "memory": "7000M"},
                                "limits": {"nvidia.com/gpu": 2},
                            },
                        }
                    ],
                    "nodeSelector": {
                        "cloud.google.com/gke-spot": "true",
                        "node.kubernetes.io/instance-type": "n1-standard-8",
                        "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
                    },
                    "tolerations": [
                        {
                            "key": "cloud.google.com/gke-spot",
                            "operator": "Equal",
                            "value": "true",
                            "effect": "NoSchedule",
                        }
                    ],
                }
            },
        },
    }


def test_a_slice_of_several_hosts_is_no_simple_job() -> None:
    with pytest.raises(InputError, match="32xtpu_v3 is a slice of 4 hosts, and this Job has one pod"):
        jobs.container_limits(machines.parse_tpu_spec("32xV3"))


def test_jobs_are_counted_from_one_with_labels() -> None:
    runs = [jobs.Run(experiment={"lr": lr}, args=("--x",), group="sweep") for lr in (0.1, 0.2)]
    specs = jobs.job_specs("train", {"region": "r"}, {"Team": "A.B", "lr": "mine"}, runs)
    assert list(specs) == [
        {
            "jobId": f"train_{index}",
            "labels": {"team": "a_b", "lr": label, "x": ""},
            "trainingInput": {"region": "r", "args": ["--x", "--lr", value]},
        }
        for index, value, label in ((1, "0.1", "0_1"), (2, "0.2", "0_2"))
    ]


def test_a_local_job_has_the_programs_arguments_last() -> None:
    job = jobs.local_job(RUN, "GPU", "IMG", 3, ["--rm"], jobs.window_size(80, 24), mlflow=True)
    command = job["command"]
    config = json.loads(command[command.index("--caliban_config") + 1])
    assert command == [
        *("docker", "run", "--platform", "linux/amd64", "--runtime", "nvidia", "--ipc", "host", "--rm"),
        *("-e", "PYTHONUNBUFFERED=1", "-e", "COLUMNS=80", "-e", "LINES=24", "IMG"),
        *("--caliban_config", json.dumps(config), "in.csv", "--a", "$(X)", "--b"),
    ]
    assert config["env"]["MLFLOW_RUN_NAME"] == "sweep-3"
    assert job["container"] == "IMG"


def test_a_project_without_mlflow_has_no_arguments_of_the_launchers() -> None:
    assert RUN.argv(1, {"a": "x"}, mlflow=False) == ["in.csv", "--a", "$(X)", "--b"]


def test_tags_keep_their_type_and_a_run_may_have_a_name() -> None:
    option, value = mlflow_args("sweep", 1, {"a": "x", "b": 7}, run_name="mine")
    assert option == "--caliban_config"
    assert json.loads(value) == {
        "env": {"ENVVAR_a": "x", "ENVVAR_b": 7, "MLFLOW_EXPERIMENT_NAME": "sweep", "MLFLOW_RUN_NAME": "mine"}
    }


@given(st.text())
def test_labels_are_valid_and_making_them_twice_changes_nothing(text: str) -> None:
    key, value = labels.key_label(text), labels.value_label(text)
    assert LABEL.fullmatch(key)
    assert re.fullmatch(r"[a-z0-9_-]{0,63}", value)
    assert (labels.key_label(key), labels.value_label(value)) == (key, value)


@given(st.text())
def test_job_names_are_valid_and_making_them_twice_changes_nothing(text: str) -> None:
    name = jobs.sanitize_job_name(text)
    assert SUBDOMAIN.fullmatch(name)
    assert len(name) <= jobs.JOB_NAME_LENGTH
    assert jobs.sanitize_job_name(name) == name
    assert "." not in jobs.container_name(text)


@given(st.lists(st.text(max_size=8)))
def test_labels_of_arguments_are_valid(args: list[str]) -> None:
    found = labels.script_args_to_labels(args)
    assert all(key and LABEL.fullmatch(key) for key in found)
    assert labels.sanitize_labels(found) == found


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--lr", "-1e-3", "-v", "--n=a=b"], {"lr": "1e-3", "v": "", "n": "ab"}),
        (["--", "--!", "x", "-"], {}),
        (["--a", "1", "2", "--a"], {"a": ""}),
    ],
)
def test_labels_of_arguments(args: list[str], expected: dict[str, str]) -> None:
    assert labels.script_args_to_labels(args) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("V100", "'V100' is no COUNTxTYPE"),
        ("xV100", "'' is no number of accelerators"),
        ("1xV3", "V3 is no GPU"),
        ("1xK80", "the accelerator K80 cannot be had: Google Cloud no longer has K80 GPUs"),
        ("3xV100", "no machine has 3 GPUs of type v100"),
        ("-1xV100", "no machine has -1 GPUs of type v100"),
    ],
)
def test_gpus_that_cannot_be_had(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        machines.parse_gpu_spec(text)
    assert [problem.message for problem in caught.value.problems] == [message]


def test_gpus_of_today_can_be_had() -> None:
    assert machines.parse_gpu_spec("8xh100").accelerator.type == "h100"
    assert machines.parse_gpu_spec("1xRTX_PRO_6000").type == "rtx_pro_6000"


@pytest.mark.parametrize("text", ["1xT4", "7xV3", "0xV3", "-32xV3"])
def test_slices_that_cannot_be_had(text: str) -> None:
    with pytest.raises(InputError):
        machines.parse_tpu_spec(text)


_PACKAGES = "letters, digits, + . - and no hyphen first, such as libgl1 or git=1:2.*"


@pytest.mark.parametrize("package", ["git", "g++", "libgl1:arm64", "git=1:2.30.2-1+deb11u2", "vim/stable", "2to3"])
def test_packages_are_as_apt_takes_them(package: str) -> None:
    assert settings.apt_packages(settings.validate({"apt_packages": [package]}), "CPU") == [package]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"unknown": 1}, ["unknown: unknown key 'unknown'"]),
        ({"gcloud": {"regoin": "x"}}, ["gcloud.regoin: unknown key 'regoin'"]),
        ({"apt_packages": {"cpu": ["a", 1]}}, ["apt_packages.cpu.1: Input should be a valid string"]),
        *(
            ({"apt_packages": written}, [f"{where}: {package!r} is no package of Debian: {_PACKAGES}"])
            for package in ("", "--foo", "a\nRUN evil", "a b", "a;b", "a\0")
            for written, where in (
                (["git", package], "apt_packages.1"),
                ({"gpu": [package]}, "apt_packages.gpu.0"),
            )
        ),
        ({"julia_version": None}, ["julia_version: null is no value"]),
        (
            {"mlflow_config": {"project": "p", "region": "r", "db": "d", "user": 1, "password": "x"}},
            ["mlflow_config.user: Input should be a valid string", "mlflow_config.artifact_root: Field required"],
        ),
    ],
)
def test_everything_wrong_in_the_configuration_is_said_at_once(config: object, expected: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        settings.validate(config)
    found = [
        f"{problem.where.removeprefix(settings.FILE).strip()}: {problem.message}" for problem in caught.value.problems
    ]
    assert found == expected


def test_an_image_for_the_other_mode_only_is_no_image() -> None:
    with pytest.raises(InputError, match="names no image for GPU jobs"):
        settings.base_image(settings.validate({"base_image": {"cpu": "a"}}), "GPU")


def test_an_apt_package_is_one_word() -> None:
    assert packaging.apt_commands(["zlib1g", "a; rm -rf /"])[1].endswith("--no-install-recommends 'a; rm -rf /' zlib1g")
