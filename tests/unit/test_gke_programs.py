"""Generated programs of stacks on GKE: run under Pulumi's mocks, checked against pulumi_gcp's types, type-checked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import gcp_programs, programs
from tests.gcp_programs import Program
from tests.gke_stacks import CLUSTER, IMAGE, JOB, POOL, SA_MEMBER, STACKS
from xmgen.plan import planner
from xmgen.program.surroundings import surroundings

pytestmark = pytest.mark.gcp


@pytest.mark.parametrize("name", STACKS)
def test_every_program_runs_with_inputs_that_pulumi_gcp_takes(played: dict[str, Program], name: str) -> None:
    assert played[name].error == ""
    assert [problem for resource in played[name].resources for problem in resource.problems] == []
    assert len(played[name].resources) > 5


def test_the_check_of_inputs_finds_what_is_wrong() -> None:
    inputs = {
        "cluster": "c",
        "nodeCount": "3",
        "nodeConfig": {
            "machineTyp": "n1-standard-1",
            "labels": {"a": 1},
            "guestAccelerators": [{"type": "nvidia-tesla-t4", "gpuDriverInstallationConfig": {"version": 1}}],
        },
        "autoscaling": [],
    }
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(gcp_programs.SDK), str(gcp_programs.ROOT)])}
    code = f"from tests.gcp_programs import *; print(*input_problems({POOL!r}, {inputs!r}), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == {
        "NodePool.nodeCount: '3' is no number",
        "NodePool.nodeConfig: there is no machineTyp",
        "NodePool.nodeConfig.labels.a: 1 is no str",
        "NodePool.nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig: there is no version",
        "NodePool.nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig: gpu_driver_version is missing",
        "NodePool.nodeConfig.guestAccelerators[0]: count is missing",
        "NodePool.autoscaling: [] is no NodePoolAutoscalingArgs",
    }


def test_every_program_type_checks(folders: dict[str, Path]) -> None:
    assert gcp_programs.type_problems(list(folders.values())) == []


def test_the_check_of_types_finds_what_is_wrong(tmp_path: Path) -> None:
    """Every SDK is known to pyright: a call that is wrong is one problem."""
    calls = {
        "gcp.py": "import pulumi_gcp as gcp\n\ngcp.container.Cluster('c', locatoin='x')\n",
        "nested.py": "import pulumi_gcp as gcp\n\ngcp.container.NodePool('c', cluster='x', autoscaling={'max': 1})\n",
        "kubernetes.py": "import pulumi_kubernetes as kubernetes\n\nkubernetes.batch.v1.Job('j', spek={})\n",
        "build.py": "import pulumi_docker_build as build\n\nbuild.Image('i', pus=True)\n",
        "code.py": "from xmgen.provider.code import Code\n\nCode('c', directory='x')\n",
    }
    programs.write(tmp_path / "wrong", calls)
    found = gcp_programs.type_problems([tmp_path / "wrong"])
    assert sorted({Path(problem.split(":")[0]).name for problem in found}) == sorted(calls)


# What a summary says


@pytest.mark.parametrize("name", STACKS)
def test_a_summary_names_every_account_its_roles_and_all_storage(played: dict[str, Program], name: str) -> None:
    program = played[name]
    roles: dict[str, set[str]] = {}
    for kind in ("gcp:projects/iAMMember:IAMMember", "gcp:storage/bucketIAMMember:BucketIAMMember"):
        for each in program.of(kind):
            account = each.inputs["member"].removeprefix("serviceAccount:").partition("@")[0]
            roles.setdefault(account, set()).add(each.inputs["role"])
    said = surroundings(planner.plan(STACKS[name], STACKS.__getitem__).declared)
    assert {each.name: set(each.rights) for each in said if each.rights} == roles
    types = {"bucket": "gcp:storage/bucket:Bucket", "TensorBoard": "gcp:vertex/aiTensorboard:AiTensorboard"}
    types |= {"network": "gcp:compute/network:Network", "namespace": "kubernetes:core/v1:Namespace"}
    for word, kind in types.items():
        assert [each.name for each in said if each.what.startswith(word)] == [each.name for each in program.of(kind)]


# Traps


@pytest.mark.parametrize("name", ["sweep", "group", "everything-else", "team", "everything"])
def test_a_cluster_can_be_destroyed_and_is_not_replaced(played: dict[str, Program], name: str) -> None:
    [cluster] = played[name].of(CLUSTER)
    assert cluster.inputs["deletionProtection"] is False
    assert (cluster.inputs["removeDefaultNodePool"], cluster.inputs["initialNodeCount"]) == (True, 1)
    # The pool that is dropped again has an account that exists wherever the default one is disabled. No later `up`
    # looks at it: what is read again of a cluster is of other pools, and would replace it.
    assert cluster.inputs["nodeConfig"] == {"serviceAccount": f"{name}-nodes@acme.iam.gserviceaccount.com"}
    assert cluster.options["ignore_changes"] == ["nodeConfig", "nodePools"]
    # The autoscaler, the release channel and the default pool would each fight these.
    assert not {"nodePools", "minMasterVersion", "nodeVersion"} & cluster.inputs.keys()
    assert cluster.inputs["releaseChannel"] == {"channel": "REGULAR"}
    assert cluster.inputs["privateClusterConfig"] == {"enablePrivateNodes": True, "enablePrivateEndpoint": False}
    assert cluster.inputs["workloadIdentityConfig"] == {"workloadPool": "acme.svc.id.goog"}
    assert cluster.inputs["addonsConfig"] == {"gcsFuseCsiDriverConfig": {"enabled": True}}


@pytest.mark.parametrize("name", STACKS)
def test_pools_are_the_autoscalers_and_never_the_default(played: dict[str, Program], name: str) -> None:
    for pool in played[name].of(POOL):
        assert not {"initialNodeCount", "version"} & pool.inputs.keys()
        config = pool.inputs["nodeConfig"]
        assert config["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
        assert config["serviceAccount"].endswith("@acme.iam.gserviceaccount.com")
        assert config["resourceLabels"]["owner"] == "ada"
        for gpu in config.get("guestAccelerators", []):
            assert gpu["gpuDriverInstallationConfig"]["gpuDriverVersion"] in ("DEFAULT", "LATEST")
        if pool.name == "system":
            assert pool.inputs["nodeCount"] == 1
            continue
        assert "nodeCount" not in pool.inputs
        assert pool.inputs["ignoreNodeCountChanges"] is True
        assert pool.inputs["name"] == pool.name
        assert pool.options["delete_before_replace"]
        low = pool.inputs["autoscaling"].get("minNodeCount", pool.inputs["autoscaling"].get("totalMinNodeCount"))
        assert low == 0


@pytest.mark.parametrize("name", STACKS)
def test_only_another_cluster_replaces_the_provider_which_comes_after_the_nodes(
    played: dict[str, Program], name: str
) -> None:
    # A stack that is nothing but a cluster puts nothing on it.
    providers = played[name].of("pulumi:providers:kubernetes")
    assert len(providers) == (1 if played[name].of(JOB) else 0)
    if not providers:
        return
    [provider] = providers
    expected = dict.fromkeys(("user-of-team", "satisfied", "files-of-team"), "shared-id")
    expected |= dict.fromkeys(("guest", "guest-anywhere", "files-there"), "existing-id")
    assert provider.inputs["clusterIdentifier"] == expected.get(name, f"{name}-id")
    pools = sorted(f"NodePool:{pool.name}" for pool in played[name].of(POOL))
    assert provider.options.get("depends_on", []) == pools
    kubeconfig = json.loads(provider.inputs["kubeconfig"])
    [user] = kubeconfig["users"]
    assert user["user"]["exec"]["command"] == "gke-gcloud-auth-plugin"
    assert not {"token", "password", "client-key-data"} & user["user"].keys()


@pytest.mark.parametrize("name", STACKS)
def test_everything_on_the_cluster_goes_through_the_provider(played: dict[str, Program], name: str) -> None:
    for resource in played[name].resources:
        if resource.type.startswith("kubernetes:"):
            assert resource.options["provider"] == name


@pytest.mark.parametrize("name", STACKS)
def test_jobs_are_replaced_by_deleting_first_and_stay_when_done(played: dict[str, Program], name: str) -> None:
    for each in played[name].of(JOB):
        assert each.options["delete_before_replace"]
        assert "ttlSecondsAfterFinished" not in each.inputs["spec"]
        metadata = each.inputs["metadata"]
        # A name that stays would collide with that of the Job being deleted; one that Pulumi makes has no hash of it.
        assert metadata["name"] != each.name
        assert metadata["annotations"]["xmgen/resource"] == each.name
        assert (
            f"ServiceAccount:{each.inputs['spec']['template']['spec']['serviceAccountName']}"
            in each.options["depends_on"]
        )


@pytest.mark.parametrize("name", STACKS)
def test_labels_on_everything_that_bills(played: dict[str, Program], name: str) -> None:
    for resource in played[name].resources:
        key = {CLUSTER: "resourceLabels", "gcp:storage/bucket:Bucket": "labels"}.get(resource.type)
        if resource.type == "gcp:artifactregistry/repository:Repository" and "retain_on_delete" not in resource.options:
            key = "labels"
        if key is not None:
            labels = resource.inputs[key]
            assert labels.keys() == {"experiment", "stack", "owner"}
            assert labels["stack"] == name


@pytest.mark.parametrize("name", STACKS)
def test_apis_stay_enabled(played: dict[str, Program], name: str) -> None:
    services = played[name].of("gcp:projects/service:Service")
    assert {service.inputs["service"] for service in services} >= {
        "container.googleapis.com",
        "compute.googleapis.com",
        "artifactregistry.googleapis.com",
        # Roles in a project are given through it.
        "cloudresourcemanager.googleapis.com",
        "iam.googleapis.com",
        # Pods act as an account of Google Cloud through it.
        "iamcredentials.googleapis.com",
        "storage.googleapis.com",
    }
    assert all(service.inputs["disableOnDestroy"] is False for service in services)


@pytest.mark.parametrize("name", STACKS)
def test_images_are_never_built_by_a_preview_nor_from_changed_code(played: dict[str, Program], name: str) -> None:
    for image in played[name].of(IMAGE):
        assert (image.inputs["push"], image.inputs["buildOnPreview"]) == (True, False)
        [guard] = image.options["depends_on"]
        code = played[name].get("xmgen:index:Code", guard.removeprefix("Code:"))
        images = planner.plan(STACKS[name], STACKS.__getitem__).images
        assert code.inputs["digest"] == {each.name: each.digest for each in images}[image.name]


@pytest.mark.parametrize("name", STACKS)
def test_code_is_compared_once_whatever_is_built_from_it(played: dict[str, Program], name: str) -> None:
    compared = [json.dumps(code.inputs, sort_keys=True) for code in played[name].of("xmgen:index:Code")]
    assert len(set(compared)) == len(compared)


def test_programs_read_no_configuration_but_what_the_project_declares(folders: dict[str, Path]) -> None:
    """A typed value without a default would block every stack of the project."""
    keys = {
        key
        for folder in folders.values()
        for file in folder.glob("*.py")
        for key in re.findall(r"\bconfig\.\w+\(\"(\w+)\"", file.read_text(encoding="utf-8"))
    }
    of_references = {"nickname", "wandbKey"}
    assert keys - of_references == gcp_programs.DECLARED.keys()
    assert all("default" in declared for declared in gcp_programs.DECLARED.values())


# What the documentation says

NEEDED: dict[str, list[str]] = {
    CLUSTER: ["container.admin", "iam.serviceAccountUser"],
    POOL: ["container.admin", "iam.serviceAccountUser"],
    "gcp:container/getCluster:getCluster": ["container.admin"],
    "gcp:compute/network:Network": ["compute.networkAdmin"],
    "gcp:compute/subnetwork:Subnetwork": ["compute.networkAdmin"],
    "gcp:compute/router:Router": ["compute.networkAdmin"],
    "gcp:compute/routerNat:RouterNat": ["compute.networkAdmin"],
    "gcp:compute/resourcePolicy:ResourcePolicy": ["compute.admin"],
    "gcp:serviceaccount/account:Account": ["iam.serviceAccountAdmin"],
    SA_MEMBER: ["iam.serviceAccountAdmin"],
    "gcp:projects/iAMMember:IAMMember": ["resourcemanager.projectIamAdmin"],
    "gcp:projects/service:Service": ["serviceusage.serviceUsageAdmin"],
    "gcp:artifactregistry/repository:Repository": ["artifactregistry.admin"],
    "gcp:artifactregistry/getRepository:getRepository": ["artifactregistry.admin"],
    IMAGE: ["artifactregistry.admin"],
    "gcp:storage/bucket:Bucket": ["storage.admin"],
    "gcp:storage/bucketIAMMember:BucketIAMMember": ["storage.admin"],
    "gcp:vertex/aiTensorboard:AiTensorboard": ["aiplatform.user"],
    "pulumi:pulumi:StackReference": [],
    "pulumi:providers:kubernetes": [],
    "xmgen:index:Code": [],
}
"""The roles without which a resource cannot be created, or a function not called."""


def test_the_documentation_lists_the_roles_that_up_needs(played: dict[str, Program]) -> None:
    declared = {each.type for program in played.values() for each in program.resources}
    declared |= {call["token"] for program in played.values() for call in program.calls}
    # A KeyError here is a new kind of resource: which role does it take?
    needed = {
        role for type in declared for role in (["container.admin"] if type.startswith("kubernetes:") else NEEDED[type])
    }
    text = (gcp_programs.ROOT / "docs" / "gke.md").read_text(encoding="utf-8")
    table = text.partition("## Roles")[2].partition("In a Shared VPC")[0]
    assert set(re.findall(r"`roles/([\w.]+)`", table)) == needed
