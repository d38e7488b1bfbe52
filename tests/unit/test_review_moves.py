"""What a review says of a stack whose jobs come to run elsewhere, and of all else that takes every job along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import job as any_job
from tests.on_gke import SLICE, T4, TRAINER, cluster_only, experiment, job, kubernetes
from tests.reviewing import PROJECT, Files, compared, files
from xmgen import names
from xmgen.experiment import ClusterChoice, Experiment, Job, JobRequirements, PoolRequest, Vertex, Volume
from xmgen.resource_types import CLUSTER, NODE_POOL, OBJECTS
from xmgen.review.units import Reason

TEAM = ClusterChoice(kind="stack", name="team")
OTHER = ClusterChoice(kind="stack", name="other")
CPU = kubernetes(cpu=1)


def own(location: str | None = None) -> ClusterChoice:
    return ClusterChoice(kind="own", location=location)


def existing(name: str, location: str | None) -> ClusterChoice:
    return ClusterChoice(kind="existing", name=name, location=location)


def committed(
    made: Experiment,
    *pools: PoolRequest,
    team: str | None = "europe-west4-a",
    settings: Mapping[str, str] | None = None,
) -> Files:
    """team, pools: where the cluster of the stack `team` is, and what it offers."""
    return files(cluster_only(*pools, location=team), cluster_only(stack="other"), made, settings=settings)


def sweep(cluster: ClusterChoice | None, **fields: Any) -> Experiment:
    return experiment(job("--lr=1", executor=CPU), job("--lr=2", executor=CPU), cluster=cluster, **fields)


def on_vertex(*jobs: Job, title: str = "A sweep") -> Experiment:
    return experiment(*jobs, title=title)


def trial(rate: int, location: str | None = None) -> Job:
    return any_job(f"--lr={rate}", executor=Vertex(requirements=JobRequirements(cpu=4, location=location)))


def reasons(old: Files, new: Files) -> list[tuple[Reason, ...]]:
    """Of each unit that runs again, but for what follows: its bucket and its image are in another place as well."""
    units = compared(old, new).units
    assert {unit.change for unit in units} <= {"run again"}
    return [tuple(reason for reason in unit.reasons if reason.kind != "resource") for unit in units]


def moved(old: str, new: str) -> list[tuple[Reason, ...]]:
    """Both units of a sweep, for no other reason."""
    return [(Reason("cluster", "cluster", old, new),)] * 2


IN_TEAM = "stack:team@europe-west4-a"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(own("us-east1-b"), TEAM, moved("own@us-east1-b", IN_TEAM), id="from its own to another stack's"),
        pytest.param(TEAM, own("us-east1-b"), moved(IN_TEAM, "own@us-east1-b"), id="and back"),
        pytest.param(TEAM, OTHER, moved(IN_TEAM, "stack:other@europe-west4-a"), id="of two other stacks"),
        pytest.param(
            own("europe-west4-a"),
            existing("prod", "europe-west4"),
            moved("own@europe-west4-a", "existing:prod@europe-west4"),
            id="to an existing one",
        ),
        pytest.param(
            existing("prod", "europe-west4"),
            existing("next", "europe-west4"),
            moved("existing:prod@europe-west4", "existing:next@europe-west4"),
            id="by another name",
        ),
        pytest.param(
            existing("prod", "europe-west4"),
            existing("prod", "us-central1"),
            moved("existing:prod@europe-west4", "existing:prod@us-central1"),
            id="by the same name elsewhere",
        ),
        pytest.param(
            own("europe-west4-a"),
            own("europe-west4-b"),
            moved("own@europe-west4-a", "own@europe-west4-b"),
            id="its own elsewhere",
        ),
        pytest.param(None, own(), [], id="in other words"),
        pytest.param(None, own("us-central1-a"), [], id="to where it is by default"),
        pytest.param(TEAM, replace(TEAM, by_option=True), [], id="as the command line says"),
    ],
)
def test_another_cluster_has_every_job_run_again(
    old: ClusterChoice | None, new: ClusterChoice | None, expected: list[tuple[Reason, ...]]
) -> None:
    assert reasons(committed(sweep(old)), committed(sweep(new))) == expected


def test_another_stacks_cluster_may_move() -> None:
    old, new = (committed(sweep(TEAM), team=f"europe-west4-{zone}") for zone in "ab")
    assert reasons(old, new) == moved(IN_TEAM, "stack:team@europe-west4-b")
    [cluster] = [each for each in compared(old, new, "team").resources if each.type == CLUSTER]
    assert (cluster.change, cluster.forced_by) == ("replaced", ("location",))


def test_a_cluster_that_is_replaced_where_it_is_takes_the_jobs_along() -> None:
    made = sweep(own("europe-west4-a"))
    settings = [f"{PROJECT}  experiments:subnetwork: {name}\n  experiments:network: n\n" for name in ("a", "b")]
    old, new = (committed(made, settings={"sweep": text}) for text in settings)
    assert reasons(old, new) == [(Reason("cluster", "subnetwork", "a", "b"),)] * 2


def test_a_unit_that_moves_the_cluster_takes_the_others_along() -> None:
    def asking(zone: str) -> Files:
        there = job("--lr=2", executor=kubernetes(cpu=1, location=f"europe-west4-{zone}"))
        return committed(experiment(job("--lr=1", executor=CPU), there))

    cluster = Reason("cluster", "cluster", "own@europe-west4-a", "own@europe-west4-b")
    assert reasons(asking("a"), asking("b")) == [
        (cluster,),
        (Reason("executor", "train", "location=europe-west4-a", "location=europe-west4-b"), cluster),
    ]


def test_a_unit_that_moves_a_stack_on_vertex_ai_takes_the_others_along() -> None:
    old, new = (files(on_vertex(trial(1), trial(2, location))) for location in ("us-central1", "europe-west4"))
    region = Reason("region", "region", "us-central1", "europe-west4")
    assert reasons(old, new) == [
        (region,),
        (Reason("executor", "train", "location=us-central1", "location=europe-west4"), region),
    ]


def test_a_region_that_the_settings_say_moves_a_stack_on_vertex_ai() -> None:
    texts = (f"{PROJECT}  experiments:location: europe-west4-a\n", f"{PROJECT}  gcp:region: us-east1\n")
    old, new = (files(on_vertex(trial(1)), settings={"sweep": text}) for text in texts)
    assert reasons(old, new) == [(Reason("region", "region", "europe-west4", "us-east1"),)]


def test_what_comes_to_run_on_a_cluster_does_not_move_there_alone() -> None:
    here = files(experiment(any_job("--lr=1")))
    assert reasons(here, committed(experiment(job("--lr=1", executor=CPU)))) == [
        (Reason("executor", "train", "kind=local", "kind=kubernetes cpu=1"),)
    ]


T4_POOL = PoolRequest(requirements=kubernetes(T4).requirements)
AFTER = {"after": {1: [0]}}
XID = names.experiment_id("sweep")
ONE, TWO = (job(f"--name={XID}_{number}_train", executor=CPU) for number in (1, 2))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            committed(sweep(None)),
            committed(sweep(None, title="Another title")),
            [
                {
                    "metadata.labels.xmgen/experiment: a-sweep -> another-title",
                    "template.metadata.labels.xmgen/experiment: a-sweep -> another-title",
                }
            ]
            * 2,
            id="the title is a label of each Job",
        ),
        pytest.param(
            files(on_vertex(trial(1))),
            files(on_vertex(trial(1), title="Another title")),
            [{"labels.experiment: a-sweep -> another-title", "displayName"}],
            id="and of each CustomJob",
        ),
        pytest.param(
            committed(experiment(job(), cluster=TEAM)),
            committed(experiment(job(), cluster=TEAM), T4_POOL),
            [{"nodeSelector.xmgen/nodes"}],
            id="another stack comes to offer the machines",
        ),
        pytest.param(
            committed(experiment(job(executor=CPU), job("--x", executor=CPU))),
            committed(experiment(job(executor=CPU), job("--x", executor=CPU), **AFTER)),
            [{"metadata.annotations.pulumi.com/skipAwait: true -> None"}, set()],
            id="another unit waits for it",
        ),
        pytest.param(
            committed(experiment(ONE, job("--x", executor=CPU))),
            committed(experiment(job("--x", executor=CPU), TWO)),
            [
                {
                    f"containers[train].args: --name={XID}_1_train -> None",
                    f"containers[train].args: None -> --name={XID}_2_train",
                }
            ],
            id="a name that holds its place",
        ),
        pytest.param(
            committed(experiment(job("--lr=1", "--steps=2", executor=CPU))),
            committed(experiment(job("--steps=2", "--lr=1", executor=CPU))),
            [set()],
            id="one that is another one has other labels anyway",
        ),
    ],
)
def test_what_differs_in_a_manifest_has_its_job_run_again(old: Files, new: Files, expected: list[set[str]]) -> None:
    said = [
        {f"{each.name}: {each.old} -> {each.new}" for each in found if each.kind == "manifest"}
        for found in reasons(old, new)
    ]
    for found, wanted in zip(said, expected, strict=True):
        assert all(any(text.startswith(start) for text in found) for start in wanted), found
        assert bool(found) == bool(wanted), found


def test_all_that_is_on_the_cluster_is_replaced() -> None:
    volume = Volume(path="/cache", claim="cache", size=10)
    jobs = [job(f"--lr={rate}", executor=kubernetes(T4, on={"volumes": (volume,)})) for rate in (1, 2)]
    change = compared(*(committed(experiment(*jobs, cluster=choice)) for choice in (TEAM, OTHER)))
    replaced = {each.type: each.forced_by for each in change.resources if each.change == "replaced"}
    assert replaced[NODE_POOL] == ("cluster", "nodeConfig.serviceAccount")
    assert replaced[OBJECTS["PersistentVolumeClaim"]] == ("options.provider",)
    assert OBJECTS["PersistentVolumeClaim"] in [each.type for each in change.lost]


def test_a_jobs_own_name_which_is_all_over_its_slices_is_no_change() -> None:
    sides = [
        committed(experiment(job(executor=kubernetes(replace(SLICE, slices=2))), executables=(each,)))
        for each in (TRAINER, replace(TRAINER, digest="sha256:changed"))
    ]
    assert reasons(*sides) == [(Reason("code", "trainer"),)]


def test_a_service_is_compared_by_what_it_is() -> None:
    served = (job(name="worker"), job(name="ps", executable="ps", executor=kubernetes(on={"service": True})))
    server = replace(TRAINER, name="ps", path="ps")
    old, new = (
        committed(experiment(served, executables=(TRAINER, each))) for each in (server, replace(server, digest="new"))
    )
    assert reasons(old, new) == [(Reason("code", "ps"),)]
