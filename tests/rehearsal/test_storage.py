"""Claims of a stack are bound as on GKE, and gone with it; what nobody can bind is said."""

from __future__ import annotations

import pytest

from tests.builders import experiment, job
from tests.rehearsal.stacks import IMAGE, write
from xmgen.experiment import Job, JobRequirements, Kubernetes, Volume
from xmgen.project import Project
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import markdown

pytestmark = pytest.mark.rehearsal

GIB = 2**30


def mounting(number: int, *volumes: Volume) -> Job:
    executor = Kubernetes(requirements=JobRequirements(cpu=1), volumes=volumes)
    return job(f"--n={number}", executor=executor, executable=IMAGE.name)


def test_claims_are_bound_and_go_with_the_stack(in_scratch: Rehearsal, scratch: Project) -> None:
    own = Volume(path="/cache", claim="cache", size=10 * GIB)
    files = Volume(path="/files", claim="files", size=1024 * GIB, storage_class="standard-rwx", shared=True)
    foreign = Volume(path="/data", claim="data", read_only=True)
    plan = write(
        scratch,
        experiment(mounting(0, own, files), mounting(1, own, foreign, files), stack="claims", executables=(IMAGE,)),
    )
    report = in_scratch.run(plan)
    assert report.fits, markdown(report)
    assert (report.created["kubernetes:storage.k8s.io/v1:StorageClass"], report.left) == (1, [])
    assert [each.phase for each in report.landings] == ["Succeeded", "Succeeded"]
    assert report.assumed == ["claim claims/data"]


def test_what_nobody_binds_is_said(in_scratch: Rehearsal, scratch: Project) -> None:
    fast = Volume(path="/cache", claim="fast-claim", size=10 * GIB, storage_class="fast", shared=True)
    plan = write(scratch, experiment(mounting(0, fast), stack="unbound", executables=(IMAGE,)))
    report = in_scratch.run(plan)
    assert sorted(reason for misfit in report.misfits for reason in misfit.reasons) == [
        "claim fast-claim: the cluster has no storage class 'fast'",
    ]
    assert {misfit.change for misfit in report.misfits} == {"another storage class for the claim"}
    assert (report.landings, report.left) == ([], [])
