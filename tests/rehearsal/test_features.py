"""All that jobs can have beside themselves, in one stack: created in an order that works, unchanged, and removed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import experiment, job, python_container
from tests.rehearsal.conftest import write as write_files
from tests.rehearsal.stacks import IMAGE, write
from xmgen import sources
from xmgen.experiment import JobRequirements, Kubernetes, Reference, Volume
from xmgen.names import experiment_id
from xmgen.project import Project, controllers
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import markdown

pytestmark = pytest.mark.rehearsal

STACK = "features"
KEY = Reference(kind="secret", name="wandbKey")
BUCKET = Reference(kind="bucket", name="staging")
BOARD = Reference(kind="tensorboard", name="runs")
SMALL = JobRequirements(cpu=0.5)


def test_a_stack_with_everything(in_scratch: Rehearsal, scratch: Project) -> None:
    folder = f"{controllers(STACK)}/search"
    write_files(scratch.root, {f"{folder}/process_entry.py": "", f"{folder}/requirements.txt": ""})
    controller = python_container("search", path=folder, digest=sources.digest(scratch.root / folder))
    plain = Kubernetes(requirements=SMALL)
    asking = Kubernetes(
        requirements=SMALL,
        priority=5,
        retries=1,
        volumes=(Volume(path="/data", bucket="acme-data", read_only=True), Volume(path="/own", bucket=BUCKET.token)),
    )
    server = f"{experiment_id(STACK)}-3-server.experiments.default.svc.cluster.local"
    made = experiment(
        job("prepare", executor=plain, executable=IMAGE.name),
        job(f"--key={KEY.token}", executor=asking, executable=IMAGE.name, env={"BOARD": BOARD.token}),
        (
            job(f"--server={server}", name="client", executor=plain, executable=IMAGE.name),
            job(name="server", executor=plain, executable=IMAGE.name),
        ),
        job(name="search", executor=plain, executable="search", env={"GOOGLE_CLOUD_BUCKET_NAME": "acme-staging"}),
        stack=STACK,
        executables=(IMAGE, controller),
        after={1: [0]},
    )
    report = in_scratch.run(write(scratch, replace(made, references=(KEY, BUCKET, BOARD))))
    assert report.fits, markdown(report)
    assert report.second_up == {}
    beside = {
        type.rpartition(":")[2]: count for type, count in report.created.items() if type.startswith("kubernetes:")
    }
    assert beside == {
        "Job": 5,
        "Namespace": 1,
        "PriorityClass": 1,
        "Role": 2,
        "RoleBinding": 2,
        "Secret": 1,
        "Service": 1,
        "ServiceAccount": 2,
    }
