"""What a rehearsal reports: where pods landed, how full nodes were, what does not fit and what to change."""

from __future__ import annotations

import re
from dataclasses import fields, replace

import pytest

from tests.conftest import ROOT
from tests.rehearsal_reports import EVERYTHING, FULL, misfit, node, pod
from xmgen.rehearsal.report import (
    LISTED,
    FailedJob,
    Failure,
    Landing,
    Misfit,
    PoolUse,
    Report,
    advice,
    grouped,
    landings,
    markdown,
    misfits,
    pool_uses,
    sentences,
    split,
)

COMMAND = "xmgen compile code/launcher.py"


def test_pods_are_where_they_landed() -> None:
    pods = [
        pod("b-1", "b", node="gke-t4-0", ended="5"),
        replace(pod("a-1", "a", node="gke-t4-1"), phase="Failed", why="exited with code 3"),
        pod("c-1", "c"),
    ]
    assert landings(pods) == [
        Landing(
            unit="unit-a", job="a", pod="a-1", pool="t4", node="gke-t4-1", phase="Failed", why="exited with code 3"
        ),
        Landing(unit="unit-b", job="b", pod="b-1", pool="t4", node="gke-t4-0", phase="Succeeded"),
    ]


def test_how_full_nodes_were_is_what_pods_requested_at_the_same_time() -> None:
    pods = [
        pod("first", "a", node="gke-t4-0", started="1", ended="3"),
        # When the first one had ended, and together with the third.
        pod("second", "b", node="gke-t4-0", started="3", ended="5"),
        pod("third", "c", node="gke-t4-0", started="4", cpu=2000),
        pod("fourth", "d", node="gke-t4-1", started="1", ended="9"),
    ]
    nodes = [node("gke-t4-0"), node("gke-t4-1"), node("gke-system-0", "system", "e2-standard-2", None)]
    assert pool_uses(nodes, pods) == [
        PoolUse(pool="system", machine="e2-standard-2", nodes=1, pods=0, cpu=0.0, memory=0.0, accelerators=None),
        PoolUse(pool="t4", machine="n1-standard-4", nodes=2, pods=4, cpu=0.75, memory=0.5, accelerators=1.0),
    ]


def test_a_slice_belongs_to_one_job() -> None:
    pods = [
        pod("a-0", "a", node="gke-one-0", pool="one"),
        pod("a-1", "a", node="gke-two-0", pool="two"),
        pod("b-0", "b", node="gke-three-0", pool="three"),
        pod("b-1", "b", node="gke-three-1", pool="three"),
        # Pools of single hosts may well share.
        pod("c-0", "c", node="gke-t4-0"),
        pod("c-1", "c", node="gke-l4-0", pool="l4"),
    ]
    assert split(pods, {"one", "two", "three"}) == ["the pods of a are on 2 slices"]


def test_pods_without_a_node_do_not_fit() -> None:
    waiting = replace(pod("a-1", "a"), refused="0/2 nodes are available", reasons=[FULL])
    found = misfits([waiting, pod("b-1", "b", node="gke-t4-0"), replace(pod("c-1", "c"), gone=True)], COMMAND)
    change = "its pool is at its limit: a larger maximum, or fewer jobs at once"
    assert found == [Misfit(job="a", pod="a-1", scheduler="0/2 nodes are available", reasons=(FULL,), change=change)]


@pytest.mark.parametrize(
    ("reasons", "change"),
    [
        ([], "the stack has no node pool"),
        (["claim data: the cluster has no storage class 'fast'"], "another storage class for the claim"),
        (
            ["system: label a is missing, not b", "t4: Quota 'NVIDIA_T4_GPUS' exceeded. Limit: 1.0"],
            "ask for more quota, or run fewer of these jobs at once",
        ),
        (
            ["system: label a is missing, not b", FULL],
            "its pool is at its limit: a larger maximum, or fewer jobs at once",
        ),
        (
            ["system: label a is missing, not b", "t4: memory: 400.0 GiB needed, 9.1 GiB on an empty node"],
            "ask for less, or for a machine that leaves more to jobs (docs/catalog.md says what GKE reserves)",
        ),
        (
            ["t4: its volumes are in europe-west4-b, the pool's nodes in europe-west4-a"],
            "a pool in the zone of its volumes, or volumes that are not bound to a zone",
        ),
        (
            [
                "system: label a is missing, not b",
                "t4: how much its machines (n1-standard-3) leave to jobs is not known",
            ],
            "a machine of the catalog (docs/catalog.md): of others a rehearsal knows no size",
        ),
        (
            ["system: label a is missing, not b", "t4: taint c=d is not tolerated"],
            f"no pool has nodes of the kind that the job selects: `{COMMAND}` compiles the stack again",
        ),
    ],
)
def test_what_to_change(reasons: list[str], change: str) -> None:
    assert advice(reasons, COMMAND) == change


def test_what_does_not_fit_for_the_same_reasons_is_told_once() -> None:
    misfits = [misfit(1), misfit(2, "t4: another"), misfit(3)]
    assert grouped(misfits) == [[misfits[0], misfits[2]], [misfits[1]]]


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        ({}, True),
        ({"kept": ["bucket"], "assumed": ["cluster"], "filled": ["gcp:project"]}, True),
        ({"failed": [FailedJob(job="a", why="it was told to", log=())]}, True),
        ({"misfits": [misfit(1)]}, False),
        ({"split": ["the pods of a are on 2 slices"]}, False),
        ({"failures": [Failure(resource="pool", message="refused")]}, False),
        ({"second_up": {"update": 1}}, False),
        ({"left": ["namespaces sweep"]}, False),
    ],
)
def test_the_verdict(found: dict[str, object], fits: bool) -> None:
    report = Report(stack="sweep", **found)  # type: ignore[arg-type]
    assert (report.fits, report.as_json()["fits"]) == (fits, fits)


def test_what_json_has_is_documented() -> None:
    text = (ROOT / "docs" / "rehearsal.md").read_text(encoding="utf-8").partition("## What the report says")[2]
    documented = [
        name for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in re.findall("`(.+?)`", row)
    ]
    assert sorted(documented) == sorted(["fits", *(field.name for field in fields(Report))])


def test_markdown() -> None:
    assert markdown(EVERYTHING).splitlines() == [
        "### Rehearsal of `sweep`: **something does not fit**",
        "",
        "| Pool | Machine | Nodes | Pods | CPU | Memory | Accelerators |",
        "|---|---|---:|---:|---:|---:|---:|",
        "| `t4` | `n1-standard-4` | 2 | 3 | 75% | 50% | 100% |",
        "",
        "| Pods without a node | In the scheduler's words | Why no pool takes them | What to change |",
        "|---|---|---|---|",
        "| 4 pods (`pod-1`, `pod-2`, `pod-3`, …) | 0/1 nodes are available | t4: it has all of its nodes: 2 | "
        "less \\| more |",
        "| `pod-9` | 0/9 nodes are available | t4: label a is c, not b | less \\| more |",
        "",
        "- b failed: pod b-0 exited with code 3",
        "",
        "      step 1",
        "      loss: nan",
        "- up: pool: googleapi: Error 400",
        "",
        "      in two lines",
        "- the pods of a are on 2 slices",
        "- 3 pods scheduled",
        "- 8 resources created: 5 Job, 3 IAMMember",
        "- images: built and pushed to 127.0.0.1:5000: trainer",
        "- a second `up` is not empty: 1 to update, 2 to replace (x:y:Job a, x:y:Pool t4)",
        "- `destroy` leaves behind: namespaces sweep",
        "- kept on purpose: sweep-output",
        "- taken to exist: claim sweep/data",
        "- not set, filled in for the rehearsal: gcp:project",
        "",
        "<details><summary>Where the pods ran</summary>",
        "",
        "| Work unit | Job | Pods | Pool | At the end |",
        "|---|---|---:|---|---|",
        "| `unit-a` | `a` | 2 | `t4` | Succeeded |",
        "| `unit-b` | `b` | 1 | `t4` | pod b-0 exited with code 3 |",
        "",
        "</details>",
    ]


def test_markdown_of_a_large_sweep_fits_into_a_pull_request() -> None:
    name = "train-learning-rate-0-0003-width-256-f02da5bd-{:08}".format
    many = [
        Landing(unit=name(n), job=name(n), pod=name(n), pool="t4", node="n", phase="Succeeded") for n in range(10_000)
    ]
    text = markdown(Report(stack="sweep", landings=many))
    assert f"\n… and {10_000 - LISTED} rows more, which `--json` has\n" in text
    assert len(text) < 2**16


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (Report(stack="s"), ["0 pods scheduled", "0 resources created", "a second `up` changes nothing"]),
        (
            Report(stack="s", created={"a:b:Job": 1}, images={"i": "ref"}, seconds={"destroy": 1.0}),
            [
                "0 pods scheduled",
                "1 resource created: 1 Job",
                "images: digests computed, nothing built: i",
                "a second `up` changes nothing",
                "`destroy` leaves nothing behind",
            ],
        ),
    ],
)
def test_sentences(report: Report, said: list[str]) -> None:
    assert sentences(report) == said
