"""Node pools and clusters: what jobs need, as pulumi_gcp's arguments, and whose cluster it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from tests.on_gke import T4, cluster_only, experiment, job, kubernetes, manifests, pod
from xmgen.catalog import catalog
from xmgen.catalog.placement import Placement
from xmgen.catalog.pools import Demand, NodePool, plan_pools
from xmgen.catalog.selection import available_resources, select
from xmgen.errors import InputError
from xmgen.executors.gke import cluster
from xmgen.executors.gke.jobs import SIDECAR
from xmgen.experiment import Accelerator, ClusterChoice, Experiment, JobRequirements, Kubernetes, PoolRequest
from xmgen.plan import planner
from xmgen.plan.model import Cluster, Plan
from xmgen.program.resources_yaml import notation

OF_ALL_NODES = {
    "serviceAccount",
    "oauthScopes",
    "shieldedInstanceConfig",
    "workloadMetadataConfig",
    "resourceLabels",
}

TEAM = ClusterChoice(kind="stack", name="team")
SLICE = Accelerator(type="tpu_v5e", topology="4x4")
DISK = {"diskType": "pd-balanced", "diskSizeGb": 100}


def arguments(requirements: JobRequirements, reservation: str | None = None) -> dict[str, Any]:
    placement = select(requirements, reservation=reservation)
    [pool] = plan_pools([Demand(placement=placement, width=1)]).pools  # type: ignore[arg-type]
    return properties(pool)


def properties(pool: NodePool, location: str | None = None) -> dict[str, Any]:
    where = Cluster(location=location, system_machine_type="e2-standard-2", pools=())
    return cast("dict[str, Any]", notation(dict(cluster.node_pool(pool, where).inputs)))


def asked(accelerator: Accelerator | None = None, **fields: Any) -> JobRequirements:
    return JobRequirements(accelerator=accelerator, **fields)


@pytest.mark.parametrize(
    ("requirements", "reservation", "expected"),
    [
        (
            asked(cpu=1),
            None,
            {
                "machineType": "e2-standard-2",
                **DISK,
                "taints": [{"key": "xmgen/jobs", "value": "true", "effect": "NO_SCHEDULE"}],
            },
        ),
        (
            asked(T4),
            None,
            {
                "machineType": "n1-standard-2",
                **DISK,
                "guestAccelerators": [
                    {
                        "type": "nvidia-tesla-t4",
                        "count": 1,
                        "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
                    }
                ],
            },
        ),
        (
            asked(Accelerator(type="h100", count=8), service_tier="batch"),
            None,
            {
                "machineType": "a3-highgpu-8g",
                **DISK,
                "guestAccelerators": [
                    {
                        "type": "nvidia-h100-80gb",
                        "count": 8,
                        "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
                    }
                ],
                "ephemeralStorageLocalSsdConfig": {"localSsdCount": 16},
                "flexStart": True,
                "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
            },
        ),
        (
            asked(Accelerator(type="a100", count=1)),
            "ours",
            {
                "machineType": "a2-highgpu-1g",
                **DISK,
                "guestAccelerators": [
                    {
                        "type": "nvidia-tesla-a100",
                        "count": 1,
                        "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
                    }
                ],
                "reservationAffinity": {
                    "consumeReservationType": "SPECIFIC_RESERVATION",
                    "key": "compute.googleapis.com/reservation-name",
                    "values": ["ours"],
                },
            },
        ),
        (
            asked(Accelerator(type="tpu_v6e", topology="2x4"), service_tier="freebie"),
            None,
            {
                "machineType": "ct6e-standard-8t",
                "diskType": "hyperdisk-balanced",
                "diskSizeGb": 100,
                "spot": True,
                "taints": [{"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}],
            },
        ),
    ],
    ids=lambda value: value.accelerator.type if isinstance(value, JobRequirements) and value.accelerator else None,
)
def test_what_nodes_are(requirements: JobRequirements, reservation: str | None, expected: dict[str, Any]) -> None:
    settings = dict(arguments(requirements, reservation)["nodeConfig"])
    assert list(settings.pop("labels")) == ["xmgen/nodes"]
    assert {name: settings[name] for name in settings.keys() - OF_ALL_NODES} == expected


@pytest.mark.parametrize(
    ("accelerator", "autoscaling", "placement"),
    [
        (T4, {"totalMinNodeCount": 0, "totalMaxNodeCount": 1, "locationPolicy": "ANY"}, None),
        (
            SLICE,
            {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"},
            {"type": "COMPACT", "tpuTopology": "4x4"},
        ),
        (
            Accelerator(type="tpu_v7x", topology="2x2x2"),
            {"minNodeCount": 0, "maxNodeCount": 2, "locationPolicy": "ANY"},
            {"type": "", "policyName": "${tpuV7x2x2x26094491Policy.name}", "tpuTopology": "2x2x2"},
        ),
        (
            Accelerator(type="tpu_v5e", topology="1x1"),
            {"totalMinNodeCount": 0, "totalMaxNodeCount": 1, "locationPolicy": "ANY"},
            None,
        ),
    ],
)
def test_how_pools_grow_and_are_kept_together(accelerator: Accelerator, autoscaling: Any, placement: Any) -> None:
    found = arguments(asked(accelerator))
    assert (found["autoscaling"], found.get("placementPolicy")) == (autoscaling, placement)


def test_machines_that_come_for_a_limited_time_are_not_repaired() -> None:
    flex = arguments(asked(Accelerator(type="a100", count=1), service_tier="flex-start"))
    assert flex["management"] == {"autoRepair": False, "autoUpgrade": True}
    assert "management" not in arguments(asked(T4))


def test_the_sidecar_finds_room_too() -> None:
    """The largest job that a machine has room for alone, beside the sidecar needs a larger machine."""
    room = available_resources(catalog().machines["e2-standard-2"])
    tight = JobRequirements(cpu=room.cpu_millis / 1000, ram=2**30)
    alone, beside = select(tight), select(tight, sidecar=SIDECAR)
    assert isinstance(alone, Placement) and isinstance(beside, Placement)
    assert (alone.machine_type, beside.machine_type) == ("e2-standard-2", "e2-highcpu-4")
    assert beside.requests - alone.requests == beside.sidecar == SIDECAR
    [pool] = planner.plan(experiment(job(executor=Kubernetes(requirements=tight)))).cluster.pools  # type: ignore[union-attr]
    assert pool.machine_type == "e2-highcpu-4"


def test_pools_are_as_wide_as_jobs_can_run_at_once() -> None:
    def width(made: Experiment) -> int:
        [pool] = planner.plan(made).cluster.pools  # type: ignore[union-attr]
        return pool.max_nodes

    trials = [job(f"--a={number}") for number in range(3)]
    assert width(experiment(*trials)) == 3
    assert width(experiment(*trials, after={2: [0, 1]})) == 2
    assert width(experiment(*trials, after={1: [0], 2: [1]})) == 1


def slices(made: Experiment) -> list[str]:
    return [pool.name.rsplit("-", 1)[-1] for pool in planner.plan(made).cluster.pools]  # type: ignore[union-attr]


def test_every_slice_is_a_pool() -> None:
    two = Accelerator(type="tpu_v5e", topology="4x4", slices=2)
    assert slices(experiment(job(executor=kubernetes(two)))) == ["1", "2"]
    assert slices(experiment(job("a", executor=kubernetes(SLICE)), job("b", executor=kubernetes(SLICE)))) == ["1", "2"]


def test_a_cluster_with_slices_is_in_one_zone() -> None:
    pool = PoolRequest(requirements=JobRequirements(accelerator=SLICE))
    assert planner.plan(cluster_only(pool, location="europe-west4-b")).cluster is not None
    with pytest.raises(InputError, match="a slice of tpu_v5e is in one zone, but europe-west4 is a region"):
        planner.plan(cluster_only(pool, location="europe-west4"))


@pytest.mark.parametrize(
    ("of_jobs", "cluster", "zones"),
    [
        ((None, None), None, [()]),
        ((None, "europe-west4-b"), "europe-west4-b", [(), ()]),
        (("europe-west4-b", "europe-west4-b"), "europe-west4-b", [()]),
        (("europe-west4", None), "europe-west4", [(), ()]),
        (("europe-west4", "europe-west4-b"), "europe-west4", [(), ("europe-west4-b",)]),
        (("europe-west4-a", "europe-west4-b"), "europe-west4", [("europe-west4-a",), ("europe-west4-b",)]),
    ],
)
def test_a_cluster_is_where_all_of_its_jobs_can_run(
    of_jobs: tuple[str | None, ...], cluster: str | None, zones: list[tuple[str, ...]]
) -> None:
    made = experiment(*(job(f"--l={place}", executor=kubernetes(T4, location=place)) for place in of_jobs))
    plan = planner.plan(made)
    assert plan.cluster is not None
    assert plan.cluster.location == cluster
    found = [tuple(properties(pool, cluster).get("nodeLocations", ())) for pool in plan.cluster.pools]
    assert sorted(found) == zones


def test_jobs_of_several_zones_cost_a_system_node_in_each() -> None:
    one, two = (job(executor=kubernetes(T4, location=f"europe-west4-{zone}")) for zone in "ab")
    assert planner.plan(experiment(one, two)).notes == (
        "Jobs ask for europe-west4-a and europe-west4-b, so the cluster is regional: "
        "its system pool has a node in each zone.",
    )
    assert planner.plan(experiment(one)).notes == ()


@pytest.mark.parametrize(
    ("cluster", "pool", "message"),
    [
        ("europe-west4", "europe-west4-b", None),
        ("europe-west4-b", "europe-west4", None),
        (
            "europe-west4-a",
            "europe-west4-b",
            "pool 1: jobs ask for europe-west4-b, but the cluster is in europe-west4-a",
        ),
        ("us-central1-a", "europe-west4-b", "pool 1: jobs ask for europe-west4-b, but the cluster is in us-central1-a"),
    ],
)
def test_a_shared_cluster_is_where_its_file_says(cluster: str, pool: str, message: str | None) -> None:
    made = cluster_only(PoolRequest(requirements=JobRequirements(accelerator=T4, location=pool)), location=cluster)
    if message is None:
        found = planner.plan(made).cluster
        assert found is not None
        assert found.location == cluster
    else:
        with pytest.raises(InputError, match=message):
            planner.plan(made)


def test_jobs_of_several_regions_are_refused_where_the_second_asks() -> None:
    first, second = (
        job(name=name, executor=kubernetes(T4, location=place))
        for name, place in (("a", "europe-west4"), ("b", "us-central1-a"))
    )
    with pytest.raises(InputError) as caught:
        planner.plan(experiment(first, second))
    assert str(caught.value) == (
        "work unit 2, job b: jobs ask for europe-west4, us-central1-a, but a stack has one cluster\n"
        "  compile the jobs of each region into a stack of their own"
    )


# Whose cluster it is


def shared(made: Experiment, *pools: PoolRequest, **of_cluster: Any) -> Plan:
    team = cluster_only(*pools, **of_cluster)
    return planner.plan(replace(made, cluster=TEAM), {"team": team}.__getitem__)


T4_POOL = PoolRequest(requirements=JobRequirements(accelerator=T4), jobs=8)


def test_a_stack_that_is_nothing_but_a_cluster() -> None:
    plan = planner.plan(cluster_only(T4_POOL))
    assert (plan.units, plan.images, plan.objects) == ((), (), ())
    assert plan.cluster is not None
    assert (plan.cluster.kind, plan.cluster.location) == ("own", "europe-west4-a")
    assert plan.cluster.system_machine_type == "e2-standard-2"
    assert [(pool.machine_type, pool.max_nodes) for pool in plan.cluster.pools] == [("n1-standard-2", 8)]


def test_jobs_use_the_pools_of_a_shared_cluster() -> None:
    plan = shared(experiment(), T4_POOL)
    assert plan.cluster == Cluster(
        kind="stack", name="team", location="europe-west4-a", system_machine_type=None, pools=()
    )
    [manifest] = [each for unit in plan.units for each in unit.manifests]
    [offered] = planner.plan(cluster_only(T4_POOL)).cluster.pools  # type: ignore[union-attr]
    assert pod(manifest)["nodeSelector"]["xmgen/nodes"] == offered.labels["xmgen/nodes"]


@pytest.mark.parametrize(
    "made",
    [
        experiment(job(executor=kubernetes(Accelerator(type="t4", count=2)))),
        # The machines there are too small.
        experiment(job(executor=kubernetes(T4, cpu=16))),
        experiment(job(executor=kubernetes(T4, service_tier="freebie"))),
    ],
)
def test_what_a_shared_cluster_lacks_the_stack_adds(made: Experiment) -> None:
    plan, alone = shared(made, T4_POOL), planner.plan(made)
    assert plan.cluster is not None and alone.cluster is not None
    [added], [own] = plan.cluster.pools, alone.cluster.pools
    [manifest] = [each for unit in plan.units for each in unit.manifests]
    # Neither the name nor the label may be those of another stack's pool on the same cluster.
    assert added.name != own.name
    assert added.labels["xmgen/nodes"] != own.labels["xmgen/nodes"]
    assert pod(manifest)["nodeSelector"]["xmgen/nodes"] == added.labels["xmgen/nodes"]
    assert replace(added, name=own.name, labels=own.labels) == own
    assert len(added.name) <= 39


def test_jobs_of_one_kind_go_where_their_machines_are() -> None:
    made = experiment(job("small", executor=kubernetes(T4)), job("large", executor=kubernetes(T4, cpu=16)))
    plan = shared(made, T4_POOL)
    [added] = plan.cluster.pools  # type: ignore[union-attr]
    small, large = (pod(manifest)["nodeSelector"]["xmgen/nodes"] for unit in plan.units for manifest in unit.manifests)
    assert large == added.labels["xmgen/nodes"] == f"{small}-{large.rsplit('-', 1)[1]}"


def test_a_shared_cluster_needs_as_many_slices_as_a_job() -> None:
    two = experiment(job(executor=kubernetes(Accelerator(type="tpu_v5e", topology="4x4", slices=2))))
    pool = PoolRequest(requirements=JobRequirements(accelerator=SLICE))
    assert len(shared(two, pool).cluster.pools) == 2  # type: ignore[union-attr]
    assert shared(two, replace(pool, jobs=2)).cluster.pools == ()  # type: ignore[union-attr]
    names = [each.name for each in shared(two, pool).cluster.pools]  # type: ignore[union-attr]
    assert len(set(names)) == 2


@pytest.mark.parametrize(
    ("asked", "there", "fits"),
    [
        ("europe-west4-a", "europe-west4-a", True),
        ("europe-west4", "europe-west4-a", True),
        ("europe-west4-a", "europe-west4", True),
        ("us-central1-a", "europe-west4-a", False),
        ("us-central1-a", None, True),
    ],
)
def test_jobs_run_where_the_shared_cluster_is(asked: str, there: str | None, fits: bool) -> None:
    made = experiment(job(executor=kubernetes(T4, location=asked)))
    if fits:
        assert shared(made, location=there).cluster.location == there  # type: ignore[union-attr]
    else:
        with pytest.raises(InputError, match="jobs ask for us-central1-a, but the cluster team is in europe-west4-a"):
            shared(made, location=there)


def test_a_slice_on_a_regional_cluster_says_its_zone() -> None:
    def made(location: str | None) -> Experiment:
        return experiment(job(executor=kubernetes(SLICE, location=location)))

    with pytest.raises(InputError, match="a slice of tpu_v5e is in one zone, but europe-west4 is a region"):
        shared(made(None), location="europe-west4")
    [pool] = shared(made("europe-west4-b"), location="europe-west4").cluster.pools  # type: ignore[union-attr]
    assert pool.zones == ("europe-west4-b",)


def test_only_a_stack_that_creates_a_cluster_can_share_it() -> None:
    middle = replace(experiment(stack="middle"), cluster=TEAM)
    known = {"team": cluster_only(), "middle": middle}
    with pytest.raises(InputError, match="the stack 'middle' has no cluster of its own"):
        planner.plan(experiment(cluster=ClusterChoice(kind="stack", name="middle")), known.__getitem__)


def test_an_existing_cluster_gets_all_its_pools_from_the_stack() -> None:
    choice = ClusterChoice(kind="existing", name="prod", location="us-central1-a")
    plan = planner.plan(experiment(cluster=choice))
    assert plan.cluster is not None
    assert (plan.cluster.kind, plan.cluster.name, plan.cluster.location) == ("existing", "prod", "us-central1-a")
    assert plan.cluster.system_machine_type is None
    assert [pool.machine_type for pool in plan.cluster.pools] == ["n1-standard-2"]


def test_whose_cluster_it_is_says_nothing_of_the_jobs_but_their_nodes() -> None:
    [own] = manifests(experiment())
    [there] = [each for unit in shared(experiment()).units for each in unit.manifests]
    pod(own)["nodeSelector"]["xmgen/nodes"] = pod(there)["nodeSelector"]["xmgen/nodes"]
    assert pod(own) == pod(there)
