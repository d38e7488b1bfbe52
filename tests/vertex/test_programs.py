"""Programs of stacks on Vertex AI, run with the SDKs: what they declare; and the code of the examples, run here."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import gcp_programs, programs
from tests.builders import python_container
from tests.conftest import ROOT
from tests.gcp_programs import Play, Program
from tests.vertex.manifests import BOARD, STACKS, WORKERPOOL0, experiment, job, vertex
from xmgen.experiment import Accelerator, Job, Reference, TensorboardCapability
from xmgen.frontends.xmanager.api.cloud import auth
from xmgen.plan import planner
from xmgen.program import render as program


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
