"""Which machines a job gets on GKE, and how it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.requirements import needs
from xmgen import catalog
from xmgen.catalog.allocatable import Resources
from xmgen.catalog.model import Gpu, MachineType, PlacementPolicy, Tpu
from xmgen.catalog.placement import GpuNode, Placement, Taint, Toleration, TpuNode
from xmgen.catalog.selection import select, system_machine
from xmgen.errors import Problem
from xmgen.experiment import JobRequirements

GIB = 2**30
KNOWN = catalog.catalog()
JOBS = Taint(key="xmgen/jobs", value="true")
GPU_TAINT = Taint(key="nvidia.com/gpu", value="present", by_gke=True)
TPU_TAINT = Taint(key="google.com/tpu", value="present", by_gke=True)
SPOT_TAINT = Taint(key="cloud.google.com/gke-spot", value="true")
REPLICAS = " on one machine; for more machines use replicas"
REST = " (GKE and its own pods take the rest)"
SLICES = "for several slices of it use num_slices"
V6E = "chips: 1, 4, 8, 16, 32, 64, 128, 256; topologies: 1x1, 2x2, 2x4, 4x4, 4x8, 8x8, 8x16, 16x16"
TIERS = "known: batch, flex-start, freebie, on-demand, prod, reservation, spot"
NO_DEMAND = "allowed: BATCH (flex-start), FREEBIE (spot), a reservation"
GPUS, TPUS = catalog.catalog().gpus, catalog.catalog().tpus
NO_LOCAL = "the accelerator local_gpu cannot be had: it means a GPU of this machine, for the Local executor only"


def placed(requirements: JobRequirements, reservation: str | None = None) -> Placement:
    found = select(requirements, reservation=reservation)
    assert isinstance(found, Placement), str(found)
    return found


def refused(requirements: JobRequirements, reservation: str | None = None) -> tuple[str, str]:
    found = select(requirements, reservation=reservation)
    assert isinstance(found, Problem), found
    return found.message, found.hint


# Names


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("t4", "t4"),
        ("A100", "a100"),
        ("a100-80gb", "a100_80gib"),
        ("a100_80gib", "a100_80gib"),
        ("l4", "l4_24th"),
        ("l4_24th", "l4_24th"),
        ("H100", "h100"),
        ("h100_mega", "h100_mega"),
        ("rtx 6000", "rtx_pro_6000"),
        ("v2", "tpu_v2"),
        ("tpu_v3", "tpu_v3"),
        ("v5e", "tpu_v5e"),
        ("v5litepod", "tpu_v5e"),
        ("V6E", "tpu_v6e"),
        ("trillium", "tpu_v6e"),
        ("tpu7x", "tpu_v7x"),
        ("TPU_V7X", "tpu_v7x"),
        ("v100", "v100"),
        ("p100", "p100"),
    ],
)
def test_names_and_aliases(name: str, identifier: str) -> None:
    found = catalog.accelerator(name)
    assert isinstance(found, Gpu | Tpu) and found.id == identifier


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("tpu_v6", "unknown accelerator 'tpu_v6'", "did you mean 'tpu_v6e'?"),
        ("h100_meg", "unknown accelerator 'h100_meg'", "did you mean 'h100_mega'?"),
        ("tpu_v5", "unknown accelerator 'tpu_v5'", "did you mean 'tpu_v5e' or 'tpu_v5p'?"),
        # Other hardware is never proposed.
        ("h1000", "unknown accelerator 'h1000'", f"known: {', '.join([*GPUS, *TPUS])}"),
        ("a100_60gb", "unknown accelerator 'a100_60gb'", f"known: {', '.join([*GPUS, *TPUS])}"),
        ("gpu", "unknown accelerator 'gpu'", f"say which: {', '.join(GPUS)}"),
        ("TPUs", "unknown accelerator 'TPUs'", f"say which: {', '.join(TPUS)}"),
        ("k80", "the accelerator k80 cannot be had: Google Cloud no longer has K80 GPUs", ""),
        ("vr200", "the accelerator vr200 cannot be had: no Google Cloud machine with it is known", ""),
        ("local_gpu", NO_LOCAL, ""),
    ],
)
def test_unknown_and_impossible_names(name: str, message: str, hint: str) -> None:
    assert catalog.accelerator(name, "here") == Problem(message, "here", hint)


def test_machine_types_that_are_not_used_say_why() -> None:
    assert catalog.machine_type("e2-standard-4") == KNOWN.machines["e2-standard-4"]
    assert catalog.machine_type("e2-medium", "here") == Problem(
        "the machine type e2-medium is not used: shared core: GKE reserves more than half of its CPU", "here"
    )
    assert catalog.machine_type("e2-standart-4", "here") == Problem(
        "unknown machine type 'e2-standart-4'", "here", "did you mean 'e2-standard-4'?"
    )


# Whole placements


def test_a_spot_gpu() -> None:
    asked = needs("t4", 1, cpu=2, ram=8 * GIB, disk=60 * GIB, service_tier="FREEBIE", location="us-central1-a")
    assert placed(asked) == (
        Placement(
            accelerator="t4",
            machine_type="n1-standard-4",
            architecture="amd64",
            provisioning="spot",
            reservation=None,
            gpu=GpuNode(label="nvidia-tesla-t4", count=1, driver="DEFAULT"),
            tpu=None,
            policy=None,
            pods=1,
            slices=1,
            requests=Resources(cpu_millis=2000, memory_bytes=8 * GIB, disk_bytes=60 * GIB),
            boot_disk="pd-balanced",
            boot_disk_gb=200,
            local_ssds=0,
            zone="us-central1-a",
            region="us-central1",
            node_selector={
                "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
                "cloud.google.com/gke-spot": "true",
                "kubernetes.io/arch": "amd64",
            },
            taints=(GPU_TAINT, SPOT_TAINT),
            tolerations=(Toleration(key="nvidia.com/gpu"), Toleration(key="cloud.google.com/gke-spot", value="true")),
            notes=(),
        )
    )


def test_a_multi_host_tpu() -> None:
    found = placed(needs("v5e", topology="4x4", slices=2, location="us-central1"))
    assert found == Placement(
        accelerator="tpu_v5e",
        machine_type="ct5lp-hightpu-4t",
        architecture="amd64",
        provisioning="on-demand",
        reservation=None,
        gpu=None,
        tpu=TpuNode(label="tpu-v5-lite-podslice", topology="4x4", chips_per_host=4, hosts=4),
        policy=PlacementPolicy(kind="compact", topology="4x4"),
        pods=8,
        slices=2,
        requests=Resources(cpu_millis=1000, memory_bytes=2 * GIB, disk_bytes=0),
        boot_disk="pd-balanced",
        boot_disk_gb=100,
        local_ssds=0,
        zone=None,
        region="us-central1",
        node_selector={
            "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
            "cloud.google.com/gke-tpu-topology": "4x4",
            "kubernetes.io/arch": "amd64",
        },
        taints=(TPU_TAINT,),
        tolerations=(Toleration(key="google.com/tpu"),),
        notes=(),
    )
    assert found.accelerator_resource == ("google.com/tpu", 4)


def test_a_cpu_job_on_arm() -> None:
    found = placed(needs(cpu=3, architecture="ARM", replicas=5))
    assert (found.machine_type, found.pods, found.taints) == (
        "c4a-standard-4",
        5,
        (JOBS, Taint(key="kubernetes.io/arch", value="arm64", by_gke=True)),
    )
    assert found.requests == Resources(cpu_millis=3000, memory_bytes=6 * GIB, disk_bytes=0)


# CPUs, memory, disk


@pytest.mark.parametrize(
    ("asked", "machine"),
    [
        ({}, "e2-standard-2"),
        ({"cpu": 1}, "e2-standard-2"),
        ({"cpu": 1.42}, "e2-standard-2"),
        ({"cpu": 1.43}, "e2-standard-4"),
        ({"cpu": 2}, "e2-standard-4"),
        ({"cpu": 4}, "e2-standard-8"),
        ({"cpu": 3, "ram": GIB}, "e2-highcpu-4"),
        ({"cpu": 1, "ram": 11 * GIB}, "e2-highmem-2"),
        ({"ram": 100 * GIB}, "e2-highmem-16"),
        ({"cpu": 40}, "n2-standard-48"),
        ({"cpu": 40, "ram": 30 * GIB}, "n2-highcpu-48"),
        ({"cpu": 100, "ram": 800 * GIB}, "n2-highmem-128"),
        ({"cpu": 150}, "c3-highcpu-176"),
        ({"ram": 1300 * GIB}, "c3-highmem-176"),
        ({"cpu": 1, "location": "us-central2-b"}, "n2-standard-2"),
        ({"cpu": 1, "architecture": "HASWELL"}, "e2-standard-2"),
        ({"cpu": 1, "service_tier": "BATCH"}, "e2-standard-2"),
    ],
)
def test_cpu_jobs(asked: dict[str, Any], machine: str) -> None:
    assert placed(needs(**asked)).machine_type == machine


@pytest.mark.parametrize(
    ("asked", "machine"),
    [
        (needs("t4", 1), "n1-standard-2"),
        (needs("t4", 1, cpu=2), "n1-standard-4"),
        (needs("t4", 1, ram=20 * GIB), "n1-highmem-4"),
        (needs("t4", 1, cpu=6), "n1-standard-8"),
        (needs("t4", 4, cpu=70), "n1-standard-96"),
        (needs("v100", 1, cpu=7), "n1-standard-8"),
        # One vCPU for each GPU, and 2 GiB for each vCPU.
        (needs("v100", 8), "n1-standard-16"),
        (needs("v100", 8, cpu=1), "n1-standard-2"),
        (needs("v100", 8, ram=500 * GIB), "n1-highmem-96"),
        (needs("l4", 1, cpu=20), "g2-standard-32"),
        (needs("l4", 2, cpu=20), "g2-standard-24"),
        (needs("l4", 8), "g2-standard-96"),
        (needs("a100", 16), "a2-megagpu-16g"),
        (needs("a100_80gib", 2), "a2-ultragpu-2g"),
        (needs("h100", 1, service_tier="FREEBIE"), "a3-highgpu-1g"),
        (needs("h100", 8), "a3-highgpu-8g"),
        (needs("h100_mega", 8), "a3-megagpu-8g"),
        (needs("h200", 8, service_tier="BATCH"), "a3-ultragpu-8g"),
        (needs("rtx_pro_6000", 4), "g4-standard-192"),
    ],
)
def test_gpu_jobs(asked: JobRequirements, machine: str) -> None:
    assert placed(asked).machine_type == machine


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        (needs("t4", 3), "t4=3: no machine has 3 of these GPUs", "allowed: 1, 2, 4" + REPLICAS),
        (needs("h200", 4), "h200=4: no machine has 4 of these GPUs", "allowed: 8" + REPLICAS),
        (needs("t4", 0.5), "t4=0.5: no machine has 0.5 of these GPUs", "allowed: 1, 2, 4" + REPLICAS),
        (
            needs("a100", 1, cpu=12),
            "no machine has room for 12 vCPUs, 2 GiB of memory with a100=1",
            "at most: 11.14 vCPUs, 75.2 GiB of memory on a2-highgpu-1g" + REST,
        ),
        (
            needs("v100", 1, cpu=8),
            "no machine has room for 8 vCPUs, 2 GiB of memory with v100=1",
            "at most: 7.15 vCPUs, 44.9 GiB of memory on n1-highmem-8" + REST,
        ),
        (needs("v100", topology="4x2", replicas=3), "v100=4x2 is 2 machines, but replicas is 3", ""),
        (needs("a100", 1, architecture="ARM"), "a2-highgpu-1g: not an arm64 machine", ""),
        (needs(architecture="sparc"), "unknown architecture 'sparc'", "known: amd64, arm, arm64, haswell"),
        (needs(location="mars"), "'mars' is no location", "write a region (us-central1) or zone (us-central1-a)"),
        (
            needs("a100", 1, location="us-central2-b"),
            "us-central2-b has no a2-highgpu-1g",
            "machine families there: ct4p, ct6e, f1, g1, n1, n2, n2d, n4, t2d",
        ),
        (needs(cpu=1, service_tier="GOLD"), "unknown service tier 'GOLD'", TIERS),
        (needs("tpu_v2", 8), "GKE has no tpu_v2", "GKE no longer has it; Vertex AI does: use the Vertex executor"),
        (needs("tpu_v6e", topology="4x2"), "tpu_v6e has no topology '4x2'", "did you mean '2x4'?"),
        (needs("tpu_v6e", topology="4x4", count=8), "tpu_v6e: topology 4x4 has 16 chips, not 8", ""),
        (needs("tpu_v6e", 12), "tpu_v6e has no slice of 12 chips", V6E),
        (
            needs("tpu_v3", 4),
            "tpu_v3 has no slice of 4 cores",
            "cores: 8, 32, 64, 128, 256, 512, 1024, 2048; topologies: 2x2, 4x4, 4x8, 8x8, 8x16, 16x16, 16x32, 32x32",
        ),
        (needs("tpu_v6e"), "tpu_v6e needs a number of chips or a topology", V6E),
        (needs("tpu_v6e", topology="big"), "tpu_v6e='big' is no topology", V6E),
        (needs("tpu_v6e", topology="2x2", replicas=2), "tpu_v6e 2x2 is 1 host, but replicas is 2", SLICES),
        (needs("tpu_v6e", topology="2x4", replicas=3), "tpu_v6e 2x4 is 1 or 2 hosts, but replicas is 3", SLICES),
        (
            needs(disk=60_000 * GIB),
            "no machine has room for 1 vCPU, 2 GiB of memory, 60000 GiB of disk",
            "at most: 174.98 vCPUs, 1343.8 GiB of memory, 56596.1 GiB of disk on c3-highmem-176" + REST,
        ),
    ],
)
def test_what_no_machine_satisfies_is_refused_with_a_way_out(asked: JobRequirements, message: str, hint: str) -> None:
    assert refused(asked) == (message, hint)


def test_a_refusal_names_its_place() -> None:
    found = select(needs("t4", 3), where="work unit 3, job train")
    assert isinstance(found, Problem) and found.where == "work unit 3, job train"


# TPUs


@pytest.mark.parametrize(
    ("asked", "machine", "topology", "hosts"),
    [
        (needs("tpu_v3", 8), "ct3-hightpu-4t", "2x2", 1),
        (needs("tpu_v3", 32), "ct3p-hightpu-4t", "4x4", 4),
        (needs("tpu_v3", 16, "4x4"), "ct3p-hightpu-4t", "4x4", 4),
        (needs("tpu_v4", 4), "ct4p-hightpu-4t", "2x2x1", 1),
        (needs("tpu_v4", topology="2x2x2"), "ct4p-hightpu-4t", "2x2x2", 2),
        (needs("tpu_v5e", 1), "ct5lp-hightpu-1t", "1x1", 1),
        (needs("tpu_v5e", 4, "4"), "ct5lp-hightpu-4t", "2x2", 1),
        (needs("tpu_v5e", 8), "ct5lp-hightpu-8t", "2x4", 1),
        (needs("tpu_v5e", topology="2x4"), "ct5lp-hightpu-8t", "2x4", 1),
        (needs("tpu_v5e", topology="2x4", replicas=1), "ct5lp-hightpu-8t", "2x4", 1),
        (needs("tpu_v5e", topology="2x4", replicas=2), "ct5lp-hightpu-4t", "2x4", 2),
        (needs("tpu_v5e", topology="4x4", replicas=4), "ct5lp-hightpu-4t", "4x4", 4),
        (needs("tpu_v5e", 256), "ct5lp-hightpu-4t", "16x16", 64),
        (needs("tpu_v5p", 256), "ct5p-hightpu-4t", "4x8x8", 64),
        (needs("tpu_v5p", 192), "ct5p-hightpu-4t", "4x4x12", 48),
        (needs("tpu_v5p", 768), "ct5p-hightpu-4t", "8x8x12", 192),
        (needs("tpu_v6e", topology="2X4"), "ct6e-standard-8t", "2x4", 1),
        (needs("tpu_v7x", 1), "tpu7x-standard-1t", "1x1x1", 1),
        (needs("tpu7x", topology="4x4x4"), "tpu7x-standard-4t", "4x4x4", 16),
    ],
)
def test_tpu_slices(asked: JobRequirements, machine: str, topology: str, hosts: int) -> None:
    found = placed(asked)
    assert found.tpu is not None
    assert (found.machine_type, found.tpu.topology, found.tpu.hosts, found.pods) == (machine, topology, hosts, hosts)


@pytest.mark.parametrize(
    ("asked", "policy"),
    [
        (needs("tpu_v5e", topology="2x2"), None),
        (needs("tpu_v5e", topology="1x1"), None),
        (needs("tpu_v5p", topology="2x2x2"), PlacementPolicy(kind="compact", topology="2x2x2")),
        (needs("tpu_v7x", topology="2x2x1"), None),
        (needs("tpu_v7x", topology="2x2x2"), PlacementPolicy(kind="workload", topology="2x2x2")),
    ],
)
def test_how_slices_are_kept_together(asked: JobRequirements, policy: PlacementPolicy | None) -> None:
    """A pool of single hosts must have neither a placement policy nor a topology."""
    assert placed(asked).policy == policy


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        (needs("tpu_v3", 8), "tpu_v3=8 is read as 8 cores: topology 2x2"),
        (needs("tpu_v5p", 8), "tpu_v5p=8 is read as 8 chips: topology 2x2x2"),
        (needs("tpu_v5p", topology="4x4x12"), "tpu_v5p 4x4x12 is not in GKE's table of topologies and may be refused"),
        (
            needs("tpu_v4", topology="2x2x1", location="us-east1-d"),
            "tpu_v4 is known in us-central2-b; us-east1-d may not have it",
        ),
        (needs("p100", 1), "p100: end of support on 2026-09-15"),
    ],
)
def test_what_a_user_should_know_of_a_choice_is_noted(asked: JobRequirements, note: str) -> None:
    assert placed(asked).notes == (note,)


# Replicas and slices of GPUs


@pytest.mark.parametrize(
    ("asked", "per_machine", "pods", "slices"),
    [
        (needs("h100", 8, replicas=3), 8, 3, 1),
        (needs("v100", 8, "4x2", replicas=2), 4, 2, 1),
        (needs("v100", topology="4x2"), 4, 2, 1),
        (needs("h100", 16, "8x2", slices=3), 8, 6, 3),
        (needs("t4", 2, "2"), 2, 1, 1),
    ],
)
def test_machines_of_gpus(asked: JobRequirements, per_machine: int, pods: int, slices: int) -> None:
    found = placed(asked)
    assert found.gpu is not None
    assert (found.gpu.count, found.pods, found.slices) == (per_machine, pods, slices)


# Service tiers


@pytest.mark.parametrize(
    ("machine", "tier", "reservation", "way"),
    [
        ("l4", None, None, "on-demand"),
        ("l4", "PROD", None, "on-demand"),
        ("l4", "prod", "mine", "reservation"),
        ("l4", "BATCH", None, "flex-start"),
        ("t4", "BATCH", None, "on-demand"),
        ("l4", "FREEBIE", None, "spot"),
        ("l4", "on-demand", None, "on-demand"),
        ("l4", "flex_start", None, "flex-start"),
        ("l4", "reservation", "mine", "reservation"),
    ],
)
def test_service_tiers(machine: str, tier: str | None, reservation: str | None, way: str) -> None:
    found = placed(needs(machine, 1, service_tier=tier), reservation)
    assert (found.provisioning, found.reservation) == (way, reservation if way == "reservation" else None)


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        (
            needs(cpu=1),
            "asks for the reservation 'mine', but for no accelerator",
            "leave it out, or ask for the accelerator that it is for",
        ),
        *(
            (
                needs("l4", 1, service_tier=tier),
                f"asks for the reservation 'mine', but the service tier {tier.upper()} takes none",
                "leave out one of them",
            )
            for tier in ("BATCH", "freebie", "spot", "on-demand", "flex-start")
        ),
        (
            needs("h100", 1),
            "a3-highgpu-1g cannot be had reservation or on-demand",
            "allowed: BATCH (flex-start), FREEBIE (spot)",
        ),
    ],
)
def test_a_reservation_that_would_not_be_used_is_refused(asked: JobRequirements, message: str, hint: str) -> None:
    assert refused(asked, "mine") == (message, hint)


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        (needs("h200", 8), "a3-ultragpu-8g cannot be had on-demand", NO_DEMAND),
        (needs("b200", 8), "a4-highgpu-8g cannot be had on-demand", NO_DEMAND),
        (needs("gb200", 4), "a4x-highgpu-4g cannot be had on-demand", "allowed: a reservation"),
        (
            needs("gb200", 4, service_tier="BATCH"),
            "a4x-highgpu-4g cannot be had flex-start or on-demand",
            "allowed: a reservation",
        ),
        (needs("h100", 2), "a3-highgpu-2g cannot be had on-demand", "allowed: BATCH (flex-start), FREEBIE (spot)"),
        (
            needs("tpu_v3", 8, service_tier="FREEBIE"),
            "ct3-hightpu-4t cannot be had spot",
            "allowed: PROD (on demand), a reservation",
        ),
        (
            needs("gb200", 4, service_tier="reservation"),
            "the service tier reservation needs the name of a reservation",
            "",
        ),
    ],
)
def test_machines_that_are_not_sold_that_way(asked: JobRequirements, message: str, hint: str) -> None:
    assert refused(asked) == (message, hint)


def test_a_reserved_arm_machine() -> None:
    found = placed(needs("gb200", 4), "blocks")
    assert (found.machine_type, found.architecture, found.reservation, found.policy) == (
        "a4x-highgpu-4g",
        "arm64",
        "blocks",
        PlacementPolicy(kind="workload", topology="1x72"),
    )


# The system pool


@pytest.mark.parametrize(("zone", "machine"), [(None, "e2-standard-2"), ("us-central2-b", "n2-standard-2")])
def test_the_system_pools_machine_exists_in_the_zone(zone: str | None, machine: str) -> None:
    found = system_machine(zone)
    assert isinstance(found, MachineType) and found.name == machine
