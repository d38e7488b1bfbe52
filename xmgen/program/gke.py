"""Plan -> the files of a stack that runs on GKE: cluster, images, jobs and their manifests."""

from __future__ import annotations

from collections.abc import Iterable

from xmgen import names, resource_types
from xmgen.executors import images, texts
from xmgen.executors.gke import cloud_sql
from xmgen.executors.gke import plan as gke
from xmgen.executors.gke import refusals as kubernetes_refusals
from xmgen.executors.gke.objects import CONTROLLERS_ACCOUNT, JOBS_ACCOUNT
from xmgen.experiment import Executor, Kubernetes, Reference
from xmgen.plan.model import Cluster, Manifest, Plan, header
from xmgen.program import manifests, summary
from xmgen.program.google import config_key, images_module, reference
from xmgen.program.python import python

JOBS = "manifests/jobs.yaml"
OBJECTS = "manifests/objects.yaml"

NODE_ROLES = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
"""What nodes need and no more: to log and report, and to pull images."""

CONTROLLER_ROLES = ("roles/aiplatform.user", "roles/cloudbuild.builds.editor", "roles/cloudsql.client")
"""What XManager's `docs/parameter_controller.md` asks for, less what a bucket's own policy gives."""
STAGING_BUCKET = "GOOGLE_CLOUD_BUCKET_NAME"
"""The variable that tells XManager where it stages what it builds and starts."""


def files(plan: Plan) -> dict[str, str]:
    """The files of the stack's folder but SUMMARY.md and the lock: path relative to it -> text."""
    cluster = plan.cluster
    assert cluster is not None  # noqa: S101 — the caller asks for GKE's files of stacks on GKE
    title = plan.experiment.title
    result = {
        "__main__.py": python(
            "stack/kubernetes_main.py.j2",
            header=header(plan.experiment),
            docstring=summary.docstring(plan),
            title=title,
            own=cluster.kind == "own",
            jobs=bool(plan.units),
            filestore=cluster.filestore,
        ),
        "cluster.py": _cluster(plan, cluster),
    }
    if plan.images:
        result["images.py"] = images_module(plan, settings="cluster")
    for image in plan.images:
        result |= {f"images/{image.name}/{file}": text for file, text in image.files.items()}
    if plan.units:
        result["jobs.py"] = _jobs(plan)
        result[JOBS] = _documents(plan, (manifest for unit in plan.units for manifest in unit.manifests))
    if plan.objects:
        result[OBJECTS] = _documents(plan, plan.objects)
    return result


def _documents(plan: Plan, documents: Iterable[Manifest]) -> str:
    """One YAML document per resource, in the user's order."""
    return f"# {header(plan.experiment)}\n{manifests.dump(documents)}"


def _cluster(plan: Plan, cluster: Cluster) -> str:
    name = plan.experiment.stack
    own = cluster.kind == "own"
    return python(
        "stack/cluster.py.j2" if own else "stack/shared_cluster.py.j2",
        header=header(plan.experiment),
        name=name,
        label=names.gcp_label(plan.experiment.title) or name,
        kind=cluster.kind,
        own=own,
        jobs=bool(plan.units),
        cluster_name=cluster.name,
        location=cluster.location,
        nodes_account=names.service_account(name, "nodes"),
        node_roles=tuple(role.removeprefix("roles/") for role in NODE_ROLES),
        system_machine_type=cluster.system_machine_type,
        pools=[gke.pool_arguments(pool, cluster.location) for pool in cluster.pools],
        # A slice of several hosts lies in one zone, which only the pool of a zone's jobs says itself.
        whole_slices=any(pool.tpu and pool.tpu.multi_host and not pool.zones for pool in cluster.pools),
        depends_on_roles=cluster.kind == "existing",
        filestore=cluster.filestore,
    )


def _jobs(plan: Plan) -> str:
    experiment = plan.experiment
    boards = [reference for reference in experiment.references if reference.kind == "tensorboard"]
    variables = dict(zip(boards, names.unique(names.identifier(f"tensorboard {b.name}") for b in boards), strict=True))
    secrets = [reference for reference in experiment.references if reference.kind == "secret"]
    kinds = dict.fromkeys(str(manifest["kind"]) for manifest in plan.objects)
    return python(
        "stack/kubernetes_jobs.py.j2",
        header=header(experiment),
        name=experiment.stack,
        namespace=names.namespace(experiment.stack),
        images=bool(plan.images),
        bucket=names.output_bucket(experiment.stack),
        jobs_account=names.service_account(experiment.stack, "jobs"),
        accounts=[JOBS_ACCOUNT, *([CONTROLLERS_ACCOUNT] if plan.controllers else [])],
        tensorboards=[{"name": board.name, "variable": variables[board]} for board in boards],
        references=[
            reference(each, variables, bucket="output.name") for each in experiment.references if each.kind != "secret"
        ],
        secrets=[_secret(secret) for secret in secrets],
        buckets=buckets(plan),
        controllers={
            "id": names.service_account(experiment.stack, "controllers"),
            "roles": tuple(role.removeprefix("roles/") for role in CONTROLLER_ROLES),
            "buckets": buckets(plan, of_controllers=True),
        }
        if plan.controllers
        else None,
        cloud_sql=[{"name": f"cloud-sql-{project}", "project": project} for project in cloud_sql_projects(plan)],
        cloud_sql_role=cloud_sql.ROLE,
        kinds=[(kind, resource_types.kubernetes_class(resource_types.OBJECTS[kind])) for kind in kinds],
        kind_names=list(kinds),
        waits=any(unit.depends_on for unit in plan.units),
        # A service is a sidecar of its pod, and named by references as programs are.
        sidecars=any(isinstance(e, Kubernetes) and e.service for e in _executors(plan)),
    )


def _executors(plan: Plan) -> Iterable[Executor]:
    return (job.executor for unit in plan.experiment.units for job in unit.jobs)


def cloud_sql_projects(plan: Plan) -> list[str]:
    """Projects of the instances that jobs connect to."""
    instances = {job.cloud_sql for unit in plan.experiment.units for job in unit.jobs if job.cloud_sql}
    return sorted({instance.rsplit(":", 2)[0] for instance in instances})


def _secret(reference: Reference) -> dict[str, object]:
    namespace, name = config_key(reference.name)
    return {"key": texts.secret_key(reference), "namespace": namespace, "name": name}


def buckets(plan: Plan, *, of_controllers: bool = False) -> list[dict[str, str]]:
    """The buckets beside the stack's own that jobs, or controllers, use, and whether one writes there."""
    experiment = plan.experiment
    own = {reference.token for reference in experiment.references if reference.kind == "bucket"}
    controllers = {each.name for each in experiment.executables if images.is_controller(each, experiment)}
    writable: dict[str, bool] = {}
    for unit in experiment.units:
        for job in unit.jobs:
            if not isinstance(job.executor, Kubernetes) or (job.executable in controllers) != of_controllers:
                continue
            used = {v.bucket.partition("/")[0]: not v.read_only for v in job.executor.volumes or () if v.bucket}
            if of_controllers and kubernetes_refusals.is_bucket(job.env.get(STAGING_BUCKET, "")):
                used[job.env[STAGING_BUCKET]] = True
            for bucket, writes in used.items():
                writable[bucket] = writable.get(bucket, False) or writes
    others = {bucket: writes for bucket, writes in writable.items() if bucket not in own}
    prefix = "controllers-bucket" if of_controllers else "bucket"
    wanted = names.unique(f"{prefix}-{names.slug(bucket) or names.short_hash(bucket)}" for bucket in others)
    return [
        {
            "name": name,
            "bucket": bucket,
            "role": "roles/storage.objectUser" if writes else "roles/storage.objectViewer",
        }
        for name, (bucket, writes) in zip(wanted, others.items(), strict=True)
    ]
