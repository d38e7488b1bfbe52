"""What jobs need beside themselves, as the programs of stacks on GKE declare it: shared files, services."""

from __future__ import annotations

import pytest

from tests.gcp_programs import Program
from tests.gke_stacks import CLUSTER, JOB

pytestmark = pytest.mark.gcp


@pytest.mark.parametrize(
    ("play", "network"),
    [
        ("files", {"network": "files-real", "connect-mode": "DIRECT_PEERING"}),
        (
            "files, subnetwork",
            {"network": "projects/host/global/networks/n", "connect-mode": "PRIVATE_SERVICE_ACCESS"},
        ),
        ("files, subnetwork of the project", {"network": "ours", "connect-mode": "DIRECT_PEERING"}),
        ("files, network by name", {"network": "ours", "connect-mode": "DIRECT_PEERING"}),
    ],
)
def test_files_that_several_nodes_write_are_in_the_clusters_network(
    played: dict[str, Program], play: str, network: dict[str, str]
) -> None:
    found = played[play]
    assert [problem for resource in found.resources for problem in resource.problems] == []
    classes = {each.name: each.inputs for each in found.of("kubernetes:storage.k8s.io/v1:StorageClass")}
    assert classes == {
        f"files-{tier}-rwx": {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": f"files-{tier}-rwx"},
            "provisioner": "filestore.csi.storage.gke.io",
            "parameters": {"tier": tier, **network},
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        }
        for tier in ("standard", "zonal")
    }
    claims = found.of("kubernetes:core/v1:PersistentVolumeClaim")
    assert {each.name: each.inputs["spec"]["storageClassName"] for each in claims} == {
        "files": "files-standard-rwx",
        "fast": "files-zonal-rwx",
        "disk": "premium-rwo",
    }
    assert found.get(CLUSTER, "files").inputs["addonsConfig"] == {
        "gcsFuseCsiDriverConfig": {"enabled": True},
        "gcpFilestoreCsiDriverConfig": {"enabled": True},
    }
    assert "file.googleapis.com" in {each.inputs["service"] for each in found.of("gcp:projects/service:Service")}


def test_a_teams_cluster_says_where_files_are_which_the_classes_of_others_name(played: dict[str, Program]) -> None:
    team, user = played["team-with-files"], played["files-of-team"]
    assert team.get(CLUSTER, "team-with-files").inputs["addonsConfig"]["gcpFilestoreCsiDriverConfig"] == {
        "enabled": True
    }
    assert "file.googleapis.com" in {each.inputs["service"] for each in team.of("gcp:projects/service:Service")}
    network = {"network": "team-with-files-real", "connect-mode": "DIRECT_PEERING"}
    assert team.outputs["cluster"]["filestoreNetwork"] == network
    [storage_class] = user.of("kubernetes:storage.k8s.io/v1:StorageClass")
    assert storage_class.inputs["parameters"] == {**network, "tier": "standard", "network": "shared-network"}
    [claim] = user.of("kubernetes:core/v1:PersistentVolumeClaim")
    assert claim.inputs["spec"]["storageClassName"] == storage_class.name == "files-of-team-standard-rwx"


def test_an_existing_clusters_class_of_files_is_used_as_it_is_called(played: dict[str, Program]) -> None:
    guest = played["files-there"]
    assert guest.of("kubernetes:storage.k8s.io/v1:StorageClass") == []
    [claim] = guest.of("kubernetes:core/v1:PersistentVolumeClaim")
    assert claim.inputs["spec"]["storageClassName"] == "standard-rwx"


def test_the_program_of_a_service_gets_its_digest_where_it_stands(played: dict[str, Program]) -> None:
    served = {each.inputs["metadata"]["labels"]["xmgen/job"]: each for each in played["served"].of(JOB)}
    [service] = served["ps"].inputs["spec"]["template"]["spec"]["initContainers"]
    [worker] = served["worker"].inputs["spec"]["template"]["spec"]["containers"]
    assert service["image"] == worker["image"]
    assert "@sha256:" in service["image"]
    rights = ("kubernetes:rbac.authorization.k8s.io/v1:Role", "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding")
    assert [[each.name for each in played["served"].of(kind)] for kind in rights] == [["services"], ["services"]]
