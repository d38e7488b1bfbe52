"""Addresses of jobs in arguments and environment: what resolves is left alone, what cannot is said in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import XID
from tests.builders import job as local_job
from tests.on_gke import SLICE, T4, experiment, job, kubernetes
from xmgen.errors import InputError, Problem
from xmgen.experiment import Experiment, JobRequirements, Kubernetes, Vertex
from xmgen.frontends.xmanager.api.contrib.addressing import k8s_pod_domain
from xmgen.plan import planner

HERE = "work unit 1, job worker"
GIVES_IT = "does: `contrib.addressing.k8s_pod_domain` gives it"


def group(text: str, of_ps: Kubernetes | None = None) -> Experiment:
    return experiment((job(text, name="worker"), job(name="ps", executor=of_ps)))


def problems(made: Experiment) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        planner.plan(made)
    return caught.value.problems


@pytest.mark.parametrize(
    "text",
    [
        k8s_pod_domain("ps", XID, 1),
        f"{XID}-1-ps.experiments",
        f"--hosts={XID}-1-ps.experiments:1,{XID}-1-worker.experiments:1",
        f"--run={XID}_1_worker",
        f"gs://logs/{XID}_1",
        "redis:6379",
        "stops:2222",
    ],
)
def test_what_resolves_and_what_is_no_address_is_left_alone(text: str) -> None:
    assert planner.plan(group(text)).notes == (
        ()
        if "gs://" not in text
        else (
            "Jobs name gs://logs: their account, sweep-jobs, may use the stack's own bucket and those that they mount; "
            "others somebody has to grant it, unless they are public.",
        )
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"--ps_host={XID}_1_ps:2222", f"{XID}_1_ps:2222"),
        (f"grpc://{XID}_1_ps:2222/x", f"{XID}_1_ps:2222"),
        (f"{XID}_1_ps.experiments.default.svc.cluster.local:2222", f"{XID}_1_ps:2222"),
        (f"{XID}-1-ps:2222", f"{XID}-1-ps:2222"),
    ],
)
def test_addresses_that_cannot_resolve_on_gke_are_refused(text: str, said: str) -> None:
    assert problems(group(text)) == (
        Problem(
            f"holds the address {said}, which does not resolve on GKE",
            where=HERE,
            hint=f"{XID}-1-ps.experiments:2222 {GIVES_IT}",
        ),
    )


def test_an_address_of_nobody_is_refused() -> None:
    assert problems(group(f"{XID}-1-pss.experiments:1")) == (
        Problem(
            f"holds the address of a job that there is not, {XID}-1-pss",
            where=HERE,
            hint=f"did you mean '{XID}-1-ps'?",
        ),
    )


@pytest.mark.parametrize(
    ("executor", "pods"), [(kubernetes(T4, replicas=3), 3), (kubernetes(SLICE), 4)], ids=["replicas", "slice"]
)
def test_a_job_of_several_pods_has_no_address_of_its_own(executor: Kubernetes, pods: int) -> None:
    assert problems(group(f"{XID}-1-ps.experiments:1", executor)) == (
        Problem(
            f"holds the address of ps, which is {pods} pods, none of that name",
            where=HERE,
            hint="the pods of a job find each other by XMGEN_COORDINATOR_ADDRESS; a job that others address has one: "
            "make it several jobs of the group",
        ),
    )


@pytest.mark.parametrize("text", [f"{XID}_1_ps:2222", f"{XID}-1-ps.experiments"])
def test_names_of_jobs_do_not_resolve_on_vertex_ai(text: str) -> None:
    executor = Vertex(requirements=JobRequirements(cpu=4))
    jobs = (local_job(text, name="worker", executor=executor), local_job(name="ps", executor=executor))
    [problem] = problems(experiment(jobs))
    assert problem.where == HERE
    assert problem.message.endswith("which does not resolve on Vertex AI")


def test_names_of_jobs_resolve_on_this_machine() -> None:
    plan = planner.plan(experiment((local_job(f"{XID}_1_ps:2222", "ps:1", name="worker"), local_job(name="ps"))))
    assert plan.notes == ()


def test_names_that_may_be_labels_are_noted() -> None:
    assert planner.plan(group(f"--ps={XID}_1_ps")).notes == (
        f"Jobs hold the name of another job, {XID}_1_ps, which is no address of it. "
        "On GKE `contrib.addressing.k8s_pod_domain` gives its address.",
    )


@pytest.mark.parametrize(
    ("source", "right"),
    [("launcher.py", "`contrib.addressing.k8s_pod_domain`"), ("experiment.yaml", "`{address: …}`")],
)
def test_a_jobs_name_alone_is_noted(source: str, right: str) -> None:
    made = replace(group("--hosts=ps:2222,worker:1"), source=source)
    assert planner.plan(made).notes == (
        "Jobs hold ps:2222, worker:1: on GKE and Vertex AI a job's name alone does not resolve. "
        f"On GKE {right} gives its address.",
    )
