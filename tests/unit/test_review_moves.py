"""What a review says of a stack whose jobs come to run elsewhere, and of all else that takes every job along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import job as any_job
from tests.on_gke import T4, cluster_only, experiment, job, kubernetes
from xmgen import names
from xmgen.experiment import ClusterChoice, Experiment, Job, JobRequirements, PoolRequest, Vertex, Volume
from xmgen.plan import planner
from xmgen.plan.model import Cluster, Plan, VertexPlace
from xmgen.resource_types import CLUSTER, CUSTOM_JOB, JOB, NODE_POOL, OBJECTS
from xmgen.review.compare import Reason, ResourceChange, StackChange, UnitChange, compare
from xmgen.review.report import as_json, markdown
from xmgen.review.settings import placed

TEAM = ClusterChoice(kind="stack", name="team")
OTHER = ClusterChoice(kind="stack", name="other")
CPU = kubernetes(cpu=1)


def own(location: str | None = None) -> ClusterChoice:
    return ClusterChoice(kind="own", location=location)


def existing(name: str, location: str | None) -> ClusterChoice:
    return ClusterChoice(kind="existing", name=name, location=location)


def planned(made: Experiment, *pools: PoolRequest, team: str | None = "europe-west4-a") -> Plan:
    """team, pools: where the cluster of the stack `team` is, and what it offers."""
    stacks = {"team": cluster_only(*pools, location=team), "other": cluster_only(stack="other")}
    return planner.plan(made, stacks.__getitem__)


def sweep(cluster: ClusterChoice | None, **fields: Any) -> Experiment:
    return experiment(job("--lr=1", executor=CPU), job("--lr=2", executor=CPU), cluster=cluster, **fields)


def on_vertex(*jobs: Job, title: str = "A sweep") -> Experiment:
    return experiment(*jobs, title=title)


def trial(rate: int, location: str | None = None) -> Job:
    return any_job(f"--lr={rate}", executor=Vertex(requirements=JobRequirements(cpu=4, location=location)))


def reasons(old: Plan, new: Plan) -> list[tuple[Reason, ...]]:
    """Of each unit that runs again."""
    units = compare("sweep", old, new).units
    assert {unit.change for unit in units} <= {"run again"}
    return [unit.reasons for unit in units]


def moved(old: str, new: str) -> list[tuple[Reason, ...]]:
    """Both units of a sweep, for no other reason."""
    return [(Reason("cluster", "cluster", old, new),)] * 2


IN_TEAM = "stack:team@europe-west4-a"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, TEAM, moved("own", IN_TEAM), id="from its own to another stack's"),
        pytest.param(TEAM, None, moved(IN_TEAM, "own"), id="and back"),
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
        pytest.param(
            TEAM,
            existing("team-1a2b3c4", "europe-west4-b"),
            moved(IN_TEAM, "existing:team-1a2b3c4@europe-west4-b"),
            id="to one that is not where the other stack's is",
        ),
        pytest.param(
            TEAM,
            existing("team-next", "europe-west4-a"),
            moved(IN_TEAM, "existing:team-next@europe-west4-a"),
            id="to one that is not named as a stack's is",
        ),
        pytest.param(TEAM, existing("team-1a2b3c4", "europe-west4-a"), [], id="that may be the other stack's"),
        pytest.param(existing("team-1a2b3c4", None), TEAM, [], id="and back, wherever it is"),
        pytest.param(None, own("europe-west4-a"), [], id="to where it may be already"),
        pytest.param(None, own(), [], id="in other words"),
        pytest.param(TEAM, replace(TEAM, by_option=True), [], id="as the command line says"),
    ],
)
def test_another_cluster_has_every_job_run_again(
    old: ClusterChoice | None, new: ClusterChoice | None, expected: list[tuple[Reason, ...]]
) -> None:
    assert reasons(planned(sweep(old)), planned(sweep(new))) == expected


def test_another_stacks_cluster_may_move() -> None:
    old, new = (planned(sweep(TEAM), team=f"europe-west4-{zone}") for zone in "ab")
    assert reasons(old, new) == moved(IN_TEAM, "stack:team@europe-west4-b")
    cluster = compare("team", *(planner.plan(cluster_only(location=f"europe-west4-{zone}")) for zone in "ab"))
    assert cluster == StackChange(
        "team", "changed", resources=(ResourceChange("replaced", CLUSTER, "team", ("location",)),)
    )


def test_a_unit_that_moves_the_cluster_takes_the_others_along() -> None:
    def asking(zone: str) -> Plan:
        there = job("--lr=2", executor=kubernetes(cpu=1, location=f"europe-west4-{zone}"))
        return planned(experiment(job("--lr=1", executor=CPU), there))

    cluster = Reason("cluster", "cluster", "own@europe-west4-a", "own@europe-west4-b")
    assert reasons(asking("a"), asking("b")) == [
        (cluster,),
        (Reason("executor", "train", "location=europe-west4-a", "location=europe-west4-b"), cluster),
    ]


def test_a_unit_that_moves_a_stack_on_vertex_ai_takes_the_others_along() -> None:
    old, new = (planner.plan(on_vertex(trial(1), trial(2, location))) for location in ("us-central1", "europe-west4"))
    region = Reason("region", "region", "us-central1", "europe-west4")
    assert reasons(old, new) == [
        (region,),
        (Reason("executor", "train", "location=us-central1", "location=europe-west4"), region),
    ]
    assert compare("sweep", old, new).resources == (
        ResourceChange("replaced", CUSTOM_JOB, old.units[0].name, ("region",)),
        ResourceChange("added", CUSTOM_JOB, new.units[1].name),
        ResourceChange("removed", CUSTOM_JOB, old.units[1].name),
    )


def test_what_comes_to_run_on_a_cluster_does_not_move_there_alone() -> None:
    here = planner.plan(experiment(any_job("--lr=1")))
    assert reasons(here, planned(experiment(job("--lr=1", executor=CPU)))) == [
        (Reason("executor", "train", "kind=local", "kind=kubernetes cpu=1"),)
    ]


def in_the_manifest(*found: str) -> tuple[Reason, ...]:
    return tuple(Reason("manifest", name) for name in found)


T4_POOL = PoolRequest(requirements=kubernetes(T4).requirements)
AFTER = {"after": {1: [0]}}
ONE, TWO = (job(f"--name={names.experiment_id('sweep')}_{number}_train", executor=CPU) for number in (1, 2))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            planned(sweep(None)),
            planned(sweep(None, title="Another title")),
            [in_the_manifest("labels")] * 2,
            id="the title is a label of each Job",
        ),
        pytest.param(
            planner.plan(on_vertex(trial(1), trial(2))),
            planner.plan(on_vertex(trial(1), trial(2), title="Another title")),
            [in_the_manifest("displayName", "labels")] * 2,
            id="and of each CustomJob",
        ),
        pytest.param(
            planned(experiment(job(), cluster=TEAM)),
            planned(experiment(job(), cluster=TEAM), T4_POOL),
            [in_the_manifest("nodeSelector")],
            id="another stack comes to offer the machines",
        ),
        pytest.param(
            planned(experiment(job(executor=CPU), job("--x", executor=CPU))),
            planned(experiment(job(executor=CPU), job("--x", executor=CPU), **AFTER)),
            [in_the_manifest("awaited"), (Reason("predecessor", "train-{first}"),)],
            id="another unit waits for it",
        ),
        pytest.param(
            planned(experiment(ONE, job("--x", executor=CPU))),
            planned(experiment(job("--x", executor=CPU), TWO)),
            [in_the_manifest("args")],
            id="a name that holds its place",
        ),
        pytest.param(
            planned(experiment(job("--lr=1", "--steps=2", executor=CPU))),
            planned(experiment(job("--steps=2", "--lr=1", executor=CPU))),
            [()],
            id="one that is another one has other labels anyway",
        ),
    ],
)
def test_what_differs_in_a_manifest_has_its_job_run_again(
    old: Plan, new: Plan, expected: list[tuple[Reason, ...]]
) -> None:
    # A predecessor's logical name ends in a hash, which the table leaves out.
    first = new.units[0].identity[:8]
    assert reasons(old, new) == [
        tuple(replace(reason, name=reason.name.replace("{first}", first)) for reason in each) for each in expected
    ]


def test_all_that_is_on_the_cluster_is_replaced() -> None:
    volume = Volume(path="/cache", claim="cache", size=10)
    jobs = [job(f"--lr={rate}", executor=kubernetes(T4, on={"volumes": (volume,)})) for rate in (1, 2)]
    old, new = (planned(experiment(*jobs, cluster=choice)) for choice in (TEAM, OTHER))
    [pool] = new.cluster.pools  # type: ignore[union-attr]
    first, second = (unit.name for unit in new.units)
    why = (Reason("cluster", "cluster", IN_TEAM, "stack:other@europe-west4-a"),)
    assert compare("sweep", old, new) == StackChange(
        stack="sweep",
        change="changed",
        units=(
            UnitChange("run again", first, {"lr": "1"}, why),
            UnitChange("run again", second, {"lr": "2"}, why),
        ),
        unchanged=0,
        resources=(
            ResourceChange("replaced", NODE_POOL, pool.name, ("cluster",)),
            ResourceChange("replaced", OBJECTS["PersistentVolumeClaim"], "cache", ("provider",)),
            ResourceChange("replaced", JOB, first, ("provider",)),
            ResourceChange("replaced", JOB, second, ("provider",)),
        ),
    )


def test_a_review_says_where_the_jobs_go() -> None:
    change = compare("sweep", planned(sweep(own("europe-west4-a"))), planned(sweep(own("europe-west4-b"))))
    first, second = (unit.unit for unit in change.units)
    [pool] = planned(sweep(None)).cluster.pools  # type: ignore[union-attr]
    why = "cluster: `own@europe-west4-a` → `own@europe-west4-b`"
    assert markdown([change]) == (
        "## Stack `sweep`\n"
        "\n"
        f"Work units: 2 run again, 0 unchanged. Run again because of {why}.\n"
        "\n"
        "| change | work unit | arguments that vary | because of |\n"
        "|---|---|---|---|\n"
        f"| run again | `{first}` | `lr=1` | {why} |\n"
        f"| run again | `{second}` | `lr=2` | {why} |\n"
        "\n"
        "Resources:\n"
        "\n"
        "- `kubernetes:batch/v1:Job`: 2 replaced\n"
        "- `gcp:container/cluster:Cluster` `sweep`: replaced (`location`)\n"
        f"- `gcp:container/nodePool:NodePool` `{pool.name}`: replaced (`cluster`)\n"
    )
    [said] = as_json([change])["stacks"]
    assert [unit["reasons"] for unit in said["units"]] == [
        [{"kind": "cluster", "name": "cluster", "old": "own@europe-west4-a", "new": "own@europe-west4-b"}]
    ] * 2


def test_a_review_says_what_of_a_manifest_differs() -> None:
    text = markdown([compare("sweep", planned(sweep(None)), planned(sweep(None, title="Another title")))])
    assert "Work units: 2 run again, 0 unchanged. Run again because of `labels` in its manifest.\n" in text


# What the settings say of the place

PROJECT = "config:\n  gcp:project: acme\n"
DEFAULTS = "name: experiments\nconfig:\n  location:\n    type: string\n    default: us-central1-a\n"
SETTINGS, TEAMS, DECLARED = "stacks/Pulumi.sweep.yaml", "stacks/Pulumi.team.yaml", "Pulumi.yaml"


def located(made: Experiment, files: Mapping[str, str], team: str | None = None) -> Cluster | VertexPlace | None:
    def read(path: str) -> str:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path]

    plan = planned(made, team=team)
    found, same = placed(plan, plan, (read, read), "experiments")
    assert same == found
    return found.cluster or found.vertex


@pytest.mark.parametrize(
    ("choice", "files", "expected"),
    [
        (None, {SETTINGS: f"{PROJECT}  experiments:location: europe-west4-b\n", DECLARED: DEFAULTS}, "europe-west4-b"),
        (None, {SETTINGS: PROJECT, DECLARED: DEFAULTS}, "us-central1-a"),
        (own("us-east1-b"), {SETTINGS: f"{PROJECT}  experiments:location: europe-west4-b\n"}, "us-east1-b"),
        (TEAM, {TEAMS: f"{PROJECT}  experiments:location: us-west1-a\n", SETTINGS: PROJECT}, "us-west1-a"),
        (existing("prod", None), {SETTINGS: f"{PROJECT}  experiments:location: us-east1\n"}, "us-east1"),
        # With which nothing can be up.
        (None, {DECLARED: DEFAULTS}, None),
        (None, {SETTINGS: "", DECLARED: DEFAULTS}, None),
        # An environment may say otherwise than Pulumi.yaml.
        (None, {SETTINGS: f"environment: [prod]\n{PROJECT}", DECLARED: DEFAULTS}, None),
        # As Pulumi itself refuses it.
        (None, {SETTINGS: "config: [", DECLARED: DEFAULTS}, None),
        (None, {SETTINGS: "config: here", DECLARED: "- 1"}, None),
        (None, {SETTINGS: f"{PROJECT}  experiments:location: {{secure: abc}}\n"}, None),
    ],
)
def test_where_a_cluster_is_by_the_settings(
    choice: ClusterChoice | None, files: Mapping[str, str], expected: str | None
) -> None:
    found = located(sweep(choice), files)
    assert isinstance(found, Cluster)
    assert found.location == expected


@pytest.mark.parametrize(
    ("location", "files", "expected"),
    [
        (None, {SETTINGS: f"{PROJECT}  gcp:region: europe-west4\n", DECLARED: DEFAULTS}, "europe-west4"),
        (None, {SETTINGS: PROJECT, DECLARED: DEFAULTS}, "us-central1"),
        (None, {}, None),
        ("us-east1", {SETTINGS: f"{PROJECT}  gcp:region: europe-west4\n"}, "us-east1"),
    ],
)
def test_where_a_stack_on_vertex_ai_is_by_the_settings(
    location: str | None, files: Mapping[str, str], expected: str | None
) -> None:
    assert located(on_vertex(trial(1, location)), files) == VertexPlace(region=expected)


def test_a_place_of_one_side_alone_is_no_difference() -> None:
    """Such as one that is set and not committed yet."""
    plan = planned(sweep(None))

    def read(path: str) -> str:
        return {SETTINGS: PROJECT, DECLARED: DEFAULTS}[path]

    assert placed(plan, plan, (lambda _: "", read), "experiments") == (plan, plan)
