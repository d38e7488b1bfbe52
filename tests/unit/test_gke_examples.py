"""The committed stacks on GKE: their programs run under mocks, with inputs that pulumi_gcp takes, and type-check."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import gcp_programs
from tests.gcp_programs import Play, Program
from xmgen import compiler
from xmgen.executors.gke.jobs import resource_name
from xmgen.plan import planner
from xmgen.plan.model import Plan
from xmgen.stack import lock

pytestmark = pytest.mark.gcp

ROOT = Path(__file__).parents[2]
STACKS = sorted(
    path.parent.name for path in ROOT.glob("stacks/*/cluster.py") if (path.parent / "experiment.lock.json").exists()
)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Running a program leaves caches beside it."""
    folder = tmp_path_factory.mktemp("stacks")
    return {name: Path(shutil.copytree(ROOT / "stacks" / name, folder / name)) for name in STACKS}


@pytest.fixture(scope="module")
def played(copies: dict[str, Path]) -> dict[str, Program]:
    return gcp_programs.run({name: Play(folder) for name, folder in copies.items()})


def plan_of(name: str) -> Plan:
    return planner.plan(lock.read(ROOT / "stacks" / name / "experiment.lock.json"), compiler.compiled_stacks(ROOT))


def test_there_is_one_for_every_kind() -> None:
    assert {"gke-group", "gke-shared", "gke-sweep", "gke-team", "gke-tpu", "gke-train"} <= set(STACKS)


@pytest.mark.parametrize("name", STACKS)
def test_a_program_declares_its_plan(played: dict[str, Program], name: str) -> None:
    plan, found = plan_of(name), played[name]
    assert plan.cluster is not None
    assert found.error == ""
    assert [problem for resource in found.resources for problem in resource.problems] == []
    pools = {pool.name for pool in plan.cluster.pools} | ({"system"} if plan.cluster.kind == "own" else set())
    assert {each.name for each in found.of("gcp:container/nodePool:NodePool")} == pools
    assert {each.name for each in found.of("docker-build:index:Image")} == {image.name for image in plan.images}
    jobs = [resource_name(manifest) for unit in plan.units for manifest in unit.manifests]
    # Sorted: those that wait for nothing are declared in any order.
    assert sorted(each.name for each in found.of("kubernetes:batch/v1:Job")) == sorted(jobs)


@pytest.mark.parametrize("name", STACKS)
def test_every_job_selects_nodes_that_a_pool_provides(name: str) -> None:
    plan = plan_of(name)
    assert plan.cluster is not None
    pools = [*plan.cluster.pools]
    if plan.cluster.kind == "stack":
        shared = plan_of(plan.cluster.name).cluster
        pools += shared.pools if shared else ()
    for unit in plan.units:
        for manifest in unit.manifests:
            selector = manifest["spec"]["template"]["spec"]["nodeSelector"].items()  # type: ignore[index,call-overload]
            assert any(selector <= pool.labels.items() for pool in pools), selector


def test_programs_type_check(copies: dict[str, Path]) -> None:
    assert gcp_programs.type_problems(list(copies.values())) == []
