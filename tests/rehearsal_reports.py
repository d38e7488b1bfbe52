"""What a rehearsal has seen and reports: pods, nodes, misfits, and a report with something of everything."""

from __future__ import annotations

from xmgen.rehearsal.observer import Node, Pod
from xmgen.rehearsal.report import FailedJob, Failure, Landing, Misfit, PoolUse, Report

GIB = 2**30 * 1000
FULL = "t4: it has all of its nodes: 2"


def pod(
    name: str, job: str, *, node: str = "", pool: str = "t4", started: str = "", ended: str = "", cpu: int = 1000
) -> Pod:
    """started, ended: the minute of an hour."""
    at = "2026-01-01T00:{:0>2}:00Z".format
    return Pod(
        "sweep",
        name,
        job,
        unit=f"unit-{job}",
        node=node,
        pool=pool if node else "",
        phase="Pending" if not node else "Succeeded" if ended else "Running",
        requests={"cpu": cpu, "memory": 2 * GIB, "nvidia.com/gpu": 1000, "pods": 1000},
        started=at(started) if started else "",
        ended=at(ended) if ended else "",
    )


def node(name: str, pool: str = "t4", machine: str = "n1-standard-4", gpus: int | None = 2) -> Node:
    accelerators = {} if gpus is None else {"nvidia.com/gpu": gpus * 1000}
    return Node(name, pool, machine, {"cpu": 4000, "memory": 8 * GIB, "pods": 110_000, **accelerators})


def misfit(number: int, reason: str = FULL) -> Misfit:
    words = f"0/{number} nodes are available"
    return Misfit(job=f"job-{number}", pod=f"pod-{number}", scheduler=words, reasons=(reason,), change="less | more")


EVERYTHING = Report(
    stack="sweep",
    created={"gcp:projects/iAMMember:IAMMember": 2, "gcp:serviceaccount/iAMMember:IAMMember": 1, "x:y:Job": 5},
    images={"trainer": "registry/trainer@sha256:0"},
    registry="127.0.0.1:5000",
    landings=[
        Landing(unit="unit-a", job="a", pod="a-0", pool="t4", node="gke-t4-0", phase="Succeeded"),
        Landing(unit="unit-a", job="a", pod="a-1", pool="t4", node="gke-t4-1", phase="Succeeded"),
        Landing(
            unit="unit-b",
            job="b",
            pod="b-0",
            pool="t4",
            node="gke-t4-1",
            phase="Failed",
            why="pod b-0 exited with code 3",
        ),
    ],
    pools=[PoolUse(pool="t4", machine="n1-standard-4", nodes=2, pods=3, cpu=0.754, memory=0.5, accelerators=1.0)],
    misfits=[*map(misfit, range(1, 5)), misfit(9, "t4: label a is c, not b")],
    split=["the pods of a are on 2 slices"],
    failed=[FailedJob(job="b", why="pod b-0 exited with code 3", log=("step 1", "loss: nan"))],
    failures=[Failure(resource="up", message="pool: googleapi: Error 400\nin two lines")],
    second_up={"update": 1, "replace": 2},
    changed=["x:y:Job a", "x:y:Pool t4"],
    left=["namespaces sweep"],
    kept=["sweep-output"],
    assumed=["claim sweep/data"],
    filled=["gcp:project"],
    seconds={"destroy": 1.0},
)
