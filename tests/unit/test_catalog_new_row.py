"""A new accelerator is a row of the catalog and nothing else: a package with one more row goes the whole way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

GPU = {
    "id": "foo", "aliases": ["foo_12gb"], "label": "nvidia-foo", "vertex_type": "NVIDIA_FOO", "vertex_flex_start": True,
    "memory_gb": 12, "driver": "DEFAULT", "counts": [2], "note": "", "source": ["XM"], "uncertain": [],
}  # fmt: skip
MACHINE = {
    "name": "g9-standard-24", "vcpus": 24, "memory_gib": 96, "architecture": "amd64", "accelerator": "foo",
    "accelerator_count": 2, "local_ssds": 0, "boot_disks": ["pd-balanced"], "boot_disk": "pd-balanced",
    "provisioning": ["on-demand", "spot", "flex-start"], "usd_per_hour": 2.0, "vertex": True, "source": ["XM"],
    "uncertain": [],
}  # fmt: skip
LAUNCHER = """\
from xmanager import xm, xm_local

def main(_):
    with xm_local.create_experiment("Foo") as experiment:
        [program] = experiment.package(
            [xm.Packageable(xm.Container("docker.io/library/python:3.12"), xm_local.Vertex.Spec())]
        )
        for tier in (xm.ServiceTier.PROD, xm.ServiceTier.BATCH):
            needs = xm.JobRequirements(foo=2, service_tier=tier)
            experiment.add(xm.Job(program, xm_local.Vertex(needs), args={"tier": tier.name}))
        assert xm.ResourceType.FOO in xm.GpuType
        assert xm.JobRequirements(foo_12gb=2).accelerator is xm.ResourceType.FOO

if __name__ == "__main__":
    from absl import app
    app.run(main)
"""
SPEC = """\
title: Foo
executables:
  program: {kind: container, image_path: docker.io/library/python:3.12}
work_units:
  train: {job: {executable: program, executor: {kind: kubernetes, requirements: {foo_12gb: 2}}}}
"""
CHECKED = """
import sys, yaml
from xmgen.provider import custom_job_rules, custom_job_shape
for body in yaml.safe_load_all(sys.stdin):
    print({**custom_job_shape.malformed(body), **custom_job_rules.broken(body, "us-central1")})
"""
REHEARSED = """
from xmgen.rehearsal.cloud import machines
print(machines.exists("g9-standard-24"), machines.gpus("g9-standard-24"))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project beside a copy of the package, whose catalog has one more accelerator, and one more machine with it."""
    folder = tmp_path_factory.mktemp("newer")
    package = folder / "package" / "xmgen"
    shutil.copytree(ROOT / "xmgen", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "templates", package / "templates")
    file = package / "catalog" / "catalog.json"
    data = json.loads(file.read_text())
    data["gpus"].append(GPU)
    data["machines"].append(MACHINE)
    file.write_text(json.dumps(data))
    project = folder / "project"
    project.mkdir()
    xmgen(project, "init", ".")
    (project / "launcher.py").write_text(LAUNCHER)
    (project / "foo.yaml").write_text(SPEC)
    return project


def run(project: Path, code: str, *arguments: str, stdin: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": str(project.parent / "package")}
    command = [sys.executable, "-c", code, *arguments]
    ran = subprocess.run(
        command, cwd=project, env=environment, input=stdin, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def xmgen(project: Path, *arguments: str) -> str:
    return run(project, "from xmgen.cli import main; main()", *arguments)


def documents(project: Path, file: str) -> list[Any]:
    return list(yaml.safe_load_all((project / "stacks" / file).read_text()))


def test_it_is_listed(home: Path) -> None:
    [row] = [row for row in json.loads(xmgen(home, "accelerators", "--json")) if row["name"] == "foo"]
    assert (row["aliases"], row["machine_types"], row["gke_label"], row["vertex"]) == (
        "foo_12gb",
        "g9-standard-24",
        "nvidia-foo",
        "NVIDIA_FOO",
    )


def test_the_schema_of_experiment_yaml_has_it(home: Path) -> None:
    properties = json.loads(xmgen(home, "schema"))["$defs"]["Requirements"]["properties"]
    assert {"foo", "foo_12gb"} < properties.keys()


def test_an_experiment_yaml_gets_its_nodes(home: Path) -> None:
    xmgen(home, "compile", "foo.yaml", "--stack", "on-gke")
    [job] = documents(home, "on-gke/manifests/jobs.yaml")
    pod = job["spec"]["template"]["spec"]
    assert pod["nodeSelector"]["cloud.google.com/gke-accelerator"] == "nvidia-foo"
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert "g9-standard-24" in (home / "stacks" / "on-gke" / "cluster.py").read_text()


def test_a_launch_script_gets_a_custom_job_that_the_provider_takes(home: Path) -> None:
    xmgen(home, "compile", "launcher.py", "--stack", "on-vertex")
    jobs = documents(home, "on-vertex/manifests/vertex/jobs.yaml")
    specs = [job["jobSpec"] for job in jobs]
    assert [spec["workerPoolSpecs"][0]["machineSpec"] for spec in specs] == 2 * [
        {"machineType": "g9-standard-24", "acceleratorType": "NVIDIA_FOO", "acceleratorCount": 2}
    ]
    assert [spec.get("scheduling", {}).get("strategy") for spec in specs] == [None, "FLEX_START"]
    # What the program puts in.
    account = {"serviceAccount": "jobs@project.iam.gserviceaccount.com"}
    bodies = [{"displayName": job["displayName"], "jobSpec": {**job["jobSpec"], **account}} for job in jobs]
    assert run(home, CHECKED, stdin=yaml.safe_dump_all(bodies)) == "{}\n{}\n"


def test_the_rehearsal_has_its_machines(home: Path) -> None:
    assert run(home, REHEARSED) == "True ('nvidia-foo', 2)\n"
