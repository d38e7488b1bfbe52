"""Which machine a job gets on Vertex AI."""

from __future__ import annotations

from typing import Any

import pytest

from tests.requirements import needs
from xmgen import catalog
from xmgen.catalog.model import Gpu, Tpu
from xmgen.catalog.vertex import VertexMachine, vertex_machine
from xmgen.errors import Problem
from xmgen.experiment import JobRequirements

GIB = 2**30
KNOWN = catalog.catalog()
TOO_MUCH = "no Vertex AI machine has so many vCPUs and so much memory"
ONE_REPLICA = "a Vertex AI job on tpu_v6e has one replica and one slice"
T4_COUNTS = "allowed: 1, 2, 4 on one machine; for more machines use replicas"
V7X = "allowed: 2x2x1, 2x2x2, 2x2x4, 2x4x4, 4x4x4, 4x4x8, 4x8x8, 8x8x8, 8x8x16"


def accelerated(name: str, accelerator: str, count: int, **rest: Any) -> VertexMachine:
    return VertexMachine(machine_type=name, accelerator_type=accelerator, accelerator_count=count, **rest)


@pytest.mark.parametrize(
    ("asked", "machine"),
    [
        (needs(), VertexMachine(machine_type="n1-standard-4")),
        (needs(cpu=1), VertexMachine(machine_type="n1-highmem-2")),
        (needs(cpu=4), VertexMachine(machine_type="n1-standard-4")),
        (needs(cpu=20, ram=40 * GIB), VertexMachine(machine_type="n1-standard-32")),
        (needs(ram=415 * GIB, replicas=2), VertexMachine(machine_type="n1-highmem-64", replicas=2)),
        (
            needs(disk=500 * 10**9, location="us-east1-b"),
            VertexMachine(machine_type="n1-standard-4", boot_disk_gb=600, region="us-east1"),
        ),
        (needs("t4", 2), accelerated("n1-standard-4", "NVIDIA_TESLA_T4", 2)),
        (needs("v100", 2, cpu=12), accelerated("n1-highcpu-16", "NVIDIA_TESLA_V100", 2)),
        (needs("a100_80gib", 1), accelerated("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1)),
        (needs("l4", 1, cpu=16), accelerated("g2-standard-16", "NVIDIA_L4", 1)),
        (needs("h100", 16, "8x2", replicas=2), accelerated("a3-highgpu-8g", "NVIDIA_H100_80GB", 8, replicas=2)),
        (needs("l4", 1, service_tier="FREEBIE"), accelerated("g2-standard-4", "NVIDIA_L4", 1, strategy="SPOT")),
        (
            needs("h200", 8, service_tier="BATCH"),
            accelerated("a3-ultragpu-8g", "NVIDIA_H200_141GB", 8, strategy="FLEX_START"),
        ),
        # Flex-start finds GPUs of some kinds; for all else BATCH is on demand.
        (needs("rtx_pro_6000", 1, service_tier="BATCH"), accelerated("g4-standard-48", "NVIDIA_RTX_PRO_6000", 1)),
        (
            needs("tpu_v5e", topology="2x2", service_tier="BATCH"),
            VertexMachine(machine_type="ct5lp-hightpu-4t", tpu_topology="2x2"),
        ),
        (
            needs("tpu_v5e", topology="2x4", service_tier="FREEBIE"),
            VertexMachine(machine_type="ct5lp-hightpu-8t", tpu_topology="2x4", strategy="SPOT"),
        ),
        (needs("tpu_v2", 8), accelerated("cloud-tpu", "TPU_V2", 8)),
        (needs("tpu_v3", 8, "8"), accelerated("cloud-tpu", "TPU_V3", 8)),
        (needs("tpu_v3", topology="4x4"), accelerated("cloud-tpu", "TPU_V3", 32)),
        (needs("tpu_v5e", topology="4x4"), VertexMachine(machine_type="ct5lp-hightpu-4t", tpu_topology="4x4")),
        (needs("tpu_v6e", 8), VertexMachine(machine_type="ct6e-standard-8t", tpu_topology="2x4")),
        (needs("tpu_v7x", topology="2x2x2"), VertexMachine(machine_type="tpu7x-standard-4t", tpu_topology="2x2x2")),
    ],
)
def test_machines(asked: JobRequirements, machine: VertexMachine) -> None:
    assert vertex_machine(asked) == machine


def test_a_reservation() -> None:
    assert vertex_machine(needs("gb200", 4), reservation="blocks") == VertexMachine(
        machine_type="a4x-highgpu-4g",
        accelerator_type="NVIDIA_GB200",
        accelerator_count=4,
        architecture="arm64",
        reservation="blocks",
    )


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        (needs("t4", 3), "t4=3: no machine has 3 of these GPUs", T4_COUNTS),
        (needs("gb200", 4), "a4x-highgpu-4g cannot be had on-demand", "allowed: a reservation"),
        (needs("gb300", 4), "Vertex AI has no gb300", ""),
        (needs("tpu_v4", 8), "Vertex AI has no custom jobs on tpu_v4", ""),
        (needs("tpu_v7x", 1), "Vertex AI has no tpu_v7x 1x1x1", V7X),
        (needs("tpu_v3", 12), "tpu_v3: no slice of 12 cores", "allowed: 8, multiples of 32"),
        (needs("tpu_v3", 8, service_tier="FREEBIE"), "tpu_v3 cannot be had spot", "allowed: PROD (on demand)"),
        (
            needs("tpu_v5e", topology="4x4", service_tier="FREEBIE"),
            "ct5lp-hightpu-4t cannot be had spot",
            "allowed: PROD (on demand), a reservation",
        ),
        (
            needs("tpu_v6e", 1, service_tier="flex-start"),
            "ct6e-standard-1t cannot be had flex-start",
            "allowed: PROD (on demand), FREEBIE (spot), a reservation",
        ),
        (needs("tpu_v6e", 8, replicas=2), ONE_REPLICA, ""),
        (needs("tpu_v6e", 8, slices=2), ONE_REPLICA, ""),
        (needs(cpu=97), TOO_MUCH, "at most: 96 vCPUs and 624 GiB (n1-highmem-96)"),
        # a row of Vertex's table that its sources do not settle is not used
        (needs("t4", 4, cpu=70), TOO_MUCH, "at most: 32 vCPUs and 208 GiB (n1-highmem-32)"),
        (needs(architecture="ARM"), "Vertex AI has no such machine with arm64 processors", "there: amd64"),
        (needs("t4", 1, architecture="arm64"), "Vertex AI has no such machine with arm64 processors", "there: amd64"),
        (needs(architecture="x86"), "unknown architecture 'x86'", "known: amd64, arm, arm64, haswell"),
        (needs(disk=70_000 * 10**9), "a disk of 70100 GB is too large", "at most 63900 GB"),
    ],
)
def test_what_vertex_ai_has_no_machine_for_is_refused_with_a_way_out(
    asked: JobRequirements, message: str, hint: str
) -> None:
    assert vertex_machine(asked, where="job train") == Problem(message, "job train", hint)


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        *(
            (
                needs(cpu=2, service_tier=tier),
                "asks for the reservation 'ours', but for no accelerator",
                "leave it out, or ask for the accelerator that it is for",
            )
            for tier in (None, "reservation")
        ),
        (
            needs("a100", 1, service_tier="FREEBIE"),
            "asks for the reservation 'ours', but the service tier FREEBIE takes none",
            "leave out one of them",
        ),
        *(
            (
                needs("tpu_v3", 8, service_tier=tier),
                "tpu_v3 cannot be had by reservation",
                "allowed: PROD (on demand) without one",
            )
            for tier in ("PROD", "reservation")
        ),
    ],
)
def test_a_reservation_that_would_not_be_used_is_refused(asked: JobRequirements, message: str, hint: str) -> None:
    assert vertex_machine(asked, reservation="ours", where="job train") == Problem(message, "job train", hint)


@pytest.mark.parametrize("gpu", KNOWN.gpus.values(), ids=lambda gpu: gpu.id)
def test_every_gpu_in_every_count(gpu: Gpu) -> None:
    for count in gpu.counts:
        ways = ("on-demand", "spot", "flex-start", "reservation")
        found = [
            vertex_machine(needs(gpu.id, count, service_tier=way), reservation="mine" if way == "reservation" else None)
            for way in ways
        ]
        machines = [machine for machine in found if isinstance(machine, VertexMachine)]
        assert bool(machines) == (gpu.vertex_type is not None)
        assert {(machine.accelerator_type, machine.accelerator_count) for machine in machines} <= {
            (gpu.vertex_type, count)
        }


@pytest.mark.parametrize("tpu", [tpu for tpu in KNOWN.tpus.values() if tpu.vertex.topologies], ids=lambda tpu: tpu.id)
def test_every_topology(tpu: Tpu) -> None:
    for topology in tpu.vertex.topologies:
        found = vertex_machine(needs(tpu.id, topology=topology))
        assert isinstance(found, VertexMachine)
        assert found.tpu_topology == topology and found.machine_type in tpu.vertex.machine_types
