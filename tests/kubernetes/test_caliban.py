"""Jobs of Caliban projects, as a real API server judges them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.dry_run import DryRun, objects
from xmgen import compiler
from xmgen.executors.gke.cloud_sql import SOCKETS
from xmgen.frontends.caliban import jobs, machines
from xmgen.rehearsal.controlplane import ControlPlane

pytestmark = pytest.mark.kubernetes


def test_jobs_with_a_cloud_sql_proxy(tmp_path: Path, dry_run: DryRun) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").touch()
    mlflow = dict.fromkeys(("project", "region", "db", "user", "password", "artifact_root"), "x")
    (folder / ".calibanconfig.json").write_text(json.dumps({"base_image": "b", "mlflow_config": mlflow}))
    flags = ["cluster", "job", "submit", "--nogpu", "train.py"]
    _, files = compiler.compile_source(folder, root=tmp_path, stack="caliban", flags=flags)
    submitted = objects(files)
    assert [each["spec"]["template"]["spec"]["initContainers"][0]["volumeMounts"] for each in submitted] == [
        [{"name": "cloud-sql", "mountPath": SOCKETS}]
    ]
    assert dry_run.refusals(submitted) == []


@pytest.mark.parametrize("name", ["My_Job", ".", "²", "a..b", "x" * 300, "Ünïcode $(HOME)", ""])
@pytest.mark.parametrize("spec", ["", "2xT4", "8xV3"])
def test_exported_jobs(name: str, spec: str, control_plane: ControlPlane) -> None:
    parse = machines.parse_tpu_spec if spec.endswith("V3") else machines.parse_gpu_spec
    run = jobs.Run(experiment={"lr": 0.1, "on": True}, args=("$(HOME)",), group="g")
    options: dict[str, Any] = {"image": "i:1", "min_cpu": 1500, "min_mem": 7000, "index": 0}
    job = jobs.simple_job(run, name=name, accelerator=parse(spec) if spec else None, **options)
    path = "/apis/batch/v1/namespaces/default/jobs"
    answer = control_plane.api().request("POST", path, job, dryRun="All", fieldValidation="Strict")
    assert answer.ok, answer.message
    # What Kubernetes makes of the arguments is what was meant.
    assert answer.body["spec"]["template"]["spec"]["containers"][0]["args"][0] == "$$(HOME)"
