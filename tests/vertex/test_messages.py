"""What is compiled is taken by the provider and by Vertex AI's messages: every machine, examples, launch scripts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tests.vectors import xmanager
from tests.vectors.invocation import invocation
from tests.vertex import protos
from tests.vertex.job_service import TOKEN, JobService
from tests.vertex.manifests import RESERVATION, STACKS, experiment, job, manifests, resolved, vertex
from tests.vertex.requests import REQUEST
from xmgen import catalog, compiler
from xmgen.catalog.vertex import vertex_machine
from xmgen.errors import Problem
from xmgen.experiment import Accelerator
from xmgen.plan import planner
from xmgen.provider.custom_job import CustomJobResource
from xmgen.provider.settings import Settings

LAUNCHERS = ROOT / "tests" / "launchers"


def accepted(bodies: list[dict[str, Any]], service: JobService) -> None:
    """Checked and created by the provider, and read back by the messages as they were sent."""

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
