"""`xmanager.cloud`: what a launch script gets from it without a cloud."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xmgen.experiment import Experiment, Reference, TensorboardCapability, Vertex
from xmgen.frontends.xmanager import loader as xmanager
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api.cloud import auth, build_image, kubernetes, utils
from xmgen.frontends.xmanager.recording import Recording


def load(folder: Path, text: str) -> Experiment:
    script = folder / "launcher.py"
    script.write_text(text, encoding="utf-8")
    return xmanager.load(script, root=folder, stack="sweep")


def test_a_tensorboard_is_a_reference_of_the_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_CLOUD_BUCKET_NAME", raising=False)
    experiment = load(
        tmp_path,
        """
import asyncio
from xmanager import xm, xm_local
from xmanager.cloud import auth, vertex

def main(_):
    with xm_local.create_experiment('x') as experiment:
        [image] = experiment.package([xm.container(xm_local.Vertex.Spec(), f'gcr.io/{auth.get_project_name()}/a')])
        client = vertex.get_default_client()
        board = asyncio.get_event_loop().run_until_complete(client.get_or_create_tensorboard('runs of <mine>'))
        capability = xm_local.TensorboardCapability(name=board, base_output_directory=f'{auth.get_bucket()}/logs')
        experiment.add(xm.Job(image, xm_local.Vertex(tensorboard=capability)))
""",
    )
    board = Reference(kind="tensorboard", name="runs of <mine>")
    [unit] = experiment.units
    assert unit.jobs[0].executor == Vertex(
        tensorboard=TensorboardCapability(
            name="<xmgen:tensorboard:runs of <mine>>", base_output_directory="<xmgen:bucket:staging>/logs"
        )
    )
    assert set(experiment.references) == {auth.PROJECT, board, auth.BUCKET}


def test_a_bucket_that_the_environment_names_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_BUCKET_NAME", "mine")
    with recording.use(Recording()) as recorded:
        assert auth.get_bucket() == "mine"
    assert recorded.references == {}


def test_the_service_account_is_the_flags(tmp_path: Path) -> None:
    experiment = load(
        tmp_path,
        """
from xmanager import xm, xm_local
def main(_):
    with xm_local.create_experiment('x') as experiment:
        [image] = experiment.package([xm.container(xm_local.Local.Spec(), 'a')])
        experiment.add(xm.Job(image, xm_local.Local(), args=[xm_local.auth.get_service_account()]))
""",
    )
    assert experiment.units[0].jobs[0].args == ("xmanager@<xmgen:config:gcp:project>.iam.gserviceaccount.com",)


def test_default_docker_steps() -> None:
    before = [
        "ENV LANG=C.UTF-8",
        "RUN apt-get update --allow-releaseinfo-change && apt-get install -y git netcat",
        "RUN python -m pip install --upgrade pip",
    ]
    assert build_image.default_steps("code", use_deep_module=False) == [
        *before,
        "COPY code/requirements.txt /code/requirements.txt",
        "RUN python -m pip install -r code/requirements.txt",
        "COPY code/ /code",
        "RUN chown -R 1000:root /code && chmod -R 775 /code",
        "WORKDIR code",
    ]
    assert build_image.default_steps("code", use_deep_module=True) == [
        "RUN mkdir /workdir",
        "WORKDIR /workdir",
        *before,
        "COPY code/requirements.txt /workdir/code/requirements.txt",
        "RUN python -m pip install -r code/requirements.txt",
        "COPY code/ /workdir/code",
        "RUN chown -R 1000:root /workdir/code && chmod -R 775 /workdir/code",
    ]


def test_labels_have_no_underscores() -> None:
    assert kubernetes.convert_to_valid_label("1_2_worker") == "1-2-worker"


CLUSTER = {
    "cluster": {
        "workerpool0": ["pool0-0:2222"],
        "workerpool1": ["pool1-0:2222", "pool1-1:2222"],
        "workerpool2": ["pool2-0:2222"],
    },
    "task": {"type": "workerpool1", "index": 1},
}


def test_inside_a_worker_pool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLUSTER_SPEC", json.dumps(CLUSTER))
    monkeypatch.setenv("MASTER", utils.get_workerpool_address("workerpool1"))
    assert utils.get_master_address_port() == ("pool0-0", "2222")
    assert utils.get_world_size_rank() == (4, 2)
    both = utils.get_workerpool_address("workerpool0") + "," + utils.get_workerpool_address("workerpool2")
    assert utils.map_workerpool_address_args(["--rate=1", f"--hosts={both}"]) == [
        "--rate=1",
        "--hosts=pool0-0:2222,pool2-0:2222",
    ]
    script = tmp_path / "variables.sh"
    utils.create_workerpool_address_env_vars_script(str(script))
    assert script.read_text(encoding="utf-8") == "#!/bin/bash\n\nexport MASTER=pool1-0:2222"


@pytest.mark.parametrize("spec", [None, ""])
def test_outside_a_worker_pool(spec: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLUSTER_SPEC", raising=False)
    if spec is not None:
        monkeypatch.setenv("CLUSTER_SPEC", spec)
    address = utils.get_workerpool_address("workerpool0")
    assert address == "%objectname(workerpool0)%"
    assert utils.get_master_address_port() == ("127.0.0.1", "29500")
    assert utils.get_world_size_rank() == (1, 0)
    assert utils.map_workerpool_address_args([address]) == [address]


def test_cluster_specs() -> None:
    cluster = {"workerpool0": ["a:1"], "workerpool1": ["b:2"]}
    assert [json.loads(spec) for spec in utils.create_cluster_specs(["a:1", "b:2"])] == [
        {"cluster": cluster, "task": {"type": "workerpool0", "index": 0}},
        {"cluster": cluster, "task": {"type": "workerpool1", "index": 1}},
    ]
