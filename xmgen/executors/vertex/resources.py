"""The resources of a stack on Vertex AI: its images, and what its CustomJobs need beside themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xmgen import names, resource_types
from xmgen.executors import google
from xmgen.executors.gke.jobs import OUTPUT_BUCKET
from xmgen.executors.vertex.custom_jobs import SERVICE_ACCOUNT
from xmgen.plan.model import Manifest, Plan
from xmgen.plan.resources import (
    ConfigurationKey,
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

JOBS = "manifests/vertex/jobs.yaml"
APIS = ("aiplatform", "artifactregistry", "compute", "iam", "storage")
PROJECT_API = "cloudresourcemanager"
"""Gives roles in the project."""

OUTPUT = Variable("output", plain=False)
ACCOUNT = Output("account", "email")


def declared(plan: Plan) -> Declared:
    assert plan.vertex is not None  # noqa: S101 — the planner asks for Vertex AI's resources of stacks there
    experiment, region = plan.experiment, plan.vertex.region
    keys = {"gcp:project": google.NEEDED, "owner": google.NEEDED, "deleteOutputs": google.SWITCH}
    keys |= {"bucket": google.OPTIONAL, "wait": ConfigurationKey(type="boolean", required=False)}
    if region is None:
        # The region of Google's provider comes first; the location of clusters has a default.
        keys |= {"gcp:region": google.OPTIONAL, "location": google.OPTIONAL}
    keys |= google.configuration(experiment)
    if google.shared_repositories(plan):
        keys["createGcrRepository"] = google.SWITCH
    from_settings: Input = {"fn::ifSet": ["gcp:region", Setting("gcp:region"), {"fn::region": Setting("location")}]}
    return Declared(
        runs="vertex",
        configuration=keys,
        variables={
            "project": Setting("gcp:project"),
            "region": from_settings if region is None else region,
            "labels": google.labels(experiment),
            **google.registry_variable(plan),
            "delete_outputs": Setting("deleteOutputs"),
            "output": {"fn::ifSet": ["bucket", Setting("bucket"), Output("output_bucket", "name")]},
        },
        resources=(
            google.services([*APIS, *([PROJECT_API] if reports(plan) else [])]),
            *google.images(plan),
            *_beside_jobs(plan),
        ),
        workloads=Workloads(
            type=resource_types.CUSTOM_JOB,
            manifests=JOBS,
            options=Options(
                provider="vertex",
                depends_on=("*services", *(["*rights"] if any(_rights(plan)) else [])),
            ),
        ),
    )


def references(plan: Plan) -> dict[str, Input]:
    """What arguments and variables of the experiment's can only name: tokens, and what each stands for."""
    secrets: dict[str, Input] = {
        each.token: SecretSetting(each.name) for each in plan.experiment.references if each.kind == "secret"
    }
    known = google.references(plan.experiment, OUTPUT) | secrets
    return {each.token: known[each.token] for each in plan.experiment.references}


def references_of_ours(plan: Plan) -> dict[str, Input]:
    """What the other fields can name beside that."""
    own: dict[str, Input] = {OUTPUT_BUCKET: OUTPUT}
    return {**own, **({SERVICE_ACCOUNT: ACCOUNT} if has_account(plan) else {})}


def _beside_jobs(plan: Plan) -> Iterator[Resource]:
    stack = plan.experiment.stack
    yield google.bucket(stack, "output_bucket", unless="bucket", why="")
    yield from google.tensorboards(plan.experiment, "*services")
    if has_account(plan):
        yield google.account("account", "jobs", "Jobs", stack, why="The jobs act as this account.")
    yield from _rights(plan)
    yield Resource(variable="vertex", name="vertex", type=resource_types.XMGEN_PROVIDER, inputs={})


def _rights(plan: Plan) -> Iterator[Resource]:
    if has_account(plan):
        yield google.may("rights", "output", OUTPUT, google.OBJECT_USER, "account")
    for name, given in given_accounts(plan):
        right = google.may("rights", name, OUTPUT, google.OBJECT_USER, "account")
        member = Text(("serviceAccount:", *_resolved(plan, given)))
        yield Resource(
            variable="rights", key=name, name=name, type=right.type, inputs={**right.inputs, "member": member}
        )
    if reports(plan):
        yield google.may_in_project("rights", "tensorboard", google.PROJECT, google.TENSORBOARD_ROLE, "account")
    for name, bucket in other_buckets(plan):
        [where] = resolved if len(resolved := _resolved(plan, bucket)) == 1 else [Text(tuple(resolved))]
        yield google.may("other_rights", name, where, google.OBJECT_USER, "account")


def _resolved(plan: Plan, text: str) -> list[str | Variable | Output | Setting]:
    """A text of the experiment's as parts, with what its tokens stand for."""
    known = references(plan)
    parts: list[str | Variable | Output | Setting] = [text]
    for token, value in known.items():
        split: list[str | Variable | Output | Setting] = []
        for part in parts:
            pieces = part.split(token) if isinstance(part, str) else [part]
            for position, piece in enumerate(pieces):
                if position:
                    split.append(cast("Variable | Output | Setting", value))
                if piece:
                    split.append(piece)
        parts = split
    return parts


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
    accounts.pop(SERVICE_ACCOUNT, None)
    logical = names.unique(f"output-{names.slug(account.partition('@')[0])}" for account in accounts)
    return list(zip(logical, accounts, strict=True))


def _specs(plan: Plan) -> list[Manifest]:
    """Of the jobs that act as the stack's account."""
    return [spec for spec in _all_specs(plan) if spec.get("serviceAccount") == SERVICE_ACCOUNT]


def _all_specs(plan: Plan) -> list[Manifest]:
    return [cast("Manifest", manifest["jobSpec"]) for unit in plan.units for manifest in unit.manifests]
