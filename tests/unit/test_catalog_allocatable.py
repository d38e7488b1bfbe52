"""What a node leaves to jobs, against figures worked out by hand and figures measured on GKE."""

from __future__ import annotations

import pytest

from xmgen import catalog
from xmgen.catalog import allocatable
from xmgen.catalog.allocatable import Resources
from xmgen.catalog.model import MachineType
from xmgen.catalog.selection import available_resources

KIB, MIB, GIB = 2**10, 2**20, 2**30


def machine(name: str) -> MachineType:
    return catalog.catalog().machines[name]


@pytest.mark.parametrize(
    ("vcpus", "millis"),
    [
        (1, 60),
        (2, 60 + 10),
        (4, 60 + 10 + 10),
        (8, 60 + 10 + 10 + 10),
        (26, 60 + 10 + 10 + 55),
        (96, 60 + 10 + 10 + 230),
        (208, 60 + 10 + 10 + 510),
    ],
)
def test_reserved_cpu(vcpus: int, millis: int) -> None:
    """6 % of the first core, 1 % of the second, 0.5 % of the third and fourth, 0.25 % of the rest."""
    assert allocatable.cpu_reserved_millis(vcpus) == millis


@pytest.mark.parametrize(
    ("gib", "reserved_mib"),
    [
        (0.6, 255),
        (2, 512),
        (4, 1024),
        (8, 1024 + 819.2),
        (16, 1024 + 819.2 + 819.2),
        (128, 1024 + 819.2 + 819.2 + 6881.28),
        (150, 1024 + 819.2 + 819.2 + 6881.28 + 450.56),
    ],
)
def test_reserved_memory(gib: float, reserved_mib: float) -> None:
    assert allocatable.memory_reserved_bytes(int(gib * GIB)) == pytest.approx(reserved_mib * MIB, abs=1)


@pytest.mark.parametrize(("gb", "reserved_gib"), [(10, 5), (40, 20), (100, 41), (200, 76), (500, 100), (2000, 100)])
def test_reserved_boot_disk(gb: int, reserved_gib: float) -> None:
    """The least of 50 %, 35 % and 6 GiB, and 100 GiB."""
    assert allocatable.disk_reserved_bytes(gb) == reserved_gib * GIB


@pytest.mark.parametrize(
    ("physical_mib", "taken_mib"),
    [
        (4096, 177.8), (8192, 247.4), (16384, 412.2), (32768, 669.0), (65536, 1350.0), (131072, 2259.3),
        (196608, 3756.9), (262144, 4222.0), (1968128, 30885.5),
    ],
)  # fmt: skip
def test_the_systems_memory_is_never_underestimated(physical_mib: int, taken_mib: float) -> None:
    """Measured on Container-Optimized OS of GKE 1.36 (the larger of amd64 and arm64)."""
    estimate = allocatable.os_memory_bytes(physical_mib * MIB)
    assert taken_mib * MIB <= estimate <= taken_mib * MIB + 0.005 * physical_mib * MIB + 30 * MIB


@pytest.mark.parametrize(("gb", "taken_mib"), [(10, 4491.5), (15, 4576.3), (100, 5948.5), (1000, 20358.2)])
def test_the_systems_disk_is_never_underestimated(gb: int, taken_mib: float) -> None:
    """Measured on Container-Optimized OS of GKE 1.36 (the larger of amd64 and arm64)."""
    assert taken_mib * MIB <= allocatable.os_disk_bytes(gb) <= (taken_mib + 100) * MIB


@pytest.mark.parametrize(
    ("name", "cpu_millis", "memory_kib", "disk_bytes"),
    [
        ("e2-standard-4", 3920, 13_498_416, 47_060_071_478),  # the example of GKE's page on node sizing
        ("g2-standard-4", 3920, 13_594_692, None),  # a node of a published GPU cluster
    ],
)
def test_a_real_node_has_at_least_what_is_planned_with(
    name: str, cpu_millis: int, memory_kib: int, disk_bytes: int | None
) -> None:
    planned = allocatable.node_allocatable(machine(name))
    assert planned.cpu_millis == cpu_millis
    assert 0.98 * memory_kib <= planned.memory_bytes / KIB <= memory_kib
    if disk_bytes is not None:
        assert 0.98 * disk_bytes <= planned.disk_bytes <= disk_bytes


@pytest.mark.parametrize(
    ("name", "left_gib"),
    [
        ("a2-ultragpu-1g", 375 * 0.9 - 50),
        ("a2-ultragpu-2g", 750 * 0.9 - 75),
        ("a2-ultragpu-4g", 1500 * 0.9 - 100),
        ("a3-highgpu-8g", 6000 * 0.9 - 100),
    ],
)
def test_local_ssds_hold_the_ephemeral_storage(name: str, left_gib: float) -> None:
    """10 % are the eviction threshold; 50, 75 or (from three disks on) 100 GiB are reserved."""
    assert allocatable.node_allocatable(machine(name)).disk_bytes == pytest.approx(left_gib * GIB, abs=1)


@pytest.mark.parametrize(
    ("name", "cpu_millis", "memory_mib"),
    [
        ("e2-standard-4", 509, 901),
        ("g2-standard-4", 759, 1109),
        ("n1-standard-4", 759, 1109),
        ("ct6e-standard-1t", 619, 1001),
    ],
)
def test_gkes_own_pods_are_subtracted(name: str, cpu_millis: int, memory_mib: int) -> None:
    """On every node ten DaemonSets; the device plugin with accelerators, a metrics exporter with GPUs."""
    node, left = allocatable.node_allocatable(machine(name)), available_resources(machine(name))
    assert node.cpu_millis - left.cpu_millis == cpu_millis
    assert node.memory_bytes - left.memory_bytes == memory_mib * MIB


@pytest.mark.parametrize("gib", [1, 43, 44, 100, 500, 1000, 20_000])
def test_the_boot_disk_is_the_smallest_that_leaves_enough(gib: int) -> None:
    size = allocatable.boot_disk_gb(gib * GIB)
    node = machine("e2-standard-4")
    assert allocatable.node_allocatable(node, size).disk_bytes >= gib * GIB
    if size > allocatable.DEFAULT_DISK_GB:
        assert allocatable.node_allocatable(node, size - allocatable.DISK_STEP_GB).disk_bytes < gib * GIB


def test_how_often_a_request_fits() -> None:
    node = Resources(cpu_millis=3500, memory_bytes=10 * GIB, disk_bytes=40 * GIB)
    assert node.how_often(Resources(cpu_millis=1000, memory_bytes=2 * GIB, disk_bytes=0)) == 3
    assert node.how_often(Resources(cpu_millis=500, memory_bytes=4 * GIB, disk_bytes=0)) == 2
    assert node.how_often(Resources(cpu_millis=500, memory_bytes=GIB, disk_bytes=30 * GIB)) == 1
