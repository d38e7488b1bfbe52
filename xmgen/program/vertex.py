"""Plan -> the files of a stack that runs on Vertex AI: project, images, jobs and their manifests."""

from __future__ import annotations

from typing import cast

from xmgen import names
from xmgen.executors.gke.jobs import OUTPUT_BUCKET
from xmgen.executors.vertex import custom_jobs as vertex
from xmgen.plan.model import Manifest, Plan, header
from xmgen.program import manifests, summary
from xmgen.program.google import images_module, reference
from xmgen.program.python import python

JOBS = "manifests/vertex/jobs.yaml"
APIS = ("aiplatform", "artifactregistry", "compute", "iam", "storage")
PROJECT_API = "cloudresourcemanager"
"""Gives roles in the project."""


def files(plan: Plan) -> dict[str, str]:
    """The files of the stack's folder but SUMMARY.md and the lock: path relative to it -> text."""
    experiment = plan.experiment
    assert plan.vertex is not None  # noqa: S101 — the caller asks for Vertex AI's files of stacks there
    head, name, title = header(experiment), experiment.stack, experiment.title
    result = {
        "__main__.py": python("stack/vertex_main.py.j2", header=head, docstring=summary.docstring(plan), title=title),
        "project.py": python(
            "stack/vertex_project.py.j2",
            header=head,
            name=name,
            label=names.gcp_label(title) or name,
            region=plan.vertex.region,
            services=tuple(sorted([*APIS, *([PROJECT_API] if reports(plan) else [])])),
        ),
        "jobs.py": _jobs(plan),
        JOBS: f"# {head}\n{manifests.dump(manifest for unit in plan.units for manifest in unit.manifests)}",
    }
    if plan.images:
        result["images.py"] = images_module(plan, settings="project")
    for image in plan.images:
        result |= {f"images/{image.name}/{file}": text for file, text in image.files.items()}
    return result


def _jobs(plan: Plan) -> str:
    experiment = plan.experiment
    boards = [reference for reference in experiment.references if reference.kind == "tensorboard"]
    variables = dict(zip(boards, names.unique(names.identifier(f"tensorboard {b.name}") for b in boards), strict=True))
    references = [
        {**reference(each, variables, bucket="output"), "secret": each.kind == "secret"}
        for each in experiment.references
    ]
    return python(
        "stack/vertex_jobs.py.j2",
        header=header(experiment),
        name=experiment.stack,
        images=bool(plan.images),
        bucket=names.output_bucket(experiment.stack),
        jobs_account=names.service_account(experiment.stack, "jobs"),
        account=has_account(plan),
        reports=reports(plan),
        others=other_buckets(plan),
        given=given_accounts(plan),
        tensorboards=[{"name": board.name, "variable": variables[board]} for board in boards],
        references=references,
        output_token=OUTPUT_BUCKET,
        account_token=vertex.SERVICE_ACCOUNT,
        after=[(unit.name, list(unit.depends_on)) for unit in plan.units if unit.depends_on],
    )


def has_account(plan: Plan) -> bool:
    """Whether a job acts as an account of the stack."""
    return bool(_specs(plan))


def reports(plan: Plan) -> bool:
    """Whether such a job writes to a TensorBoard, which takes a role in the project."""
    return any("tensorboard" in spec for spec in _specs(plan))


def other_buckets(plan: Plan) -> list[tuple[str, str]]:
    """Logical names of rights, and the buckets beside the stack's own that such jobs write to, tokens and all."""
    tokens = {OUTPUT_BUCKET, *(each.token for each in plan.experiment.references if each.kind == "bucket")}
    folders = [cast("dict[str, str]", spec["baseOutputDirectory"])["outputUriPrefix"] for spec in _specs(plan)]
    buckets = dict.fromkeys(folder.removeprefix("gs://").partition("/")[0] for folder in folders)
    found = [bucket for bucket in buckets if bucket not in tokens]
    logical = names.unique(f"bucket-{names.slug(bucket) or names.short_hash(bucket)}" for bucket in found)
    return list(zip(logical, found, strict=True))


def given_accounts(plan: Plan) -> list[tuple[str, str]]:
    """Logical names of rights, and the accounts of the experiment's own that jobs act as, tokens and all."""
    accounts = dict.fromkeys(str(spec["serviceAccount"]) for spec in _all_specs(plan) if "serviceAccount" in spec)
    accounts.pop(vertex.SERVICE_ACCOUNT, None)
    logical = names.unique(f"output-{names.slug(account.partition('@')[0])}" for account in accounts)
    return list(zip(logical, accounts, strict=True))


def _specs(plan: Plan) -> list[Manifest]:
    """Of the jobs that act as the stack's account."""
    return [spec for spec in _all_specs(plan) if spec.get("serviceAccount") == vertex.SERVICE_ACCOUNT]


def _all_specs(plan: Plan) -> list[Manifest]:
    return [cast("Manifest", manifest["jobSpec"]) for unit in plan.units for manifest in unit.manifests]
