"""Whatever is swapped in the planner or the catalog shows: Google refuses the pool, a job finds no node, or it lands on
other hardware than was asked for.

What is right is written down here and in the rehearsal a second time, apart from the catalog.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tests.builders import experiment, job
from tests.rehearsal.machines import KNOWN
from tests.rehearsal.node_pools import CLUSTER_ID, inputs
from tests.rehearsal.stacks import IMAGE
from xmgen.catalog import selection
from xmgen.catalog.pools import NodePool
from xmgen.executors.gke import plan as gke
from xmgen.executors.gke import resources
from xmgen.experiment import Accelerator, JobRequirements, Kubernetes
from xmgen.plan import planner
from xmgen.plan.model import Plan
from xmgen.program import render as program
from xmgen.project import Project
from xmgen.rehearsal.cloud.kinds import CLUSTER, NODE_POOL, RESOURCE_POLICY
from xmgen.rehearsal.cloud.nodes import Template, template
from xmgen.rehearsal.cloud.refusals import refusal
from xmgen.rehearsal.cloud.scheduling import amounts, has_room, less, obstacles, requests
from xmgen.rehearsal.cloud.store import Item, Store
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.stack import compiled
from xmgen.stack import folder as stack

Json = dict[str, Any]
ZONE = "us-central2-b"
LABELS = {
    "t4": "nvidia-tesla-t4",
    "v100": "nvidia-tesla-v100",
    "a100": "nvidia-tesla-a100",
    "a100_80gib": "nvidia-a100-80gb",
    "h100": "nvidia-h100-80gb",
    "l4_24th": "nvidia-l4",
    "tpu_v4": "tpu-v4-podslice",
    "tpu_v5e": "tpu-v5-lite-podslice",
    "tpu_v5p": "tpu-v5p-slice",
    "tpu_v6e": "tpu-v6e-slice",
    "tpu_v7x": "tpu7x",
}
"""What GKE calls the nodes of an accelerator."""


def asks(type: str = "", count: float | None = None, topology: str | None = None, **rest: Any) -> Kubernetes:
    accelerator = Accelerator(type=type, count=count, topology=topology) if type else None
    return Kubernetes(requirements=JobRequirements(accelerator=accelerator, **rest))


T4 = asks("t4", 2, service_tier="spot")
A100 = asks("a100", 1)
CPUS = asks(cpu=6)
HERE = asks(cpu=6, location=ZONE)
ONE_HOST = asks("tpu_v5e", topology="2x4")
SLICE = asks("tpu_v5e", topology="4x4")
POLICY_SLICE = asks("tpu_v7x", topology="2x2x2")


def planned(*executors: Kubernetes, stack: str = "mutant") -> Plan:
    jobs = [job(f"--n={number}", executor=each, executable=IMAGE.name) for number, each in enumerate(executors)]
    return planner.plan(experiment(*jobs, stack=stack, executables=(IMAGE,)))


def pools(plan: Plan) -> tuple[NodePool, ...]:
    assert plan.cluster is not None
    return plan.cluster.pools


def with_pools(plan: Plan, change: Callable[[NodePool], NodePool]) -> Plan:
    assert plan.cluster is not None
    cluster = dataclasses.replace(plan.cluster, pools=tuple(change(pool) for pool in plan.cluster.pools))
    changed = dataclasses.replace(plan, cluster=cluster)
    return dataclasses.replace(changed, declared=resources.declared(changed))


def findings(plan: Plan, folder: Path, tamper: Callable[[Json], None] = lambda inputs: None) -> list[str]:
    """What a rehearsal of this plan would say, as far as it can be known without one. tamper: changes what is sent of
    every pool."""
    assert plan.cluster is not None
    zone = plan.cluster.location or "europe-west4-a"
    store, region = Store(folder / "cloud.json"), zone.rpartition("-")[0]
    store.put(Item(id=CLUSTER_ID.format(zone), type=CLUSTER, inputs={"location": zone}, outputs={}))
    nodes: list[Template] = []
    found: list[str] = []
    for pool in pools(plan):
        if topology := gke.workload_policy(pool):
            id = f"projects/acme/regions/{region}/resourcePolicies/{pool.name}"
            policy = {"workloadPolicy": {"acceleratorTopology": topology}}
            store.put(Item(id=id, type=RESOURCE_POLICY, inputs=policy, outputs={}))
        sent = inputs(pool, zone)
        tamper(sent)
        if why := refusal(NODE_POOL, sent, store):
            found.append(f"refused: {why}")
            continue
        nodes.append(template(Item(id=pool.name, type=NODE_POOL, inputs=sent, outputs={}), store))
    for unit, planned_unit in zip(plan.experiment.units, plan.units, strict=True):
        for manifest in planned_unit.manifests:
            executor = unit.jobs[0].executor
            assert isinstance(executor, Kubernetes)
            found += _of_job(cast(Json, manifest), executor.requirements, nodes)
    return found


def _of_job(manifest: Json, asked: JobRequirements, nodes: list[Template]) -> list[str]:
    pod = manifest["spec"]["template"]
    reasons: list[str] = []
    landed: list[Template] = []
    for node in nodes:
        wanted, free = requests(pod), less(amounts(node.allocatable), amounts(node.system_requests()))
        lacking = [name for name, amount in wanted.items() if not has_room(free, {name: amount})]
        reasons += [*obstacles(pod, node.labels, node.taints), *(f"too little {name}" for name in lacking)]
        if not lacking and not obstacles(pod, node.labels, node.taints):
            landed.append(node)
    if not landed:
        return [f"no node: {'; '.join(reasons)}"]
    return [each for node in landed for each in _wrong(manifest, asked, node)]


def _wrong(manifest: Json, asked: JobRequirements, node: Template) -> list[str]:
    """What of a node is not what was asked for."""
    found: list[str] = []
    number = manifest["spec"].get("parallelism", 1)
    if number != node.hosts and node.hosts > 1:
        found.append(f"landed wrong: {number} pods on a slice of {node.hosts} hosts")
    if asked.accelerator is None:
        return found
    tpu = asked.accelerator.type.startswith("tpu")
    label = node.labels.get("cloud.google.com/gke-tpu-accelerator" if tpu else "cloud.google.com/gke-accelerator")
    if label != LABELS[asked.accelerator.type]:
        found.append(f"landed wrong: {label} instead of {asked.accelerator.type}")
    topology = node.labels.get("cloud.google.com/gke-tpu-topology")
    if topology != asked.accelerator.topology:
        found.append(f"landed wrong: topology {topology}")
    resource = "google.com/tpu" if tpu else "nvidia.com/gpu"
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    given = container["resources"]["requests"].get(resource)
    if given != node.allocatable[resource]:
        found.append(f"landed wrong: {given} of {node.allocatable[resource]} {resource}")
    if not tpu and float(given or 0) != asked.accelerator.count:
        found.append(f"landed wrong: {given} {resource} instead of {asked.accelerator.count}")
    return found


ALL = [
    T4,
    A100,
    CPUS,
    HERE,
    ONE_HOST,
    SLICE,
    POLICY_SLICE,
    *(asks(each, topology="2x2x2") for each in ("tpu_v4", "tpu_v5p")),
]


@pytest.mark.parametrize("executor", ALL)
def test_nothing_is_found_where_nothing_is_swapped(executor: Kubernetes, tmp_path: Path) -> None:
    assert findings(planned(executor), tmp_path) == []


def machine(name: str, **changes: Any) -> tuple[str, str, Json]:
    return "machines", name, changes


def tpu_machine(name: str, **changes: Any) -> tuple[str, str, Json]:
    tpu = KNOWN.machines[name].tpu
    assert tpu is not None
    return machine(name, tpu=dataclasses.replace(tpu, **changes))


def gpu(name: str, **changes: Any) -> tuple[str, str, Json]:
    return "gpus", name, changes


CATALOG: list[tuple[Kubernetes, tuple[str, str, Json], str]] = [
    # Labels of GPUs: attached ones, ones that machines come with.
    (T4, gpu("t4", label="nvidia-tesla-v100"), "landed wrong: nvidia-tesla-v100 instead of t4"),
    (T4, gpu("t4", label="nvidia-l4"), "Accelerator type nvidia-l4 cannot be attached"),
    (A100, gpu("a100", label="nvidia-a100-80gb"), "comes with 1 nvidia-tesla-a100, not with 1 nvidia-a100-80gb"),
    (asks("l4_24th", 4), machine("g2-standard-24", accelerator_count=4), "comes with 2 nvidia-l4, not with 4"),
    (
        asks("h100", 8, service_tier="spot"),
        machine("a3-highgpu-4g", accelerator_count=8),
        "comes with 4 nvidia-h100-80gb, not with 8",
    ),
    (asks("a100", 8), machine("a2-highgpu-4g", accelerator_count=8), "comes with 4 nvidia-tesla-a100, not with 8"),
    # The machine of another model.
    (asks("a100_80gib", 1), machine("a2-highgpu-1g", accelerator="a100_80gib"), "comes with 1 nvidia-tesla-a100"),
    # Labels and chips of TPUs.
    (ONE_HOST, tpu_machine("ct5lp-hightpu-8t", label="tpu-v5p-slice"), "gke-tpu-accelerator is tpu-v5-lite-podslice"),
    (SLICE, tpu_machine("ct5lp-hightpu-4t", label="tpu-v6e-slice"), "gke-tpu-accelerator is tpu-v5-lite-podslice"),
    (POLICY_SLICE, tpu_machine("tpu7x-standard-4t", label="tpu-v7x"), "gke-tpu-accelerator is tpu7x"),
    (SLICE, machine("ct5lp-hightpu-4t", accelerator_count=8), "needs 4 nodes, got 2"),
    (SLICE, machine("ct5lp-hightpu-4t", accelerator_count=2), "needs 4 nodes, got 8"),
    (
        asks("tpu_v6e", topology="4x4"),
        tpu_machine("ct6e-standard-8t", single_host="4x4"),
        "ct6e-standard-8t only exists as a single host",
    ),
]


@pytest.mark.parametrize(("executor", "swap", "words"), CATALOG)
def test_a_swap_in_the_catalog_shows(
    executor: Kubernetes, swap: tuple[str, str, Json], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, key, changes = swap
    rows = getattr(KNOWN, table)
    monkeypatch.setitem(rows, key, dataclasses.replace(rows[key], **changes))
    # Choices are remembered.
    monkeypatch.setattr(selection, "_selected", selection._selected.__wrapped__)
    plan = planned(executor)
    found = findings(plan, tmp_path)
    assert any(words in each for each in found), (found, [pool.machine_type for pool in pools(plan)])


def gpu_node(**changes: Any) -> Callable[[NodePool], NodePool]:
    def change(pool: NodePool) -> NodePool:
        assert pool.gpu is not None
        return dataclasses.replace(pool, gpu=dataclasses.replace(pool.gpu, **changes))

    return change


def tpu_node(**changes: Any) -> Callable[[NodePool], NodePool]:
    def change(pool: NodePool) -> NodePool:
        assert pool.tpu is not None
        return dataclasses.replace(pool, tpu=dataclasses.replace(pool.tpu, **changes))

    return change


def topology(value: str) -> Callable[[NodePool], NodePool]:
    """Of the nodes, and of what keeps them together."""

    def change(pool: NodePool) -> NodePool:
        assert pool.policy is not None
        return tpu_node(topology=value)(
            dataclasses.replace(pool, policy=dataclasses.replace(pool.policy, topology=value))
        )

    return change


def changed(**changes: Any) -> Callable[[NodePool], NodePool]:
    return lambda pool: dataclasses.replace(pool, **changes)


def spot_taint(**changes: Any) -> Callable[[NodePool], NodePool]:
    def change(pool: NodePool) -> NodePool:
        taints = [
            dataclasses.replace(each, **changes) if each.key == "cloud.google.com/gke-spot" else each
            for each in pool.taints
        ]
        return dataclasses.replace(pool, taints=tuple(taints))

    return change


POOLS: list[tuple[Kubernetes, Callable[[NodePool], NodePool], str]] = [
    (T4, gpu_node(label="nvidia-tesla-v100"), "label cloud.google.com/gke-accelerator is nvidia-tesla-v100"),
    (A100, gpu_node(label="nvidia-a100-80gb"), "comes with 1 nvidia-tesla-a100"),
    (T4, gpu_node(count=1), "too little nvidia.com/gpu"),
    (T4, gpu_node(count=4), "landed wrong: 2 of 4 nvidia.com/gpu"),
    (T4, gpu_node(count=3), "not 3 times"),
    (T4, changed(gpu=None), "gke-accelerator is missing"),
    (T4, spot_taint(key="cloud.google.com/gke-preemptible"), "taint cloud.google.com/gke-preemptible=true is not"),
    (T4, spot_taint(value="yes"), "taint cloud.google.com/gke-spot=yes is not tolerated"),
    (T4, changed(provisioning="on-demand"), "label cloud.google.com/gke-spot is missing"),
    (T4, changed(provisioning="flex-start"), "is not available as flex-start"),
    (T4, changed(labels={"xmgen/nodes": "others"}), "label xmgen/nodes is others"),
    (T4, changed(machine_type="n1-standard-96"), "2 nvidia-tesla-t4 can be attached to machines of at most"),
    (T4, changed(machine_type="n2-standard-8"), "cannot be attached to machine type n2-standard-8"),
    (T4, changed(machine_type="n1-standard-1"), "too little cpu"),
    (CPUS, changed(machine_type="e2-standard-4"), "too little cpu"),
    (CPUS, changed(machine_type="t2a-standard-8"), "label kubernetes.io/arch is arm64"),
    (CPUS, changed(boot_disk="hyperdisk-balanced"), "hyperdisk-balanced cannot be used"),
    (CPUS, changed(local_ssds=1), "has 0 local SSDs"),
    (CPUS, changed(zones=(ZONE,)), f'does not exist in zone "{ZONE}"'),
    (CPUS, changed(max_nodes=0), "Invalid autoscaling range"),
    (ONE_HOST, changed(machine_type="ct5p-hightpu-4t"), "gke-tpu-accelerator is tpu-v5p-slice"),
    (ONE_HOST, changed(machine_type="ct5lp-hightpu-4t"), "gke-tpu-topology is 2x2, not 2x4"),
    (SLICE, changed(machine_type="ct6e-standard-4t"), "pd-balanced cannot be used by ct6e-standard-4t"),
    (SLICE, changed(machine_type="ct5p-hightpu-4t"), "Invalid TPU topology 4x4 for ct5p-hightpu-4t"),
    (SLICE, changed(machine_type="ct5lp-hightpu-8t"), "ct5lp-hightpu-8t only exists as a single host"),
    (SLICE, topology("2x8"), "Invalid TPU topology 2x8"),
    (SLICE, topology("4x8"), "needs 8 nodes, got 4"),
    (SLICE, changed(max_nodes=3), "needs 4 nodes, got 3"),
    (SLICE, changed(policy=None), "gke-tpu-topology is 2x2, not 4x4"),
    (SLICE, tpu_node(hosts=1), "gke-tpu-topology is 2x2, not 4x4"),
    (SLICE, changed(zones=("us-west4-a", "us-west4-b")), "must be in a single zone"),
    (asks("tpu_v4", topology="2x2x2"), topology("2x4"), "Invalid TPU topology 2x4"),
    (asks("tpu_v4", topology="2x2x4"), topology("1x4x4"), "gke-tpu-topology is 1x4x4, not 2x2x4"),
    (POLICY_SLICE, topology("2x2x4"), "needs 4 nodes, got 2"),
    (POLICY_SLICE, changed(policy=None), "gke-tpu-topology is 2x2x1, not 2x2x2"),
]


@pytest.mark.parametrize(("executor", "change", "words"), POOLS)
def test_a_swap_in_a_node_pool_shows(
    executor: Kubernetes, change: Callable[[NodePool], NodePool], words: str, tmp_path: Path
) -> None:
    plan = planned(executor)
    mutant = with_pools(plan, change)
    assert mutant != plan
    found = findings(mutant, tmp_path)
    assert any(words in each for each in found), found


def effect(inputs: Json) -> None:
    for taint in inputs["nodeConfig"]["taints"]:
        taint["effect"] = "NO_EXECUTE"


def unknown_effect(inputs: Json) -> None:
    for taint in inputs["nodeConfig"]["taints"]:
        taint["effect"] = "NoSchedule"


@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        (effect, "taint cloud.google.com/gke-spot=true is not tolerated"),
        (unknown_effect, "Invalid taint effect 'NoSchedule'"),
    ],
)
def test_a_swapped_effect_of_a_taint_shows(tamper: Callable[[Json], None], words: str, tmp_path: Path) -> None:
    found = findings(planned(T4), tmp_path, tamper)
    assert any(words in each for each in found), found


def pod_spec(manifest: Json) -> Json:
    return manifest["spec"]["template"]["spec"]


def select(key: str, value: str) -> Callable[[Json], None]:
    return lambda manifest: pod_spec(manifest)["nodeSelector"].update({key: value})


def tolerate(of: str, **changes: str) -> Callable[[Json], None]:
    def change(manifest: Json) -> None:
        (found,) = [each for each in pod_spec(manifest)["tolerations"] if each["key"] == of]
        found.update(changes)

    return change


def request(resource: str, count: str) -> Callable[[Json], None]:
    def change(manifest: Json) -> None:
        for kind in pod_spec(manifest)["containers"][0]["resources"].values():
            kind[resource] = count

    return change


def hosts(count: int) -> Callable[[Json], None]:
    return lambda manifest: manifest["spec"].update(parallelism=count, completions=count)


JOBS: list[tuple[Kubernetes, Callable[[Json], None], str]] = [
    (T4, select("cloud.google.com/gke-accelerator", "nvidia-l4"), "is nvidia-tesla-t4, not nvidia-l4"),
    (T4, select("cloud.google.com/gke-spot", "false"), "is true, not false"),
    (T4, tolerate("nvidia.com/gpu", key="nvidia.com/gpus"), "taint nvidia.com/gpu=present is not tolerated"),
    (T4, tolerate("nvidia.com/gpu", effect="NoExecute"), "taint nvidia.com/gpu=present is not tolerated"),
    (T4, tolerate("cloud.google.com/gke-spot", value="false"), "gke-spot=true is not tolerated"),
    (T4, request("nvidia.com/gpu", "4"), "too little nvidia.com/gpu"),
    (T4, request("nvidia.com/gpu", "1"), "landed wrong: 1 of 2 nvidia.com/gpu"),
    (SLICE, select("cloud.google.com/gke-tpu-accelerator", "tpu-v5-lite-device"), "not tpu-v5-lite-device"),
    (SLICE, select("cloud.google.com/gke-tpu-topology", "2x8"), "is 4x4, not 2x8"),
    (SLICE, tolerate("google.com/tpu", key="google.com/tpus"), "taint google.com/tpu=present is not tolerated"),
    (SLICE, request("google.com/tpu", "8"), "too little google.com/tpu"),
    (SLICE, request("google.com/tpu", "1"), "landed wrong: 1 of 4 google.com/tpu"),
    (SLICE, hosts(3), "landed wrong: 3 pods on a slice of 4 hosts"),
    (SLICE, hosts(8), "landed wrong: 8 pods on a slice of 4 hosts"),
]


@pytest.mark.parametrize(("executor", "change", "words"), JOBS)
def test_a_swap_in_a_job_shows(
    executor: Kubernetes, change: Callable[[Json], None], words: str, tmp_path: Path
) -> None:
    plan = planned(executor)
    change(cast(Json, plan.units[0].manifests[0]))
    found = findings(plan, tmp_path)
    assert any(words in each for each in found), found


SWAPPED: list[tuple[Kubernetes, Callable[[NodePool], NodePool] | None, Callable[[Json], None] | None, str]] = [
    # A GPU's label, a taint's key, a count, a machine type, a topology, in the pool.
    (
        asks("t4", 1),
        gpu_node(label="nvidia-tesla-v100"),
        None,
        "gke-accelerator is nvidia-tesla-v100, not nvidia-tesla-t4",
    ),
    (asks("v100", 1, service_tier="spot"), spot_taint(key="wrong/key"), None, "taint wrong/key=true is not tolerated"),
    (asks("p100", 2), gpu_node(count=1), None, "nvidia.com/gpu: 2 needed, 1 on an empty node"),
    (asks(cpu=12), changed(machine_type="e2-standard-8"), None, "cpu: "),
    (asks("tpu_v5p", topology="2x2x4"), topology("1x4x4"), None, "gke-tpu-topology is 1x4x4, not 2x2x4"),
    (ONE_HOST, changed(machine_type="ct5lp-hightpu-4t"), None, "gke-tpu-topology is 2x2, not 2x4"),
    # A taint's effect, the label of TPUs, chips per host, in the job.
    (
        asks("p4", 1, service_tier="spot"),
        None,
        tolerate("cloud.google.com/gke-spot", effect="NoExecute"),
        "taint cloud.google.com/gke-spot=true is not tolerated",
    ),
    (
        asks("tpu_v6e", topology="2x2"),
        None,
        select("cloud.google.com/gke-tpu-accelerator", "tpu-v6-slice"),
        "gke-tpu-accelerator is tpu-v6e-slice, not tpu-v6-slice",
    ),
    (SLICE, None, request("google.com/tpu", "8"), "google.com/tpu: 8 needed, 4 on an empty node"),
]
FINE = asks("t4", 4)
REFUSED: list[tuple[Kubernetes, Callable[[NodePool], NodePool], str]] = [
    (A100, gpu_node(label="nvidia-a100-80gb"), "comes with 1 nvidia-tesla-a100, not with 1 nvidia-a100-80gb"),
    (T4, gpu_node(count=3), "can be attached 1, 2, 4 times to a machine, not 3 times"),
    (SLICE, changed(max_nodes=3), "needs 4 nodes, got 3"),
    (asks("l4_24th", 1), changed(zones=(ZONE,)), f'"g2-standard-4" does not exist in zone "{ZONE}"'),
    (CPUS, changed(machine_type="e2-standard-9000x"), '"e2-standard-9000x" does not exist'),
    (asks("tpu_v6e", topology="4x4"), topology("2x8"), "Invalid TPU topology 2x8 for ct6e-standard-4t"),
]


def mutated(
    plan: Plan, changes: list[Callable[[NodePool], NodePool] | None], tampers: list[Callable[[Json], None] | None]
) -> Plan:
    """changes, tampers: of the pool of each job, and of the job itself."""
    by_name: dict[str, Callable[[NodePool], NodePool]] = {}
    for unit, change, tamper in zip(plan.units, changes, tampers, strict=True):
        manifest = cast(Json, unit.manifests[0])
        if change:
            selected = pod_spec(manifest)["nodeSelector"]["xmgen/nodes"]
            (pool,) = [pool for pool in pools(plan) if pool.labels["xmgen/nodes"] == selected]
            by_name[pool.name] = change
        if tamper:
            tamper(manifest)
    return with_pools(plan, lambda pool: by_name.get(pool.name, lambda same: same)(pool))


@pytest.mark.rehearsal
def test_the_scheduler_finds_no_node_for_what_is_swapped(in_scratch: Rehearsal, scratch: Project) -> None:
    plan = planned(*(each[0] for each in SWAPPED), FINE, stack="swapped")
    mutant = mutated(plan, [*(each[1] for each in SWAPPED), None], [*(each[2] for each in SWAPPED), None])
    stack.write(scratch.root, "swapped", program.render(mutant))
    report = in_scratch.run(compiled.read(scratch, "swapped"))
    names = [cast(Json, unit.manifests[0])["metadata"]["name"] for unit in mutant.units]
    assert {each.job for each in report.landings} == {names[-1]}
    reasons = {each.job: each.reasons for each in report.misfits}
    assert reasons.keys() == set(names[:-1])
    for name, (_, _, _, words) in zip(names, SWAPPED, strict=False):
        assert any(words in reason for reason in reasons[name]), (words, reasons[name])
    assert (report.failures, report.left) == ([], [])


@pytest.mark.rehearsal
def test_google_refuses_what_is_swapped(in_scratch: Rehearsal, scratch: Project) -> None:
    plan = planned(*(each[0] for each in REFUSED), stack="refusals")
    mutant = mutated(plan, [each[1] for each in REFUSED], [None] * len(REFUSED))
    stack.write(scratch.root, "refusals", program.render(mutant))
    report = in_scratch.run(compiled.read(scratch, "refusals"))
    said = "\n".join(failure.message for failure in report.failures)
    assert [words for _, _, words in REFUSED if words not in said] == [], said
    assert (report.fits, report.left) == (False, [])
