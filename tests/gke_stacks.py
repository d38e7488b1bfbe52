"""Stacks on GKE with everything that a program can hold, for tests of generated programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests import programs
from tests.builders import XID, python_container
from tests.on_gke import SLICE, T4, TRAINER, cluster_only, experiment, job, kubernetes
from xmgen.catalog import catalog
from xmgen.errors import InputError
from xmgen.experiment import (
    Accelerator,
    ClusterChoice,
    Container,
    Dockerfile,
    Experiment,
    JobRequirements,
    PoolRequest,
    Reference,
    ShellSafeArg,
    Volume,
)
from xmgen.plan import planner
from xmgen.program import render as program

PROJECT = Reference(kind="config", name="gcp:project")
NICKNAME = Reference(kind="config", name="nickname")
BUCKET = Reference(kind="bucket", name="staging")
BOARD = Reference(kind="tensorboard", name="runs")
KEY = Reference(kind="secret", name="wandbKey")
OTHER_KEY = Reference(kind="secret", name="db:password")
TITLE = 'A "title" {{ 7 * 7 }} \\ \U0001f389'
TEAM_POOL = PoolRequest(requirements=JobRequirements(accelerator=T4))


def accelerators() -> list[Accelerator]:
    known = catalog()
    gpus = [Accelerator(type=gpu.id, count=gpu.counts[0]) for gpu in known.gpus.values()]
    tpus = [Accelerator(type=tpu.id, topology=tpu.documented[-1]) for tpu in known.tpus.values() if tpu.documented]
    return gpus + tpus


def everything() -> Experiment:
    """Every accelerator there is, however it is sold."""
    jobs = []
    for accelerator in accelerators():
        for tier, reservation in (("prod", None), ("freebie", None), ("reservation", "ours")):
            executor = kubernetes(accelerator, on={"reservation": reservation}, service_tier=tier)
            made = experiment(job(executor=executor))
            try:
                planner.plan(made)
            except InputError:  # not sold this way
                continue
            jobs.append(job(f"--{accelerator.type}-{tier}", executor=executor))
            break
    return experiment(*jobs, stack="everything")


NASTY = ["{{ 7 * 7 }}", "{% raw %}", "'''", '"""', "\\", "$(HOME)", "$$", "\r\n---\n", "- a: &b *b", "\U0001f389", "#"]

FILES = Volume(path="/files", claim="files", size=10, storage_class="standard-rwx", shared=True)

STACKS: dict[str, Experiment] = {
    "sweep": experiment(
        job("--lr=0.1", executor=kubernetes(T4, service_tier="freebie")),
        job("--lr=0.2", executor=kubernetes(T4, service_tier="freebie")),
        job("--evaluate", ShellSafeArg("$HOME"), executor=kubernetes(cpu=1)),
        title=TITLE,
        after={2: [0, 1]},
    ),
    "group": experiment(
        (
            job(f"--ps={XID}-1-ps.experiments.default.svc.cluster.local:2222", name="worker"),
            job(name="ps", executable="redis"),
        ),
        job(executor=kubernetes(SLICE), executable="own"),
        job("more", executor=kubernetes(replace(SLICE, slices=2)), executable="pushed"),
        job("newest", executor=kubernetes(Accelerator(type="tpu_v7x", topology="2x2x2")), executable="elsewhere"),
        stack="group",
        executables=(
            TRAINER,
            Container(name="redis", image="redis:7"),
            Dockerfile(name="own", path="own", dockerfile="own/Dockerfile", digest="sha256:own", exclude=("l.py",)),
            replace(TRAINER, name="pushed", push_image_tag=f"gcr.io/{PROJECT.token}/pushed:latest"),
            replace(TRAINER, name="elsewhere", push_image_tag="eu.gcr.io/other/elsewhere:v1"),
        ),
    ),
    "everything-else": experiment(
        job(
            f"--project={PROJECT.token}",
            f"--out=gs://{BUCKET.token}/x",
            f"--key={KEY.token}",
            "--odd=<xmgen:config:nothing>",
            "--image=<xmgen:image:trainer:1>",
            executor=kubernetes(
                on={
                    "priority": 5,
                    "volumes": (
                        Volume(path="/data", bucket="images/train", read_only=True),
                        Volume(path="/staging", bucket=BUCKET.token),
                        Volume(path="/cache", claim="cache", size=10),
                    ),
                }
            ),
            env={"BOARD": BOARD.token, "NICK": f"{NICKNAME.token}-{NICKNAME.token}", "P": OTHER_KEY.token},
        ),
        job(
            executable="controller",
            executor=kubernetes(Accelerator(type="gb200", count=4), on={"reservation": "r"}),
            env={"GOOGLE_CLOUD_BUCKET_NAME": "acme-staging"},
        ),
        stack="everything-else",
        executables=(
            TRAINER,
            python_container("controller", path=".xmgen/everything-else/controllers/controller"),
        ),
        references=(PROJECT, NICKNAME, BUCKET, BOARD, KEY, OTHER_KEY),
    ),
    "files": experiment(
        job(
            executor=kubernetes(
                on={
                    "volumes": (
                        FILES,
                        Volume(path="/fast", claim="fast", size=10, storage_class="zonal-rwx", shared=True),
                        Volume(path="/disk", claim="disk", size=10, storage_class="premium-rwo"),
                    )
                }
            )
        ),
        stack="files",
    ),
    "served": experiment(
        (job(name="worker"), job(f"--key={KEY.token}", name="ps", executor=kubernetes(on={"service": True}))),
        job("--evaluate"),
        stack="served",
        after={1: [0]},
        references=(KEY,),
    ),
    "team": cluster_only(TEAM_POOL),
    "team-with-files": replace(cluster_only(TEAM_POOL, stack="team-with-files"), filestore=True),
    "files-of-team": experiment(
        job(executor=kubernetes(T4, on={"volumes": (FILES,)})),
        stack="files-of-team",
        cluster=ClusterChoice(kind="stack", name="team-with-files"),
    ),
    "files-there": experiment(
        job(executor=kubernetes(on={"volumes": (FILES,)})),
        stack="files-there",
        cluster=ClusterChoice(kind="existing", name="with-filestore", location="us-central1-a"),
    ),
    "user-of-team": experiment(
        job(), job(executor=kubernetes(SLICE)), stack="user-of-team", cluster=ClusterChoice(kind="stack", name="team")
    ),
    "satisfied": experiment(stack="satisfied", cluster=ClusterChoice(kind="stack", name="team")),
    "guest": experiment(stack="guest", cluster=ClusterChoice(kind="existing", name="prod", location="us-central1-a")),
    "guest-anywhere": experiment(stack="guest-anywhere", cluster=ClusterChoice(kind="existing", name="prod")),
    "everything": everything(),
    "nasty": experiment(
        *(job(text, *NASTY, env={"A": text}, name=f"{text}x") for text in NASTY),
        title="".join(NASTY),
        stack="nasty",
        executables=(replace(TRAINER, path="code/{{ x }}'\"", exclude=("a'b\"\\",)),),
    ),
}
SUBNETWORK = {
    "experiments:network": "projects/host/global/networks/n",
    "experiments:subnetwork": "projects/host/regions/europe-west4/subnetworks/s",
    "experiments:podsRange": "p",
    "experiments:servicesRange": "s",
}
VARIANTS: dict[str, tuple[str, dict[str, str]]] = {
    "sweep, outputs deleted": ("sweep", {"experiments:deleteOutputs": "true"}),
    "sweep, subnetwork": ("sweep", SUBNETWORK),
    "sweep, region": ("sweep", {"experiments:location": "europe-west4"}),
    "sweep, system machine": ("sweep", {"experiments:systemMachineType": "n2d-standard-2"}),
    "sweep, networks": ("sweep", {"experiments:authorizedNetworks": "192.0.2.0/24, 198.51.100.7/32"}),
    "files, subnetwork": ("files", SUBNETWORK),
    "files, subnetwork of the project": (
        "files",
        {**SUBNETWORK, "experiments:network": "projects/acme/global/networks/ours"},
    ),
    "files, network by name": ("files", {**SUBNETWORK, "experiments:network": "ours"}),
    "group, region": ("group", {"experiments:location": "europe-west4"}),
    "group, gcr": ("group", {"experiments:createGcrRepository": "true"}),
}
"""Runs of the same programs with other configuration."""
REFUSED = {
    name: experiment(stack="guest", cluster=ClusterChoice(kind="existing", name=name))
    for name in ("bare", "without-fuse")
} | {
    "without-filestore": experiment(
        job(executor=kubernetes(on={"volumes": (FILES,)})),
        stack="guest",
        cluster=ClusterChoice(kind="existing", name="without-filestore"),
    )
}
CONFIG = {
    "experiments:nickname": "nick",
    "experiments:wandbKey": "hush",
    "db:password": "hush hush",
}


def written(folder: Path, stacks: dict[str, Experiment]) -> dict[str, Path]:
    for name, made in stacks.items():
        programs.write(folder / name, program.render(planner.plan(made, STACKS.__getitem__)))
    return {name: folder / name for name in stacks}


CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
JOB = "kubernetes:batch/v1:Job"
IMAGE = "docker-build:index:Image"
SA_MEMBER = "gcp:serviceaccount/iAMMember:IAMMember"
"""Types of resources, as Pulumi names them."""
