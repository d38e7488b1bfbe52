"""What generated programs of stacks on GKE declare, whole objects where one decides about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.gcp_programs import Program
from tests.gke_stacks import CLUSTER, IMAGE, JOB, NASTY, POOL, SA_MEMBER, STACKS, SUBNETWORK, TITLE
from xmgen.plan import planner

pytestmark = pytest.mark.gcp


def test_no_text_becomes_code_or_another_text(played: dict[str, Program]) -> None:
    nasty = played["nasty"]
    assert nasty.outputs["title"] == "".join(NASTY)
    for text, found in zip(NASTY, nasty.of(JOB), strict=True):
        [container] = found.inputs["spec"]["template"]["spec"]["containers"]
        assert [arg.replace("$$", "$") for arg in container["args"]] == [text, *NASTY]
        assert container["env"][1] == {"name": "A", "value": text.replace("$", "$$")}
    code = nasty.get("xmgen:index:Code", "code-x")
    assert (code.inputs["directory"], code.inputs["exclude"]) == ("code/{{ x }}'\"", ["a'b\"\\"])


def test_titles_reach_outputs_and_labels(played: dict[str, Program]) -> None:
    assert played["sweep"].outputs["title"] == TITLE
    assert played["sweep"].get(CLUSTER, "sweep").inputs["resourceLabels"]["experiment"] == "a-title-7-7"


def test_jobs_are_the_manifests_with_digests_and_bucket(played: dict[str, Program], folders: dict[str, Path]) -> None:
    documents = list(yaml.safe_load_all((folders["sweep"] / "manifests" / "jobs.yaml").read_text()))
    jobs = {each.inputs["metadata"]["name"]: each for each in played["sweep"].of(JOB)}
    assert list(jobs) == [document["metadata"]["name"] for document in documents] == played["sweep"].outputs["jobs"]
    [image] = played["sweep"].of(IMAGE)
    tag = planner.plan(STACKS["sweep"]).images[0].tag
    reference = f"europe-west4-docker.pkg.dev/acme/sweep/trainer:{tag}"
    assert image.inputs["tags"] == [reference]
    assert image.inputs["platforms"] == ["linux/amd64"]
    for document in documents:
        pod = document["spec"]["template"]["spec"]
        pod["containers"][0]["image"] = f"{reference}@sha256:{'0' * 64}"
        pod["volumes"][1]["csi"]["volumeAttributes"]["bucketName"] = "sweep-output-1234"
        found = jobs[document["metadata"]["name"]].inputs
        assert (found["metadata"], found["spec"]) == (document["metadata"], document["spec"])


def test_a_job_is_created_after_those_it_waits_for(played: dict[str, Program]) -> None:
    first, second, last = played["sweep"].of(JOB)
    assert last.options == {
        "depends_on": [f"Job:{first.name}", f"Job:{second.name}", "ServiceAccount:jobs"],
        "provider": "sweep",
        "delete_before_replace": True,
        "create_timeout": "168h",
    }
    assert "pulumi.com/skipAwait" not in first.inputs["metadata"]["annotations"]
    assert last.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"


def test_jobs_act_as_an_account_without_keys_that_may_write_their_output(played: dict[str, Program]) -> None:
    account = played["sweep"].get("gcp:serviceaccount/account:Account", "jobs")
    assert account.inputs["accountId"] == "sweep-jobs"
    [member] = played["sweep"].of(SA_MEMBER)
    assert member.inputs == {
        "serviceAccountId": "accounts/sweep-jobs@acme.iam.gserviceaccount.com",
        "role": "roles/iam.workloadIdentityUser",
        "member": "serviceAccount:acme.svc.id.goog[sweep/jobs]",
    }
    right = played["sweep"].get("gcp:storage/bucketIAMMember:BucketIAMMember", "output")
    assert right.inputs == {
        "bucket": "sweep-output-1234",
        "role": "roles/storage.objectUser",
        "member": "serviceAccount:sweep-jobs@acme.iam.gserviceaccount.com",
    }


def test_nodes_have_the_roles_they_need_and_no_more(played: dict[str, Program]) -> None:
    roles = [each.inputs["role"] for each in played["sweep"].of("gcp:projects/iAMMember:IAMMember")]
    assert roles == ["roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader"]


@pytest.mark.parametrize(("play", "kept"), [("sweep", True), ("sweep, outputs deleted", False)])
def test_outputs_survive_unless_the_user_says_otherwise(played: dict[str, Program], play: str, kept: bool) -> None:
    bucket = played[play].get("gcp:storage/bucket:Bucket", "sweep-output")
    assert bucket.options.get("retain_on_delete", False) is kept
    assert bucket.inputs["forceDestroy"] is not kept


def test_the_network_of_a_stack_has_a_way_out_but_no_way_in(played: dict[str, Program]) -> None:
    found = {
        each.type.rpartition(":")[2]: each.inputs for each in played["sweep"].resources if ":compute/" in each.type
    }
    assert found == {
        "Network": {"autoCreateSubnetworks": False},
        "Subnetwork": {
            "network": "sweep-id",
            "region": "europe-west4",
            "ipCidrRange": "10.0.0.0/20",
            "secondaryIpRanges": [
                {"rangeName": "pods", "ipCidrRange": "10.4.0.0/14"},
                {"rangeName": "services", "ipCidrRange": "10.0.16.0/20"},
            ],
            "privateIpGoogleAccess": True,
        },
        "Router": {"network": "sweep-id", "region": "europe-west4"},
        "RouterNat": {
            "router": "sweep-real",
            "region": "europe-west4",
            "natIpAllocateOption": "AUTO_ONLY",
            "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
            "subnetworks": [{"name": "sweep-id", "sourceIpRangesToNats": ["ALL_IP_RANGES"]}],
        },
    }


def test_what_nodes_of_a_stack_are(played: dict[str, Program]) -> None:
    every = {
        "serviceAccount": "sweep-nodes@acme.iam.gserviceaccount.com",
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "resourceLabels": {"experiment": "a-title-7-7", "stack": "sweep", "owner": "ada"},
    }
    of_jobs = {"diskType": "pd-balanced", "diskSizeGb": 100}
    pools = {each.inputs["nodeConfig"]["machineType"]: each.inputs for each in played["sweep"].of(POOL)[1:]}
    assert played["sweep"].get(POOL, "system").inputs == {
        "cluster": "sweep-id",
        "nodeCount": 1,
        "nodeConfig": {**every, "machineType": "e2-standard-2"},
    }
    assert {machine: inputs["nodeConfig"] for machine, inputs in pools.items()} == {
        "n1-standard-2": {
            **every,
            **of_jobs,
            "machineType": "n1-standard-2",
            "labels": {"xmgen/nodes": pools["n1-standard-2"]["nodeConfig"]["labels"]["xmgen/nodes"]},
            "spot": True,
            "taints": [{"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}],
            "guestAccelerators": [
                {
                    "type": "nvidia-tesla-t4",
                    "count": 1,
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
                }
            ],
            # The drivers of GPUs are not signed.
            "shieldedInstanceConfig": {"enableSecureBoot": False, "enableIntegrityMonitoring": True},
        },
        "e2-standard-2": {
            **every,
            **of_jobs,
            "machineType": "e2-standard-2",
            "labels": {"xmgen/nodes": pools["e2-standard-2"]["nodeConfig"]["labels"]["xmgen/nodes"]},
            "taints": [{"key": "xmgen/jobs", "value": "true", "effect": "NO_SCHEDULE"}],
        },
    }


def test_a_network_of_its_own_or_an_existing_one(played: dict[str, Program]) -> None:
    network = ("gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork", "gcp:compute/routerNat:RouterNat")
    assert all(len(played["sweep"].of(kind)) == 1 for kind in network)
    there = played["sweep, subnetwork"]
    assert not any(there.of(kind) for kind in network)
    cluster = there.get(CLUSTER, "sweep").inputs
    assert cluster["network"] == SUBNETWORK["experiments:network"]
    assert cluster["subnetwork"] == SUBNETWORK["experiments:subnetwork"]
    assert cluster["ipAllocationPolicy"] == {"clusterSecondaryRangeName": "p", "servicesSecondaryRangeName": "s"}


def test_a_stack_without_such_files_has_nothing_of_theirs(played: dict[str, Program]) -> None:
    # It has a claim, of a disk.
    found = played["everything-else"]
    assert found.of("kubernetes:storage.k8s.io/v1:StorageClass") == []
    assert "file.googleapis.com" not in {each.inputs["service"] for each in found.of("gcp:projects/service:Service")}


def test_the_control_plane_is_open_unless_networks_are_listed(played: dict[str, Program]) -> None:
    key = "masterAuthorizedNetworksConfig"
    assert key not in played["sweep"].get(CLUSTER, "sweep").inputs
    listed = played["sweep, networks"]
    assert [problem for resource in listed.resources for problem in resource.problems] == []
    assert listed.get(CLUSTER, "sweep").inputs[key] == {
        "cidrBlocks": [{"cidrBlock": "192.0.2.0/24"}, {"cidrBlock": "198.51.100.7/32"}]
    }


def test_a_slice_needs_a_zone(played: dict[str, Program]) -> None:
    wrong = "the TPUs of this stack need a zone, but the cluster is in the region europe-west4"
    assert played["group, region"].error == wrong
    assert played["sweep, region"].error == ""
    assert played["sweep, region"].get(CLUSTER, "sweep").inputs["location"] == "europe-west4"


def test_another_system_machine_where_the_usual_one_does_not_exist(played: dict[str, Program]) -> None:
    system = played["sweep, system machine"].get(POOL, "system")
    assert system.inputs["nodeConfig"]["machineType"] == "n2d-standard-2"


def test_newest_tpus_are_kept_together_by_a_policy_of_their_own(played: dict[str, Program]) -> None:
    [policy] = played["group"].of("gcp:compute/resourcePolicy:ResourcePolicy")
    [pool] = [each for each in played["group"].of(POOL) if each.name == policy.name]
    assert policy.inputs["workloadPolicy"] == {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}
    # As Google reads it back: anything else would replace the pool (vllm-project/ci-infra#547).
    assert pool.inputs["placementPolicy"] == {"type": "", "policyName": f"{policy.name}-real", "tpuTopology": "2x2x2"}


@pytest.mark.parametrize("name", STACKS)
def test_what_google_changes_on_hosts_of_tpus_replaces_no_pool(played: dict[str, Program], name: str) -> None:
    """GoogleCloudPlatform/cloud-foundation-fabric#3972: `threads_per_core` is 1 there, whatever one asks for."""
    for pool in played[name].of(POOL):
        tpu = pool.inputs["nodeConfig"]["machineType"].startswith(("ct", "tpu"))
        assert pool.options.get("ignore_changes", []) == (["nodeConfig.advancedMachineFeatures"] if tpu else [])


def test_images_go_where_the_experiment_says(played: dict[str, Program]) -> None:
    group = played["group"]
    tags = {each.name: each.inputs["tags"] for each in group.of(IMAGE)}
    hashes = {each.name: each.tag for each in planner.plan(STACKS["group"]).images}
    assert tags == {
        "trainer": [f"europe-west4-docker.pkg.dev/acme/group/trainer:{hashes['trainer']}"],
        "own": [f"europe-west4-docker.pkg.dev/acme/group/own:{hashes['own']}"],
        "pushed": [f"gcr.io/acme/pushed:{hashes['pushed']}", "gcr.io/acme/pushed:latest"],
        "elsewhere": [f"eu.gcr.io/other/elsewhere:{hashes['elsewhere']}", "eu.gcr.io/other/elsewhere:v1"],
    }
    own = group.get(IMAGE, "own").inputs
    assert (own["context"]["location"], own["dockerfile"]["location"]) == ("../own", "../own/Dockerfile")
    generated = group.get(IMAGE, "trainer").inputs
    assert generated["dockerfile"]["location"] == "group/images/trainer/Dockerfile"


def test_gcr_is_looked_up_and_never_owned(played: dict[str, Program]) -> None:
    lookups = [call["args"] for call in played["group"].calls]
    assert lookups == [
        {"location": "us", "project": "acme", "repositoryId": "gcr.io"},
        {"location": "europe", "project": "other", "repositoryId": "eu.gcr.io"},
    ]
    repository = "gcp:artifactregistry/repository:Repository"
    assert [each.name for each in played["group"].of(repository)] == ["group"]
    made = played["group, gcr"]
    assert made.calls == []
    assert {each.name: each.options.get("retain_on_delete", False) for each in made.of(repository)} == {
        "group": False,
        "gcr.io": True,
        "other-eu.gcr.io": True,
    }


def test_references_become_what_they_stand_for(played: dict[str, Program]) -> None:
    found = played["everything-else"]
    first = found.of(JOB)[0].inputs["spec"]["template"]["spec"]
    [container] = first["containers"]
    assert container["args"] == [
        "--project=acme",
        "--out=gs://everything-else-output-1234/x",
        "--key=$(XMGEN_SECRET_wandbKey)",
        # Not listed as references, so the user's own texts.
        "--odd=<xmgen:config:nothing>",
        "--image=<xmgen:image:trainer:1>",
    ]
    values = {each["name"]: each.get("value") for each in container["env"]}
    assert values["BOARD"] == "projects/1/locations/europe-west4/tensorboards/runs"
    assert values["NICK"] == "nick-nick"
    assert [each["csi"]["volumeAttributes"]["bucketName"] for each in first["volumes"] if "csi" in each] == [
        "everything-else-output-1234",
        "images",
        "everything-else-output-1234",
    ]


def test_secrets_are_in_a_secret_of_the_namespace(played: dict[str, Program]) -> None:
    found = played["everything-else"]
    secret = found.get("kubernetes:core/v1:Secret", "secrets")
    assert sorted(secret.inputs["stringData"].values()) == ["hush", "hush hush"]
    assert "hush" not in json.dumps([each.inputs for each in found.of(JOB)])
    assert all("Secret:secrets" in each.options["depends_on"] for each in found.of(JOB))
    env = found.of(JOB)[0].inputs["spec"]["template"]["spec"]["containers"][0]["env"]
    keys = {each["valueFrom"]["secretKeyRef"]["key"] for each in env if "valueFrom" in each}
    assert keys == secret.inputs["stringData"].keys()


def test_mounted_buckets_can_be_used_as_far_as_they_are(played: dict[str, Program]) -> None:
    rights = played["everything-else"].of("gcp:storage/bucketIAMMember:BucketIAMMember")
    assert {each.name: (each.inputs["bucket"], each.inputs["role"]) for each in rights} == {
        "output": ("everything-else-output-1234", "roles/storage.objectUser"),
        # That the stack's own bucket is mounted as well gives no second right, which would take this one with it.
        "bucket-images": ("images", "roles/storage.objectViewer"),
        "controllers-output": ("everything-else-output-1234", "roles/storage.objectUser"),
        "controllers-bucket-acme-staging": ("acme-staging", "roles/storage.objectUser"),
    }
    assert {each.name: each.inputs["member"].partition("@")[0] for each in rights} == {
        "output": "serviceAccount:everything-else-jobs",
        "bucket-images": "serviceAccount:everything-else-jobs",
        "controllers-output": "serviceAccount:everything-else-controllers",
        "controllers-bucket-acme-staging": "serviceAccount:everything-else-controllers",
    }


def test_only_a_controllers_account_may_do_what_starting_jobs_takes(played: dict[str, Program]) -> None:
    found = played["everything-else"]
    roles = [
        (each.inputs["role"], each.inputs["member"].partition("@")[0])
        for each in found.of("gcp:projects/iAMMember:IAMMember")
        if "nodes" not in each.inputs["member"]
    ]
    assert roles == [
        ("roles/aiplatform.user", "serviceAccount:everything-else-jobs"),
        ("roles/aiplatform.user", "serviceAccount:everything-else-controllers"),
        ("roles/cloudbuild.builds.editor", "serviceAccount:everything-else-controllers"),
        ("roles/cloudsql.client", "serviceAccount:everything-else-controllers"),
    ]
    accounts = {
        each.name: each.inputs["metadata"]["annotations"]["iam.gke.io/gcp-service-account"].partition("@")[0]
        for each in found.of("kubernetes:core/v1:ServiceAccount")
    }
    assert accounts == {"jobs": "everything-else-jobs", "controllers": "everything-else-controllers"}
    # Which of the namespace's accounts may act as which.
    assert {
        each.inputs["serviceAccountId"].partition("@")[0]: each.inputs["member"] for each in found.of(SA_MEMBER)
    } == {
        "accounts/everything-else-jobs": "serviceAccount:acme.svc.id.goog[everything-else/jobs]",
        "accounts/everything-else-controllers": "serviceAccount:acme.svc.id.goog[everything-else/controllers]",
    }
    assert "cloudbuild.googleapis.com" in {each.inputs["service"] for each in found.of("gcp:projects/service:Service")}
    assert not played["sweep"].of("gcp:projects/iAMMember:IAMMember")[2:]


def test_what_jobs_need_beside_themselves_comes_first(played: dict[str, Program]) -> None:
    found = played["everything-else"]
    kinds = [each.type for each in found.resources if each.name in ("sweep-priority-5", "cache")]
    assert "kubernetes:core/v1:PersistentVolumeClaim" in kinds
    for each in found.of(JOB):
        assert {"PersistentVolumeClaim:cache", "Role:everything-else-controllers", "ServiceAccount:controllers"} < set(
            each.options["depends_on"]
        )


def test_images_are_built_for_the_machines_that_run_them(played: dict[str, Program]) -> None:
    platforms = {each.name: each.inputs["platforms"] for each in played["everything-else"].of(IMAGE)}
    assert platforms == {"trainer": ["linux/amd64"], "controller": ["linux/arm64"]}


# Shared clusters


def test_a_cluster_only_stack_says_what_others_need_to_know(played: dict[str, Program]) -> None:
    team = played["team"]
    assert team.of(JOB) == []
    assert team.outputs["cluster"] == {
        "id": "team-id",
        "name": "team-real",
        "location": "europe-west4-a",
        "region": "europe-west4",
        "endpoint": "192.0.2.1",
        "caCertificate": "certificate",
        "nodesEmail": "team-nodes@acme.iam.gserviceaccount.com",
    }


def test_a_stack_on_anothers_cluster_adds_only_what_it_lacks(played: dict[str, Program]) -> None:
    user = played["user-of-team"]
    assert user.of(CLUSTER) == []
    [pool] = user.of(POOL)
    assert pool.inputs["cluster"] == "shared-id"
    assert pool.inputs["nodeConfig"]["serviceAccount"] == "nodes@acme.iam.gserviceaccount.com"
    [reference] = user.of("pulumi:pulumi:StackReference")
    assert reference.name.endswith("/experiments/team")
    assert played["satisfied"].of(POOL) == []
    assert len(played["satisfied"].of(JOB)) == 1


def test_a_stack_on_an_existing_cluster_brings_its_nodes_with_an_account_of_their_own(
    played: dict[str, Program],
) -> None:
    guest = played["guest"]
    [lookup] = guest.calls
    assert (lookup["args"]["name"], lookup["args"]["location"]) == ("prod", "us-central1-a")
    assert played["guest-anywhere"].calls[0]["args"]["location"] == "europe-west4-a"
    [pool] = guest.of(POOL)
    assert pool.inputs["cluster"] == "existing-id"
    assert pool.options["depends_on"] == [
        "IAMMember:artifactregistry.reader",
        "IAMMember:container.defaultNodeServiceAccount",
    ]


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("bare", "has no Workload Identity"),
        ("without-fuse", "lacks the Cloud Storage FUSE driver"),
        ("without-filestore", "lacks the driver of Filestore"),
    ],
)
def test_an_existing_cluster_that_cannot_run_the_jobs_is_refused(
    played: dict[str, Program], name: str, lacks: str
) -> None:
    assert lacks in played[name].error
