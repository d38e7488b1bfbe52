"""Every row of the catalog is planned, none excluded; and what holds for every choice of a machine."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.requirements import full, needs
from xmgen import catalog
from xmgen.catalog import options, tpu
from xmgen.catalog.model import Gpu, MachineType, Tpu
from xmgen.catalog.placement import GpuNode, Placement
from xmgen.catalog.selection import available_resources, select
from xmgen.errors import Problem
from xmgen.experiment import JobRequirements

GIB = 2**30
KNOWN = catalog.catalog()


def placed(requirements: JobRequirements, reservation: str | None = None) -> Placement:
    found = select(requirements, reservation=reservation)
    assert isinstance(found, Placement), str(found)
    return found


@pytest.mark.parametrize("machine", KNOWN.machines.values(), ids=lambda machine: machine.name)
def test_every_machine_is_chosen_by_the_job_that_fills_it(machine: MachineType) -> None:
    tier = None if "on-demand" in machine.provisioning else machine.provisioning[0]
    requirements = dataclasses.replace(full(machine), service_tier=tier)
    assert placed(requirements, "mine" if tier == "reservation" else None).machine_type == machine.name


@pytest.mark.parametrize(
    ("gpu", "count"),
    [(gpu, count) for gpu in KNOWN.gpus.values() for count in gpu.counts],
    ids=lambda value: str(value)[:9],
)
def test_every_gpu_in_every_count(gpu: Gpu, count: int) -> None:
    for way in ("on-demand", "spot", "flex-start", "reservation"):
        found = select(needs(gpu.id, count, service_tier=way), reservation="mine" if way == "reservation" else None)
        if isinstance(found, Placement):
            assert found.gpu == GpuNode(label=gpu.label, count=count, driver=gpu.driver)
            assert found.provisioning == way
            return
    pytest.fail(f"{gpu.id}={count} cannot be had in any way")


@pytest.mark.parametrize("found", [tpu for tpu in KNOWN.tpus.values() if tpu.topologies], ids=lambda tpu: tpu.id)
def test_every_topology(found: Tpu) -> None:
    for topology in found.topologies:
        chosen = placed(needs(found.id, topology=topology))
        assert chosen.tpu is not None
        assert chosen.tpu.hosts * chosen.tpu.chips_per_host == tpu.chips(topology)
        assert (chosen.policy is not None) == chosen.tpu.multi_host


amounts = st.fixed_dictionaries({"cpu": st.floats(0.1, 60), "ram": st.integers(2**20, 200 * GIB)})
accelerators = st.sampled_from([("", 0), ("t4", 1), ("t4", 4), ("v100", 2), ("l4", 1), ("a100", 1), ("h100", 8)])


@given(accelerators, amounts)
def test_the_machine_always_has_room(accelerator: tuple[str, int], asked: dict[str, Any]) -> None:
    found = select(needs(*accelerator, **asked))
    if isinstance(found, Placement):
        room = available_resources(KNOWN.machines[found.machine_type], found.boot_disk_gb)
        assert room.covers(found.requests)
        assert found.requests.cpu_millis >= asked["cpu"] * 1000
        assert found.requests.memory_bytes == asked["ram"]


@given(accelerators, amounts, st.floats(0, 20), st.integers(0, 50 * GIB))
def test_more_never_gets_a_smaller_machine(
    accelerator: tuple[str, int], asked: dict[str, Any], more_cpu: float, more_ram: int
) -> None:
    less = select(needs(*accelerator, **asked))
    more = select(needs(*accelerator, cpu=asked["cpu"] + more_cpu, ram=asked["ram"] + more_ram))
    if isinstance(less, Problem):
        assert isinstance(more, Problem)
    elif isinstance(more, Placement):
        assert KNOWN.machines[less.machine_type].size <= KNOWN.machines[more.machine_type].size


@given(accelerators, amounts)
def test_no_smaller_machine_would_do(accelerator: tuple[str, int], asked: dict[str, Any]) -> None:
    found = select(needs(*accelerator, **asked))
    if isinstance(found, Placement):
        chosen = KNOWN.machines[found.machine_type]
        others = [machine for machine in _alternatives(found) if machine.size < chosen.size]
        assert not any(available_resources(machine).covers(found.requests) for machine in others)


def _alternatives(found: Placement) -> list[MachineType]:
    """Every machine with the same accelerators, found without asking the code under test which ones may be used."""
    count = found.gpu.count if found.gpu else 0
    limit = KNOWN.gpus[found.accelerator].attach_limits.get(count) if found.accelerator else None
    return [
        machine
        for machine in KNOWN.machines.values()
        if machine.architecture == "amd64"
        and (
            (limit is not None and machine.attaches_gpus and machine.vcpus <= limit.vcpus)
            if limit
            else (machine.accelerator, machine.accelerator_count, machine.attaches_gpus)
            == (found.accelerator, count, False)
        )
    ]


def test_machines_of_n1_are_for_gpus_only() -> None:
    assert {options.node_kind(machine) for machine in KNOWN.machines.values() if machine.family == "n1"} == {"gpu"}
