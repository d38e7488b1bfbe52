"""What Google refuses, in Google's words; what pulumi_gcp's own types do not have; what generated names look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal.google import CLUSTER_ID, Google
from xmgen.provider.wire import UNKNOWN
from xmgen.rehearsal.cloud.cloud import Cloud
from xmgen.rehearsal.cloud.dials import LostResponse
from xmgen.rehearsal.cloud.kinds import Endpoint
from xmgen.rehearsal.cloud.refusals import RULES, Rule
from xmgen.resource_types import (
    ACCOUNT,
    ACCOUNT_MEMBER,
    API,
    BUCKET,
    BUCKET_MEMBER,
    CLUSTER,
    NETWORK,
    NODE_POOL,
    REPOSITORY,
    RESOURCE_POLICY,
    SUBNETWORK,
)


@pytest.fixture
def google(tmp_path: Path) -> Google:
    return Google(tmp_path)


def t4(count: int) -> dict[str, Any]:
    return {"guestAccelerators": [{"type": "nvidia-tesla-t4", "count": count}]}


def tpu(hosts: int, topology: str = "4x4x4", **rest: Any) -> dict[str, Any]:
    return {
        "nodeConfig": {"machineType": "ct4p-hightpu-4t"},
        "placementPolicy": {"type": "COMPACT", "tpuTopology": topology},
        "autoscaling": {"minNodeCount": 0, "maxNodeCount": hosts},
        **rest,
    }


NODE_POOLS: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"name": "p" * 39}, ""),
    ({"name": "p" * 40}, "Invalid value for field 'name'"),
    ({"name": "Pool_1"}, "It must be at most 39 lower-case letters"),
    ({"cluster": CLUSTER_ID + "s"}, "Error 404: Not found"),
    ({"nodeConfig": t4(4)}, ""),
    ({"nodeConfig": t4(3)}, "can be attached 1, 2, 4 times to a machine, not 3 times"),
    ({"nodeConfig": {**t4(1), "machineType": "n1-standard-96"}}, "at most 48 vCPUs"),
    ({"nodeConfig": {**t4(1), "machineType": "n2-standard-8"}}, "cannot be attached to machine type n2-standard-8"),
    ({"nodeConfig": {"machineType": "e2-standard-4"}}, '"e2-standard-4" does not exist in zone "us-central2-b"'),
    ({"nodeConfig": {"machineType": "n1-imaginary-4"}}, "does not exist"),
    ({"nodeConfig": {"diskType": "hyperdisk-balanced"}}, "[pd-type] hyperdisk-balanced cannot be used"),
    ({"nodeConfig": {"diskSizeGb": 9}}, "Boot disk size must be between"),
    ({"nodeConfig": {"ephemeralStorageLocalSsdConfig": {"localSsdCount": 1}}}, "has 0 local SSDs"),
    ({"nodeConfig": {"spot": True}}, ""),
    ({"nodeConfig": {"flexStart": True}}, "is not available as flex-start"),
    ({"nodeConfig": {"labels": {"a b": "c"}}}, "Invalid label or taint key 'a b'"),
    ({"nodeConfig": {"labels": {"xmgen/nodes": "x" * 64}}}, "Invalid label or taint value"),
    ({"nodeConfig": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}}, "Invalid taint effect"),
    ({"nodeConfig": {"serviceAccount": "sweep-nodes@acme.iam.gserviceaccount.com"}}, ""),
    ({"nodeConfig": {"serviceAccount": "nobody@acme.iam.gserviceaccount.com"}}, "does not exist"),
    ({"autoscaling": {"totalMaxNodeCount": 3, "maxNodeCount": 3}}, "Exactly one of"),
    ({"autoscaling": {"totalMinNodeCount": 4, "totalMaxNodeCount": 3}}, "Invalid autoscaling range 4 to 3"),
    ({"placementPolicy": {"type": "COMPACT"}}, "Compact placement is not available for n1-standard-8"),
    ({"placementPolicy": {"type": "", "policyName": "none"}}, "resourcePolicies/none' was not found"),
    ({"placementPolicy": {"type": "", "tpuTopology": "2x2x1"}}, "only valid for TPU machine types"),
    (tpu(16), ""),
    (tpu(15), "needs 16 nodes, got 15"),
    (tpu(1, "2x2x1"), "is one host"),
    (tpu(16, autoscaling={"totalMaxNodeCount": 16}), "total_max_node_count is taken for 0"),
    (tpu(16, nodeLocations=["us-central2-a", "us-central2-b"]), "must be in a single zone"),
]


@pytest.mark.parametrize(("inputs", "refusal"), NODE_POOLS)
def test_node_pools(inputs: dict[str, Any], refusal: str, google: Google) -> None:
    answer = google.ask("create", NODE_POOL, **_pool(inputs))
    if refusal:
        assert answer["error"].startswith("googleapi: Error 4") and refusal in answer["error"]
    else:
        assert answer["id"] == f"{CLUSTER_ID}/nodePools/{_pool(inputs)['name']}"


def _pool(inputs: dict[str, Any]) -> dict[str, Any]:
    defaults = {
        "name": "pool",
        "cluster": CLUSTER_ID,
        "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 3},
    }
    config = {"machineType": "n1-standard-8", **inputs.get("nodeConfig", {})}
    return {**defaults, **inputs, "nodeConfig": config}


OTHERS: list[tuple[str, dict[str, Any], str]] = [
    (CLUSTER, {"name": "c" * 41, "location": "us-central2-b"}, "Invalid value for field 'name'"),
    (
        CLUSTER,
        {"name": "c", "location": "us-central2-b", "resourceLabels": {"owner": "Ada Lovelace"}},
        "Invalid resource label owner=Ada Lovelace",
    ),
    (ACCOUNT, {"accountId": "short"}, "Invalid value for field 'accountId'"),
    (ACCOUNT, {"accountId": "long-enough", "displayName": "n" * 101}, "at most 100 characters"),
    (BUCKET, {"name": "my-google-bucket"}, "nothing like `google` in it"),
    (BUCKET, {"name": "fine", "labels": {"Owner": "x"}}, "Invalid resource label"),
    (
        REPOSITORY,
        {"repositoryId": "no_underscores", "location": "us-central2"},
        "for field 'repositoryId'",
    ),
    (SUBNETWORK, {"name": "s", "region": "us-central2", "network": "missing"}, "was not found"),
    (NETWORK, {"name": "sweep"}, "Error 409: Already exists"),
    ("gcp:vertex/aiTensorboard:AiTensorboard", {"displayName": "b", "region": "us-central2"}, "is disabled"),
    (BUCKET_MEMBER, {"bucket": "sweep-output-7654321", "role": "r", "member": "m"}, "Error 404: The specified bucket"),
    (
        ACCOUNT_MEMBER,
        {
            "serviceAccountId": "projects/acme/serviceAccounts/sweep-nodes@acme.iam.gserviceaccount.com",
            "role": "r",
            "member": "serviceAccount:other.svc.id.goog[sweep/jobs]",
        },
        "Identity Pool does not exist (other.svc.id.goog)",
    ),
    (
        ACCOUNT_MEMBER,
        {"serviceAccountId": "projects/acme/serviceAccounts/nobody", "role": "r", "member": "m"},
        "Unknown service account",
    ),
]


@pytest.mark.parametrize(("type", "inputs", "refusal"), OTHERS)
def test_other_resources(type: str, inputs: dict[str, Any], refusal: str, google: Google) -> None:
    assert refusal in google.ask("create", type, **inputs)["error"]


def test_a_pool_of_identities_comes_with_a_cluster(google: Google) -> None:
    account = google.ask("create", ACCOUNT, accountId="sweep-jobs")["id"]

    def grant(project: str) -> dict[str, Any]:
        member = f"serviceAccount:{project}.svc.id.goog[sweep/jobs]"
        return google.ask("create", ACCOUNT_MEMBER, serviceAccountId=account, role="r", member=member)

    assert "Identity Pool does not exist (other.svc.id.goog)" in grant("other")["error"]
    assert "error" not in grant("acme")


def test_what_is_in_use_is_not_deleted(google: Google) -> None:
    policy = google.ask("create", RESOURCE_POLICY, name="p", region="us-central2")["id"]
    google.pool(placementPolicy={"type": "", "policyName": "p"})
    for type, id in ((NETWORK, google.network), (RESOURCE_POLICY, policy)):
        assert "resourceInUseByAnotherResource" in google.ask("delete", type, id)["error"]
    assert google.ask("delete", CLUSTER, CLUSTER_ID) == {}
    assert [item.id for item in google.removed] == [f"{CLUSTER_ID}/nodePools/pool"]
    assert google.ask("delete", RESOURCE_POLICY, policy) == {}


def test_a_protected_cluster_is_not_deleted(google: Google) -> None:
    cluster = google.ask("create", CLUSTER, name="guarded", location="us-central2-b")["id"]
    assert "deletion_protection is set to true" in google.ask("delete", CLUSTER, cluster)["error"]


def test_a_pool_for_which_there_is_no_quota_is_not_made(google: Google) -> None:
    store = google.cloud.store
    endpoint = Endpoint("127.0.0.1:1", "authority")
    google.cloud = Cloud(
        store, google.folder / "dials.json", endpoint, google.removed.append, "", lambda pool: "no quota"
    )
    assert google.pool()["error"] == "googleapi: Error 403: no quota, forbidden"
    assert store.of(NODE_POOL) == []


def test_a_service_stays_enabled_when_its_owner_is_gone(google: Google) -> None:
    google.ask("delete", API, "acme/compute.googleapis.com")
    assert "error" not in google.ask("create", NETWORK, name="another")


def test_what_is_nobodys_belongs_to_whoever_takes_it_in(google: Google) -> None:
    service = "acme/iam.googleapis.com"

    def owner() -> str:
        (found,) = (item for item in google.cloud.store if item.id == service)
        return found.owner.rpartition("::")[2]

    def read(name: str, *, state: bool) -> None:
        urn = f"urn:pulumi:dev::experiments::{API}::{name}"
        request = {"operation": "read", "type": API, "urn": urn, "project": "acme", "id": service, "state": state}
        assert google.cloud.answer(request)["id"] == service

    google.ask("delete", API, service)
    assert owner() == ""
    read("known", state=True)
    assert owner() == ""
    read("imported", state=False)
    assert owner() == "imported"
    read("another", state=False)
    assert owner() == "imported"


def test_it_is_the_same_after_a_restart(google: Google) -> None:
    before = list(google.cloud.store)
    assert list(google.again().store) == before
    assert google.ask("read", NETWORK, google.network)["id"] == google.network


def test_every_rule_names_its_source_and_has_a_case(google: Google) -> None:
    assert all(rule.source for rule in RULES)
    cases = [*((NODE_POOL, _pool(inputs)) for inputs, _ in NODE_POOLS), *((type, inputs) for type, inputs, _ in OTHERS)]

    def has_case(rule: Rule) -> bool:
        given = [{"project": "acme", **inputs} for type, inputs in cases if type == rule.type]
        return any(list(rule.check(inputs, google.cloud.store)) for inputs in given)

    assert [rule.check.__name__ for rule in RULES if not has_case(rule)] == []


@pytest.mark.gcp
@pytest.mark.parametrize(
    ("type", "inputs", "failures"),
    [
        (NETWORK, {"autoCreateSubnetworks": False}, []),
        (NETWORK, {"autoCreateSubnetwork": False}, [("autoCreateSubnetwork", "is not expected here")]),
        (NETWORK, {"autoCreateSubnetworks": "no"}, [("autoCreateSubnetworks", "a boolean is required")]),
        (NODE_POOL, {}, [("cluster", "is required")]),
        (
            NODE_POOL,
            {"cluster": "c", "nodeConfig": {"guestAccelerators": [{"type": "t", "count": "1"}, {"typ": "t"}]}},
            [
                ("nodeConfig.guestAccelerators[0].count", "a number is required"),
                ("nodeConfig.guestAccelerators[1].typ", "is not expected here"),
                ("nodeConfig.guestAccelerators[1].count", "is required"),
                ("nodeConfig.guestAccelerators[1].type", "is required"),
            ],
        ),
        (NODE_POOL, {"cluster": "c", "nodeConfig": [{"spot": True}]}, [("nodeConfig", "expected an object")]),
        (NODE_POOL, {"cluster": "c", "nodeConfig": {"taints": {}}}, [("nodeConfig.taints", "expected a list")]),
        (
            NODE_POOL,
            {
                "cluster": "c",
                "nodeConfig": {"taints": ["spot"], "oauthScopes": [True], "spot": "true", "diskSizeGb": 1.5},
            },
            [
                ("nodeConfig.taints[0]", "expected an object"),
                ("nodeConfig.oauthScopes[0]", "a text is required"),
                ("nodeConfig.spot", "a boolean is required"),
                ("nodeConfig.diskSizeGb", "a number is required"),
            ],
        ),
        (
            NODE_POOL,
            {"cluster": "c", "nodeConfig": {"labels": {"kind": 1}, "taints": [{"key": "k", "value": "v"}]}},
            [
                ("nodeConfig.labels.kind", "a text is required"),
                ("nodeConfig.taints[0].effect", "'effect' is required"),
            ],
        ),
        (
            NODE_POOL,
            {
                "cluster": "c",
                "nodeConfig": {
                    "guestAccelerators": [
                        {"type": "t", "count": 1, "gpuDriverInstallationConfig": {"driverVersion": "LATEST"}}
                    ]
                },
                "placementPolicy": {"tpuTopology": "4x4"},
                "autoscaling": {"total_max_node_count": 1},
            },
            [
                ("nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.driverVersion", "is not expected here"),
                ("nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion", "is required"),
                ("placementPolicy.type", "is required"),
                ("autoscaling.total_max_node_count", "is not expected here"),
            ],
        ),
        (
            CLUSTER,
            {
                "addonsConfig": {"gcsFuseCsiDriverConfig": {}},
                "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlok": "10.0.0.0/8"}]},
                "workloadIdentityConfig": {"workloadPool": ["p"]},
            },
            [
                ("addonsConfig.gcsFuseCsiDriverConfig.enabled", "is required"),
                ("masterAuthorizedNetworksConfig.cidrBlocks[0].cidrBlok", "is not expected here"),
                ("masterAuthorizedNetworksConfig.cidrBlocks[0].cidrBlock", "is required"),
                ("workloadIdentityConfig.workloadPool", "a text is required"),
            ],
        ),
        (
            SUBNETWORK,
            {
                "network": "n",
                "ipCidrRange": "10.0.0.0/20",
                "secondaryIpRanges": [{"rangeName": "pods", "cidr": "x"}, 1],
            },
            [
                ("secondaryIpRanges[0].cidr", "is not expected here"),
                ("secondaryIpRanges[1]", "expected an object"),
            ],
        ),
        # What is not known yet is taken for what it should be.
        (NODE_POOL, {"cluster": UNKNOWN, "nodeConfig": {"serviceAccount": UNKNOWN, "taints": UNKNOWN}}, []),
        ("gcp:container/nodePools:NodePools", {}, [("", "there is no resource")]),
    ],
)
def test_inputs_are_those_of_pulumi_gcp(
    type: str, inputs: dict[str, Any], failures: list[tuple[str, str]], google: Google, google_sdks_here: None
) -> None:
    request = {"operation": "check", "type": type, "urn": "urn::x", "name": "x", "seed": "00", "inputs": inputs}
    found = google.cloud.answer(request)["failures"]
    assert [path for path, _ in found] == [path for path, _ in failures]
    assert all(words in reason for (_, words), (_, reason) in zip(failures, found, strict=True))


@pytest.mark.gcp
def test_names_are_generated_once(google: Google, google_sdks_here: None) -> None:
    def check(**more: Any) -> dict[str, Any]:
        request = {"operation": "check", "type": NETWORK, "urn": "u", "name": "net", "seed": "00", "inputs": {}, **more}
        return google.cloud.answer(request)["added"]

    assert check() == {"name": "net-6e340b9"}
    assert check(seed="01", old={"name": "net-6e340b9"}) == {"name": "net-6e340b9"}
    assert check(inputs={"name": "mine"}) == {}


def dialled(**dial: Any) -> dict[str, Any]:
    return {"type": NETWORK, "operation": "create", **dial}


@pytest.mark.parametrize(
    ("fault", "answer"),
    [
        ("429", "googleapi: Error 429: Quota exceeded"),
        ("503", "googleapi: Error 503: The service is currently unavailable, backendError"),
    ],
)
def test_a_dial_refuses_as_often_as_it_says(fault: str, answer: str, google: Google) -> None:
    google.cloud.dials.set(dialled(fault=fault, times=2))
    errors = [google.ask("create", NETWORK, name=f"net-{number}").get("error", "") for number in range(3)]
    assert [error.startswith(answer) for error in errors] == [True, True, False]


def test_a_lost_response_and_an_operation_that_fails_half_way_leave_what_they_made(google: Google) -> None:
    google.cloud.dials.set(dialled(fault="lost", name="thing", times=1), dialled(fault="half", times=2))
    with pytest.raises(LostResponse):
        google.ask("create", NETWORK, name="lost")
    assert google.ask("create", NETWORK, name="half")["reasons"] != []
    assert {"projects/acme/global/networks/lost", "projects/acme/global/networks/half"} <= {
        item.id for item in google.cloud.store
    }
