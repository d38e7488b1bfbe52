"""What the accounts of a stack's namespace may do on the cluster, as a real API server decides it."""

from __future__ import annotations

from functools import partial

import pytest

from tests.builders import experiment, job, python_container
from tests.engine.harness import until
from tests.kubernetes.dry_run import DryRun, compiled
from tests.on_gke import kubernetes
from xmgen.project import controllers
from xmgen.rehearsal.controlplane import ControlPlane

pytestmark = pytest.mark.kubernetes

STACK = "rights"


@pytest.fixture(scope="module")
def stack(dry_run: DryRun, control_plane: ControlPlane) -> None:
    """The objects of a stack with a controller; its Jobs and pods are not kept."""
    controller = python_container(path=f"{controllers(STACK)}/search")
    assert (
        dry_run.refusals(compiled(experiment(job(executor=kubernetes()), executables=(controller,), stack=STACK))) == []
    )
    # The API server hears of the rights that it was given a moment later.
    for namespace in (STACK, "default"):
        until(partial(allowed, control_plane, "controllers", XMANAGER[-1], namespace), "the rights are there")


def allowed(control_plane: ControlPlane, account: str, action: str, namespace: str) -> bool:
    """action: `create batch/jobs`, `get batch/jobs/status`, `get /pods/log`."""
    verb, _, what = action.partition(" ")
    group, resource, subresource = (*what.split("/"), "")[:3]
    attributes = {
        "namespace": namespace,
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
    }
    user = f"system:serviceaccount:{STACK}:{account}"
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }
    answer = control_plane.api().request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer.ok, answer.message
    return bool(answer.body["status"]["allowed"])


XMANAGER = [
    # To launch: is the Service there, else create it; then the Job.
    "list /services",
    "create /services",
    "create batch/jobs",
    # To wait: Job by Job, every few seconds.
    "get batch/jobs/status",
    "get batch/jobs",
    "get /pods/log",
]
"""What a program does that starts jobs with XManager; it does so in the namespace `default`."""

OTHERS = [
    "get /secrets",
    "create /pods",
    "create /pods/exec",
    "create /serviceaccounts/token",
    "create rbac.authorization.k8s.io/rolebindings",
    "update batch/jobs/status",
    "delete /services",
]


@pytest.mark.parametrize("namespace", [STACK, "default"])
def test_a_controller_may_do_what_xmanager_does_and_nothing_else(
    namespace: str, stack: None, control_plane: ControlPlane
) -> None:
    actions = [*XMANAGER, *OTHERS]
    assert [each for each in actions if allowed(control_plane, "controllers", each, namespace)] == XMANAGER


def test_a_controller_may_do_nothing_elsewhere(stack: None, control_plane: ControlPlane) -> None:
    assert [each for each in XMANAGER if allowed(control_plane, "controllers", each, "kube-system")] == []


def test_jobs_may_do_nothing_at_all(stack: None, control_plane: ControlPlane) -> None:
    assert [each for each in [*XMANAGER, *OTHERS] if allowed(control_plane, "jobs", each, STACK)] == []
