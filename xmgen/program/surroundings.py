"""What a stack on Google Cloud creates beside the resources that an experiment decides about."""

from __future__ import annotations

from collections.abc import Iterator

from xmgen import names
from xmgen.executors.gke import cloud_sql
from xmgen.plan.model import Plan
from xmgen.program import gke as program_gke
from xmgen.program import vertex as program_vertex
from xmgen.program.summary import Surrounding


def surroundings(plan: Plan) -> list[Surrounding]:
    """In the program's order; empty for a stack that runs on this machine."""
    if plan.cluster is None and plan.vertex is None:
        return []
    return [*_of_cluster(plan), *_of_images(plan), *(_of_jobs(plan) if plan.cluster else _of_managed_jobs(plan))]


def _of_cluster(plan: Plan) -> Iterator[Surrounding]:
    stack, cluster = plan.experiment.stack, plan.cluster
    if cluster is None:
        return
    if cluster.kind == "own":
        yield Surrounding("network, subnetwork and Cloud NAT, unless the configuration names a subnetwork", stack)
    if cluster.kind == "own" or (cluster.kind == "existing" and cluster.pools):
        yield Surrounding("account of the nodes", names.service_account(stack, "nodes"), program_gke.NODE_ROLES)


def _of_images(plan: Plan) -> Iterator[Surrounding]:
    if any(image.push_tag is None for image in plan.images):
        yield Surrounding("repository of images", plan.experiment.stack)


def _of_jobs(plan: Plan) -> Iterator[Surrounding]:
    if not plan.units:
        return
    stack = plan.experiment.stack
    yield Surrounding("namespace", names.namespace(stack))
    yield Surrounding("bucket of outputs, which outlives the stack", names.output_bucket(stack))
    boards = list(_boards(plan))
    yield from boards
    rights = ["roles/storage.objectUser", *(bucket["role"] for bucket in program_gke.buckets(plan))]
    rights += [cloud_sql.ROLE for _ in program_gke.cloud_sql_projects(plan)]
    rights += ["roles/aiplatform.user" for _ in boards]
    account = names.service_account(stack, "jobs")
    what = "account of the jobs, as which the namespace's pods may act"
    yield Surrounding(what, account, tuple(dict.fromkeys(rights)))
    if plan.controllers:
        rights = [
            "roles/storage.objectUser",
            *(bucket["role"] for bucket in program_gke.buckets(plan, of_controllers=True)),
        ]
        account = names.service_account(stack, "controllers")
        what = "account of the controllers, which start jobs"
        yield Surrounding(what, account, tuple(dict.fromkeys([*program_gke.CONTROLLER_ROLES, *rights])))


def _of_managed_jobs(plan: Plan) -> Iterator[Surrounding]:
    stack = plan.experiment.stack
    what = "bucket of outputs, which outlives the stack; unless the configuration names one"
    yield Surrounding(what, names.output_bucket(stack))
    yield from _boards(plan)
    if program_vertex.has_account(plan):
        rights = ("roles/storage.objectUser", *(("roles/aiplatform.user",) if program_vertex.reports(plan) else ()))
        yield Surrounding("account of the jobs", names.service_account(stack, "jobs"), rights)
    for _, account in program_vertex.given_accounts(plan):
        yield Surrounding("rights of an account that there is", account, ("roles/storage.objectUser",))


def _boards(plan: Plan) -> Iterator[Surrounding]:
    for reference in plan.experiment.references:
        if reference.kind == "tensorboard":
            yield Surrounding("TensorBoard", reference.name)
