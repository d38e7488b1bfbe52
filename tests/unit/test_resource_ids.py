"""Under which id a provider imports what a create was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from xmgen import resource_types as types
from xmgen.rehearsal.cloud import kinds
from xmgen.resource_types.ids import import_id

PROVIDER = {"project": "acme"}
CLUSTER = "projects/acme/locations/us-central1-a/clusters/one-1234567"
ACCOUNT = "projects/acme/serviceAccounts/jobs@acme.iam.gserviceaccount.com"
MEMBER = "serviceAccount:jobs@acme.iam.gserviceaccount.com"

GOOGLE: list[tuple[str, dict[str, Any], str]] = [
    (types.API, {"service": "iam.googleapis.com"}, "acme/iam.googleapis.com"),
    (types.NETWORK, {"name": "n"}, "projects/acme/global/networks/n"),
    (types.SUBNETWORK, {"name": "s", "region": "r1"}, "projects/acme/regions/r1/subnetworks/s"),
    (types.ROUTER, {"name": "t", "region": "r1"}, "projects/acme/regions/r1/routers/t"),
    (
        types.ROUTER_NAT,
        {"name": "nat", "region": "r1", "router": "t"},
        "projects/acme/regions/r1/routers/t/nat",
    ),
    (types.RESOURCE_POLICY, {"name": "p", "region": "r1"}, "projects/acme/regions/r1/resourcePolicies/p"),
    (types.CLUSTER, {"name": "one-1234567", "location": "us-central1-a"}, CLUSTER),
    (types.NODE_POOL, {"name": "system", "cluster": CLUSTER}, "acme/us-central1-a/one-1234567/system"),
    (
        types.NODE_POOL,
        {"name": "system", "cluster": "c", "location": "us-central1-b"},
        "acme/us-central1-b/c/system",
    ),
    (
        types.REPOSITORY,
        {"repositoryId": "images", "location": "r1"},
        "projects/acme/locations/r1/repositories/images",
    ),
    (types.BUCKET, {"name": "b"}, "acme/b"),
    (types.BUCKET_MEMBER, {"bucket": "b", "role": "roles/x", "member": MEMBER}, f"b/b roles/x {MEMBER}"),
    (types.PROJECT_MEMBER, {"project": "other", "role": "roles/x", "member": MEMBER}, f"other roles/x {MEMBER}"),
    (types.ACCOUNT, {"accountId": "jobs"}, ACCOUNT),
    (
        types.ACCOUNT_MEMBER,
        {"serviceAccountId": ACCOUNT, "role": "roles/x", "member": MEMBER},
        f"{ACCOUNT} roles/x {MEMBER}",
    ),
]


@pytest.mark.parametrize(("type", "inputs", "expected"), GOOGLE)
def test_google(type: str, inputs: dict[str, Any], expected: str) -> None:
    assert import_id(type, inputs, PROVIDER) == expected


@pytest.mark.parametrize(("type", "inputs", "expected"), GOOGLE)
def test_the_simulated_cloud_finds_it_under_its_own_id(type: str, inputs: dict[str, Any], expected: str) -> None:
    assert kinds.imported(type, expected) == kinds.id_of(type, {**PROVIDER, **inputs})


def test_all_that_has_an_id_of_its_own_choice_is_here() -> None:
    """A TensorBoard's id is a number that Google draws."""
    assert {type for type, _, _ in GOOGLE} == kinds.KINDS.keys() - {types.TENSORBOARD}


@pytest.mark.parametrize(
    ("type", "metadata", "expected"),
    [
        ("kubernetes:core/v1:Namespace", {"name": "jobs"}, "jobs"),
        ("kubernetes:scheduling.k8s.io/v1:PriorityClass", {"name": "low"}, "low"),
        ("kubernetes:batch/v1:Job", {"name": "train-1f3a", "namespace": "jobs"}, "jobs/train-1f3a"),
        ("kubernetes:core/v1:ServiceAccount", {"name": "jobs", "namespace": "jobs"}, "jobs/jobs"),
        # Its namespace is the provider's.
        ("kubernetes:core/v1:Secret", {"name": "key"}, None),
        # The API server draws the name.
        ("kubernetes:batch/v1:Job", {"generateName": "train-", "namespace": "jobs"}, None),
    ],
)
def test_an_object_of_kubernetes_is_imported_by_its_namespace_and_name(
    type: str, metadata: dict[str, str], expected: str | None
) -> None:
    assert import_id(type, {"apiVersion": "v1", "metadata": metadata}, {}) == expected


@pytest.mark.parametrize(
    ("type", "inputs", "provider"),
    [
        (types.TENSORBOARD, {"displayName": "runs", "region": "r1"}, PROVIDER),
        # A project that only the provider's environment names.
        (types.NETWORK, {"name": "n"}, {}),
        (types.CLUSTER, {"name": "c"}, PROVIDER),
        (types.ACCOUNT, {"accountId": "jobs"}, {"project": "acme.com:acme"}),
        (
            types.PROJECT_MEMBER,
            {"project": "acme", "role": "roles/x", "member": MEMBER, "condition": {"title": "t"}},
            PROVIDER,
        ),
        ("gcp:sql/databaseInstance:DatabaseInstance", {"name": "d"}, PROVIDER),
        # A value that only another resource's creation tells.
        (types.SUBNETWORK, {"name": "s", "region": {"4dabf18193072939515e22adb298388d": "x"}}, PROVIDER),
    ],
)
def test_what_nobody_can_look_for(type: str, inputs: dict[str, Any], provider: dict[str, str]) -> None:
    assert import_id(type, inputs, provider) is None
