"""The resources of a stack on GKE: its cluster, its images, and what its Jobs need beside themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from xmgen import names, resource_types
from xmgen.executors import google, images
from xmgen.executors.gke import cloud_sql, cluster, refusals
from xmgen.executors.gke.jobs import OUTPUT_BUCKET
from xmgen.executors.gke.objects import CONTROLLERS_ACCOUNT, JOBS_ACCOUNT
from xmgen.executors.texts import secret_key
from xmgen.experiment import Kubernetes
from xmgen.plan.model import Manifest, Plan
from xmgen.plan.resources import (
    Declared,
    Input,
    Options,
    Output,
    Resource,
    SecretSetting,
    Setting,
    Text,
    Variable,
    Workloads,
)

JOBS = "manifests/jobs.yaml"

CONTROLLER_ROLES = ("aiplatform.user", "cloudbuild.builds.editor", "cloudsql.client")
"""What XManager's `docs/parameter_controller.md` asks for, less what a bucket's own policy gives."""

STAGING_BUCKET = "GOOGLE_CLOUD_BUCKET_NAME"
"""The variable that tells XManager where it stages what it builds and starts."""

OUTPUT = Output("output", "name")


def declared(plan: Plan) -> Declared:
    assert plan.cluster is not None  # noqa: S101 — the planner asks for GKE's resources of stacks on GKE
    keys = cluster.configuration(plan.cluster) | google.configuration(plan.experiment)
    variables = cluster.variables(plan, plan.cluster)
    if plan.units:
        keys["deleteOutputs"] = google.SWITCH
        variables["delete_outputs"] = Setting("deleteOutputs")
    variables |= google.registry_variable(plan)
    if google.shared_repositories(plan):
        keys["createGcrRepository"] = google.SWITCH
    return Declared(
        runs="gke" if plan.units else "cluster",
        cluster=cluster.choice(plan.cluster),
        configuration=keys,
        variables=variables,
        resources=(
            *cluster.resources(plan, plan.cluster),
            *google.images(plan),
            *(_beside_jobs(plan) if plan.units else ()),
        ),
        workloads=_workloads(plan) if plan.units else None,
    )


def references(plan: Plan) -> dict[str, Input]:
    """What the Jobs' manifests can only name: tokens, and what each stands for."""
    bucket: dict[str, Input] = {OUTPUT_BUCKET: OUTPUT}
    return bucket | google.references(plan.experiment, OUTPUT)


def _workloads(plan: Plan) -> Workloads:
    secrets = ["secrets"] if any(each.kind == "secret" for each in plan.experiment.references) else []
    objects = ["*objects"] if plan.objects else []
    return Workloads(
        type=resource_types.JOB,
        manifests=JOBS,
        options=Options(
            provider="provider",
            depends_on=("*service_accounts", *secrets, *objects),
            delete_before_replace=True,
        ),
    )


def _beside_jobs(plan: Plan) -> Iterator[Resource]:
    experiment = plan.experiment
    stack, namespace = experiment.stack, names.namespace(experiment.stack)
    yield Resource(
        variable="namespace",
        name=namespace,
        type=resource_types.NAMESPACE,
        inputs={"metadata": {"name": namespace}},
        options=Options(provider="provider"),
    )
    yield google.bucket(
        stack,
        "output",
        why="What the jobs write into XMGEN_OUTPUT_DIR. It outlives the stack, unless `deleteOutputs` is set.",
    )
    boards = google.tensorboards(experiment, "tensorboard_api")
    if boards:
        yield google.service("tensorboard_api", "aiplatform")
        yield from boards
    yield google.account(
        "jobs_account",
        "jobs",
        "Jobs",
        stack,
        why="The jobs act as this account, by Workload Identity: there is no key.",
    )
    yield google.may("rights", "output", OUTPUT, google.OBJECT_USER, "jobs_account")
    for name, bucket, role in buckets(plan):
        yield google.may("rights", name, bucket, role, "jobs_account")
    for project in cloud_sql_projects(plan):
        yield google.may_in_project("rights", f"cloud-sql-{project}", project, cloud_sql.ROLE, "jobs_account")
    if boards:
        yield google.may_in_project("rights", "tensorboard", google.PROJECT, google.TENSORBOARD_ROLE, "jobs_account")
    yield _identity(
        "jobs", namespace, why="The pool of identities exists once the project has a cluster with Workload Identity."
    )
    if plan.controllers:
        yield from _controllers(plan, namespace)
    yield _kubernetes_account(JOBS_ACCOUNT, namespace, ("*rights",))
    if plan.controllers:
        yield _kubernetes_account(CONTROLLERS_ACCOUNT, namespace, ("*controllers_roles", "*controllers_rights"))
    yield from _secrets(plan, namespace)
    objects = [_object(manifest, namespace) for manifest in plan.objects]
    # A role and what gives it have one name.
    for key, made in zip(names.unique(each.key for each in objects), objects, strict=True):
        yield replace(made, key=key)


def _controllers(plan: Plan, namespace: str) -> Iterator[Resource]:
    stack = plan.experiment.stack
    yield google.service("cloud_build", "cloudbuild")
    yield google.account(
        "controllers_account",
        "controllers",
        "Controllers",
        stack,
        "*services",
        "cloud_build",
        why="Controllers act as another one. They build images and start jobs on the cluster and on Vertex AI, as "
        "XManager does it, and reach the database in which it keeps its records.",
    )
    yield Resource(
        variable="controllers_roles",
        name=Text(("controllers-", Variable("role"))),
        type=resource_types.PROJECT_MEMBER,
        inputs={
            "project": google.PROJECT,
            "role": Text(("roles/", Variable("role"))),
            "member": Output("controllers_account", "member"),
        },
        over=("role", CONTROLLER_ROLES),
    )
    yield google.may("controllers_rights", "controllers-output", OUTPUT, google.OBJECT_USER, "controllers_account")
    for name, bucket, role in buckets(plan, of_controllers=True):
        yield google.may("controllers_rights", name, bucket, role, "controllers_account")
    yield _identity("controllers", namespace)


def _identity(who: str, namespace: str, why: str = "") -> Resource:
    """By which the namespace's pods may act as the account."""
    return Resource(
        variable=f"{who}_identity",
        name=who,
        type=resource_types.ACCOUNT_MEMBER,
        inputs={
            "serviceAccountId": Output(f"{who}_account", "name"),
            "role": "roles/iam.workloadIdentityUser",
            "member": Text(("serviceAccount:", google.PROJECT, f".svc.id.goog[{namespace}/{who}]")),
        },
        options=Options(depends_on=("namespace",), why=why),
    )


def _kubernetes_account(name: str, namespace: str, rights: tuple[str, ...]) -> Resource:
    metadata: dict[str, Input] = {
        "name": name,
        "namespace": namespace,
        "annotations": {"iam.gke.io/gcp-service-account": Output(f"{name}_account", "email")},
    }
    return Resource(
        variable="service_accounts",
        key=name,
        name=name,
        type=resource_types.SERVICE_ACCOUNT,
        inputs={"metadata": metadata},
        options=Options(provider="provider", depends_on=("namespace", f"{name}_identity", *rights)),
    )


def _secrets(plan: Plan, namespace: str) -> Iterator[Resource]:
    secrets = [reference for reference in plan.experiment.references if reference.kind == "secret"]
    if secrets:
        yield Resource(
            variable="secrets",
            name="secrets",
            type=resource_types.SECRET,
            inputs={
                "metadata": {"name": "secrets", "namespace": namespace},
                "stringData": {secret_key(secret): SecretSetting(secret.name) for secret in secrets},
            },
            options=Options(provider="provider", depends_on=("namespace",)),
            why="From the stack's configuration, where they are encrypted; no manifest holds them.",
        )


def _object(manifest: Manifest, namespace: str) -> Resource:
    """What the Jobs need beside themselves, as planned: a Service, a claim, a class, a right."""
    inputs = {key: cast("Input", value) for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    metadata = cast("dict[str, str]", manifest["metadata"])
    name, place = metadata["name"], metadata.get("namespace", namespace)
    logical = name if place == namespace else f"{name}-{place}"
    if manifest["kind"] == "StorageClass":
        network = {key: Variable(f'filestore_network["{key}"]', plain=False) for key in ("network", "connect-mode")}
        inputs["parameters"] = {**cast("dict[str, Input]", inputs["parameters"]), **network}
    return Resource(
        variable="objects",
        key=logical,
        name=logical,
        type=resource_types.OBJECTS[str(manifest["kind"])],
        inputs=inputs,
        options=Options(provider="provider", depends_on=("namespace",)),
    )


def cloud_sql_projects(plan: Plan) -> list[str]:
    """Projects of the instances that jobs connect to."""
    instances = {job.cloud_sql for unit in plan.experiment.units for job in unit.jobs if job.cloud_sql}
    return sorted({instance.rsplit(":", 2)[0] for instance in instances})


def buckets(plan: Plan, *, of_controllers: bool = False) -> Iterable[tuple[str, str, str]]:
    """The buckets beside the stack's own that jobs, or controllers, use: the right's name, the bucket, the role."""
    experiment = plan.experiment
    own = {reference.token for reference in experiment.references if reference.kind == "bucket"}
    controllers = {each.name for each in experiment.executables if images.is_controller(each, experiment)}
    writable: dict[str, bool] = {}
    for unit in experiment.units:
        for job in unit.jobs:
            if not isinstance(job.executor, Kubernetes) or (job.executable in controllers) != of_controllers:
                continue
            used = {v.bucket.partition("/")[0]: not v.read_only for v in job.executor.volumes or () if v.bucket}
            if of_controllers and refusals.is_bucket(job.env.get(STAGING_BUCKET, "")):
                used[job.env[STAGING_BUCKET]] = True
            for bucket, writes in used.items():
                writable[bucket] = writable.get(bucket, False) or writes
    others = {bucket: writes for bucket, writes in writable.items() if bucket not in own}
    prefix = "controllers-bucket" if of_controllers else "bucket"
    wanted = names.unique(f"{prefix}-{names.slug(bucket) or names.short_hash(bucket)}" for bucket in others)
    for name, (bucket, writes) in zip(wanted, others.items(), strict=True):
        yield name, bucket, google.OBJECT_USER if writes else google.OBJECT_VIEWER
