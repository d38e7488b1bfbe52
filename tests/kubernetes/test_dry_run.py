"""Every Kubernetes object of every stack, and a job on every accelerator, as a real API server judges them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import cast

import pytest

from tests.builders import experiment, job, python_container
from tests.conftest import ROOT
from tests.kubernetes.dry_run import DryRun, Object, compiled, objects, surroundings
from tests.on_gke import kubernetes
from xmgen import catalog, names
from xmgen.catalog.placement import Placement
from xmgen.catalog.selection import select
from xmgen.experiment import Accelerator, Experiment, JobRequirements, Kubernetes, Reference, ShellSafeArg, Volume
from xmgen.project import controllers
from xmgen.resource_types import OBJECTS

pytestmark = pytest.mark.kubernetes

GIB = 2**30
STACK = "samples"
XID = names.experiment_id(STACK)


def test_the_committed_stacks(dry_run: DryRun) -> None:
    folders = [file.parents[1] for file in sorted((ROOT / "stacks").glob("*/manifests/jobs.yaml"))]
    assert folders
    assert {folder.name: dry_run.refusals(objects(folder)) for folder in folders} == {
        folder.name: [] for folder in folders
    }


def jobs(submitted: list[Object]) -> list[Object]:
    return [each for each in submitted if each["kind"] == "Job"]


def accelerators() -> list[Accelerator]:
    """Every GPU in its smallest and its largest number, every TPU in its smallest and its largest slice."""
    known = catalog.catalog()
    gpus = [
        Accelerator(type=gpu.id, count=count)
        for gpu in known.gpus.values()
        for count in sorted({min(gpu.counts), max(gpu.counts)})
    ]
    tpus = [
        Accelerator(type=tpu.id, topology=topology)
        for tpu in known.tpus.values()
        for topology in dict.fromkeys(tpu.documented[:1] + tpu.documented[-1:])
    ]
    return gpus + tpus


@pytest.mark.parametrize("accelerator", accelerators(), ids=lambda a: f"{a.type}={a.topology or a.count}")
def test_a_job_on_every_accelerator(accelerator: Accelerator, dry_run: DryRun) -> None:
    submitted = compiled(experiment(job("--steps=1", executor=obtainable(accelerator)), stack=STACK))
    assert len(jobs(submitted)) == 1
    assert dry_run.refusals(submitted) == []


def obtainable(accelerator: Accelerator) -> Kubernetes:
    """In the first of the ways in which it can be had."""
    for tier, reservation in ((None, None), ("spot", None), ("flex-start", None), ("reservation", "mine")):
        requirements = JobRequirements(accelerator=accelerator, service_tier=tier)
        if isinstance(select(requirements, reservation=reservation), Placement):
            return Kubernetes(requirements=requirements, reservation=reservation)
    pytest.fail(f"{accelerator} cannot be had")


SECRET = Reference(kind="secret", name="apiKey")
SLICES = Accelerator(type="tpu_v5e", topology="4x4", slices=2)
STORAGE = (
    Volume(path="/data", bucket="public-data/digits", read_only=True),
    Volume(path="/cache", claim="cache", size=10 * GIB, storage_class="standard-rwx", shared=True),
)
TEXTS = (
    "",
    " ",
    "--lr=0.1",
    "$(HOME)",
    "$$",
    "yes",
    "0x1f",
    "1e3",
    "null",
    "- a: b\n# c",
    "{{ x }}",
    "é🚀\u2028",
    "\t'\"\\",
)


FEATURES = [
    pytest.param(experiment(job(executor=kubernetes()), stack=STACK), id="CPUs alone"),
    pytest.param(
        experiment(job(executor=kubernetes(architecture="arm64", cpu=0.25)), stack=STACK), id="Arm, a part of a CPU"
    ),
    pytest.param(
        experiment(job(executor=kubernetes(ram=3 * GIB // 2, disk=50 * GIB)), stack=STACK), id="memory and disk"
    ),
    pytest.param(experiment(job(executor=kubernetes(replicas=3)), stack=STACK), id="replicas"),
    pytest.param(experiment(job(executor=kubernetes(accelerator=SLICES)), stack=STACK), id="two slices"),
    pytest.param(experiment(job(executor=kubernetes(service_tier="spot")), stack=STACK), id="spot"),
    pytest.param(
        experiment(
            (
                job(f"--db={XID}-1-db.experiments", name="train", executor=kubernetes()),
                job(name="db", executor=kubernetes()),
            ),
            stack=STACK,
        ),
        id="jobs that address each other",
    ),
    pytest.param(
        experiment(job("1", executor=kubernetes()), job("2", executor=kubernetes()), stack=STACK, after={1: [0]}),
        id="a job that waits for another",
    ),
    pytest.param(
        experiment(job("--home", ShellSafeArg("$HOME"), executor=kubernetes()), stack=STACK),
        id="an argument for a shell",
    ),
    pytest.param(
        experiment(
            job(*TEXTS, env={f"E{n}": text for n, text in enumerate(TEXTS)}, executor=kubernetes()), stack=STACK
        ),
        id="texts of every kind",
    ),
    pytest.param(
        experiment(
            *(job(name=name, executor=kubernetes()) for name in ("x" * 300, "Ünïcode Näme", "--", "a/b:c d")),
            stack=STACK,
            title="“A title” & {{ more }}\n" + "🚀" * 300,
        ),
        id="names of every kind",
    ),
    pytest.param(
        experiment(job(executor=Kubernetes(priority=-5, retries=3, shared_memory=GIB, volumes=STORAGE)), stack=STACK),
        id="priority, retries and volumes",
    ),
    pytest.param(
        dataclasses.replace(
            experiment(job(f"--key={SECRET.token}", env={"KEY": SECRET.token}, executor=kubernetes()), stack=STACK),
            references=(SECRET,),
        ),
        id="a secret",
    ),
    pytest.param(
        experiment(
            job(executor=kubernetes()),
            executables=(python_container(path=f"{controllers(STACK)}/search"),),
            stack=STACK,
        ),
        id="a controller, which starts jobs",
    ),
]


@pytest.mark.parametrize("source", FEATURES)
def test_what_an_experiment_may_ask_for(source: Experiment, dry_run: DryRun) -> None:
    submitted = compiled(source)
    assert jobs(submitted)
    assert dry_run.refusals(submitted) == []


def test_every_kind_of_object_is_among_these() -> None:
    judged = [each for feature in FEATURES for source in feature.values for each in compiled(cast(Experiment, source))]
    judged += surroundings(judged)
    assert {each["kind"] for each in judged} == {*OBJECTS, "Job", "Namespace", "ServiceAccount", "Secret"}
    volumes = {key for each in jobs(judged) for volume in template(each)["volumes"] for key in volume} - {"name"}
    assert volumes == {"csi", "emptyDir", "persistentVolumeClaim"}
    # A slice of several hosts, and several slices.
    assert any(each["spec"].get("completionMode") == "Indexed" for each in jobs(judged))
    assert any("MEGASCALE_NUM_SLICES" in {env["name"] for env in container(each)["env"]} for each in jobs(judged))


def template(submitted: Object) -> Object:
    return submitted["spec"]["template"]["spec"]


def container(submitted: Object) -> Object:
    return template(submitted)["containers"][0]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        pytest.param(lambda job: container(job).update(comand=["x"]), 'unknown field "spec.', id="field"),
        pytest.param(lambda job: job["metadata"].update(name="Train"), "lowercase RFC 1123", id="name"),
        pytest.param(lambda job: job["metadata"]["labels"].update({"xmgen/unit": "x" * 64}), "63", id="label"),
        pytest.param(lambda job: container(job).update(image=""), "image: Required value", id="image"),
        pytest.param(lambda job: container(job).update(args=[0.1]), "of type string", id="argument"),
        pytest.param(lambda job: container(job)["env"].append({"name": "a=b"}), "env[", id="variable"),
        pytest.param(
            lambda job: container(job)["resources"]["requests"].update(memory="2 GB"), "quantities", id="quantity"
        ),
        pytest.param(
            lambda job: container(job)["resources"]["limits"].pop("nvidia.com/gpu"), "Limit must be set", id="limit"
        ),
        pytest.param(
            lambda job: container(job)["volumeMounts"].append({"name": "data", "mountPath": "/data"}),
            'volumeMounts[2].name: Not found: "data"',
            id="volume",
        ),
        pytest.param(
            lambda job: template(job)["tolerations"].append({"key": "a", "operator": "Equals"}),
            "operator: Unsupported value",
            id="toleration",
        ),
        pytest.param(lambda job: template(job).update(hostname="a_b"), "hostname: Invalid value", id="host name"),
        pytest.param(lambda job: template(job).update(restartPolicy="Always"), "restartPolicy", id="restart policy"),
        pytest.param(
            lambda job: template(job).update(priorityClassName="urgent"), "no PriorityClass", id="priority class"
        ),
    ],
)
def test_what_is_broken_is_refused(broken: Callable[[Object], object], reason: str, dry_run: DryRun) -> None:
    t4 = Accelerator(type="t4", count=1)
    (good,) = jobs(compiled(experiment(job(executor=kubernetes(accelerator=t4)), stack=STACK)))
    assert dry_run.refusals([good]) == []
    bad = copy.deepcopy(good)
    broken(bad)
    refusals = dry_run.refusals([bad])
    assert refusals and all(reason in refusal for refusal in refusals), refusals
