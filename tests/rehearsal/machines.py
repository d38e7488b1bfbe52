"""An experiment with a job for every machine type of the catalog, and for slices of TPUs up to 64 nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from tests.builders import experiment, job
from tests.rehearsal.stacks import IMAGE
from tests.requirements import full
from xmgen import catalog
from xmgen.catalog.model import MachineType
from xmgen.catalog.placement import NODES_LABEL
from xmgen.catalog.pools import NodePool
from xmgen.catalog.tpu import chips
from xmgen.experiment import Accelerator, Experiment, JobRequirements, Kubernetes
from xmgen.plan.model import PlannedUnit
from xmgen.stack.compiled import CompiledUnit

KNOWN = catalog.catalog()
MAX_HOSTS = 64


def on(machine: MachineType) -> Kubernetes:
    """A job that needs this machine type."""
    tier = None if "on-demand" in machine.provisioning else machine.provisioning[0]
    requirements = dataclasses.replace(full(machine), service_tier=tier)
    # The Cloud Storage driver's sidecar takes its part; of the smallest machine it leaves less than the test takes.
    ram = max((requirements.ram or 0) - 200 * 2**20, 2**26)
    less = dataclasses.replace(requirements, cpu=(requirements.cpu or 1) - 0.2, ram=ram)
    return Kubernetes(requirements=less, reservation="mine" if tier == "reservation" else None)


def slices() -> list[Accelerator]:
    """Of every generation, the smallest slice of several hosts and the largest with at most 64."""
    found: list[Accelerator] = []
    for tpu in KNOWN.tpus.values():
        whole = [each for each in tpu.documented if 8 < chips(each) <= 4 * MAX_HOSTS]
        found += [Accelerator(type=tpu.id, topology=each) for each in dict.fromkeys([*whole[:1], *whole[-1:]])]
    return found


def pools_of(units: Iterable[PlannedUnit | CompiledUnit], declared: Sequence[NodePool]) -> dict[str, set[str]]:
    """For each Job, the pools with nodes of the kind that it is meant for. declared: those of the stack."""
    result: dict[str, set[str]] = {}
    for unit in units:
        for manifest in unit.manifests:
            selector = manifest["spec"]["template"]["spec"]["nodeSelector"]  # type: ignore[index, call-overload]
            pools = {pool.name for pool in declared if pool.labels[NODES_LABEL] == selector[NODES_LABEL]}  # type: ignore[index, call-overload]
            result[manifest["metadata"]["name"]] = pools  # type: ignore[index, call-overload]
    return result


def matrix(name: str) -> Experiment:
    """zone: the machines that are only chosen there; others: everything else, and slices."""
    here = [machine for machine in KNOWN.machines.values() if (full(machine).location is not None) == (name == "zone")]
    executors = [on(machine) for machine in here]
    if name != "zone":
        executors += [Kubernetes(requirements=JobRequirements(accelerator=each)) for each in slices()]
    jobs = [
        job(f"--number={number}", executor=executor, executable=IMAGE.name) for number, executor in enumerate(executors)
    ]
    return experiment(*jobs, stack=f"matrix-{name}", executables=(IMAGE,))
