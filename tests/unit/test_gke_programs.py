"""Generated programs of stacks on GKE: run under Pulumi's mocks, checked against pulumi_gcp's types, type-checked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests import gcp_programs, programs
from tests.builders import XID, python_container
from tests.gcp_programs import Play, Program
from tests.on_gke import SLICE, T4, TRAINER, cluster_only, experiment, job, kubernetes
from xmgen import planner, program
from xmgen.catalog import catalog
from xmgen.errors import InputError
from xmgen.experiment import (
    Accelerator,
    ClusterChoice,
    Container,
    Dockerfile,
    Experiment,
    JobRequirements,
    PoolRequest,
    Reference,
    ShellSafeArg,
    Volume,
)
from xmgen.surroundings import surroundings

pytestmark = pytest.mark.gcp

PROJECT = Reference(kind="config", name="gcp:project")
NICKNAME = Reference(kind="config", name="nickname")
BUCKET = Reference(kind="bucket", name="staging")
BOARD = Reference(kind="tensorboard", name="runs")
KEY = Reference(kind="secret", name="wandbKey")
OTHER_KEY = Reference(kind="secret", name="db:password")
TITLE = 'A "title" {{ 7 * 7 }} \\ \U0001f389'
TEAM_POOL = PoolRequest(requirements=JobRequirements(accelerator=T4))


def accelerators() -> list[Accelerator]:
    known = catalog()
    gpus = [Accelerator(type=gpu.id, count=gpu.counts[0]) for gpu in known.gpus.values()]
    tpus = [Accelerator(type=tpu.id, topology=tpu.documented[-1]) for tpu in known.tpus.values() if tpu.documented]
    return gpus + tpus


def everything() -> Experiment:
    """Every accelerator there is, however it is sold."""
    jobs = []
    for accelerator in accelerators():
        for tier, reservation in (("prod", None), ("freebie", None), ("reservation", "ours")):
            executor = kubernetes(accelerator, on={"reservation": reservation}, service_tier=tier)
            made = experiment(job(executor=executor))
            try:
                planner.plan(made)
            except InputError:  # not sold this way
                continue
            jobs.append(job(f"--{accelerator.type}-{tier}", executor=executor))
            break
    return experiment(*jobs, stack="everything")


NASTY = ["{{ 7 * 7 }}", "{% raw %}", "'''", '"""', "\\", "$(HOME)", "$$", "\r\n---\n", "- a: &b *b", "\U0001f389", "#"]

STACKS: dict[str, Experiment] = {
    "sweep": experiment(
        job("--lr=0.1", executor=kubernetes(T4, service_tier="freebie")),
        job("--lr=0.2", executor=kubernetes(T4, service_tier="freebie")),
        job("--evaluate", ShellSafeArg("$HOME"), executor=kubernetes(cpu=1)),
        title=TITLE,
        after={2: [0, 1]},
    ),
    "group": experiment(
        (
            job(f"--ps={XID}-1-ps.experiments.default.svc.cluster.local:2222", name="worker"),
            job(name="ps", executable="redis"),
        ),
        job(executor=kubernetes(SLICE), executable="own"),
        job("more", executor=kubernetes(replace(SLICE, slices=2)), executable="pushed"),
        job("newest", executor=kubernetes(Accelerator(type="tpu_v7x", topology="2x2x2")), executable="elsewhere"),
        stack="group",
        executables=(
            TRAINER,
            Container(name="redis", image="redis:7"),
            Dockerfile(name="own", path="own", dockerfile="own/Dockerfile", digest="sha256:own", exclude=("l.py",)),
            replace(TRAINER, name="pushed", push_image_tag=f"gcr.io/{PROJECT.token}/pushed:latest"),
            replace(TRAINER, name="elsewhere", push_image_tag="eu.gcr.io/other/elsewhere:v1"),
        ),
    ),
    "everything-else": experiment(
        job(
            f"--project={PROJECT.token}",
            f"--out=gs://{BUCKET.token}/x",
            f"--key={KEY.token}",
            "--odd=<xmgen:config:nothing>",
            "--image=<xmgen:image:trainer:1>",
            executor=kubernetes(
                on={
                    "priority": 5,
                    "volumes": (
                        Volume(path="/data", bucket="images/train", read_only=True),
                        Volume(path="/staging", bucket=BUCKET.token),
                        Volume(path="/cache", claim="cache", size=10),
                    ),
                }
            ),
            env={"BOARD": BOARD.token, "NICK": f"{NICKNAME.token}-{NICKNAME.token}", "P": OTHER_KEY.token},
        ),
        job(
            executable="controller",
            executor=kubernetes(Accelerator(type="gb200", count=4), on={"reservation": "r"}),
            env={"GOOGLE_CLOUD_BUCKET_NAME": "acme-staging"},
        ),
        stack="everything-else",
        executables=(
            TRAINER,
            python_container("controller", path=".xmgen/everything-else/controllers/controller"),
        ),
        references=(PROJECT, NICKNAME, BUCKET, BOARD, KEY, OTHER_KEY),
    ),
    "team": cluster_only(TEAM_POOL),
    "user-of-team": experiment(
        job(), job(executor=kubernetes(SLICE)), stack="user-of-team", cluster=ClusterChoice(kind="stack", name="team")
    ),
    "satisfied": experiment(stack="satisfied", cluster=ClusterChoice(kind="stack", name="team")),
    "guest": experiment(stack="guest", cluster=ClusterChoice(kind="existing", name="prod", location="us-central1-a")),
    "guest-anywhere": experiment(stack="guest-anywhere", cluster=ClusterChoice(kind="existing", name="prod")),
    "everything": everything(),
    "nasty": experiment(
        *(job(text, *NASTY, env={"A": text}, name=f"{text}x") for text in NASTY),
        title="".join(NASTY),
        stack="nasty",
        executables=(replace(TRAINER, path="code/{{ x }}'\"", exclude=("a'b\"\\",)),),
    ),
}
SUBNETWORK = {
    "experiments:network": "projects/host/global/networks/n",
    "experiments:subnetwork": "projects/host/regions/europe-west4/subnetworks/s",
    "experiments:podsRange": "p",
    "experiments:servicesRange": "s",
}
VARIANTS: dict[str, tuple[str, dict[str, str]]] = {
    "sweep, outputs deleted": ("sweep", {"experiments:deleteOutputs": "true"}),
    "sweep, subnetwork": ("sweep", SUBNETWORK),
    "sweep, region": ("sweep", {"experiments:location": "europe-west4"}),
    "sweep, system machine": ("sweep", {"experiments:systemMachineType": "n2d-standard-2"}),
    "sweep, networks": ("sweep", {"experiments:authorizedNetworks": "192.0.2.0/24, 198.51.100.7/32"}),
    "group, region": ("group", {"experiments:location": "europe-west4"}),
    "group, gcr": ("group", {"experiments:createGcrRepository": "true"}),
}
"""Runs of the same programs with other configuration."""
REFUSED = {
    name: experiment(stack="guest", cluster=ClusterChoice(kind="existing", name=name))
    for name in ("bare", "without-fuse")
}
CONFIG = {
    "experiments:nickname": "nick",
    "experiments:wandbKey": "hush",
    "db:password": "hush hush",
}


def written(folder: Path, stacks: dict[str, Experiment]) -> dict[str, Path]:
    for name, made in stacks.items():
        programs.write(folder / name, program.render(planner.plan(made, STACKS.__getitem__)))
    return {name: folder / name for name in stacks}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return written(tmp_path_factory.mktemp("stacks"), STACKS)


@pytest.fixture(scope="module")
def played(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    refused = written(tmp_path_factory.mktemp("refused"), REFUSED)
    plays = {name: Play(folder, CONFIG) for name, folder in {**folders, **refused}.items()}
    plays |= {variant: Play(folders[name], config) for variant, (name, config) in VARIANTS.items()}
    return gcp_programs.run(plays)


CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
JOB = "kubernetes:batch/v1:Job"
IMAGE = "docker-build:index:Image"
SA_MEMBER = "gcp:serviceaccount/iAMMember:IAMMember"


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
    said = surroundings(planner.plan(STACKS[name], STACKS.__getitem__))
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
    [provider] = played[name].of("pulumi:providers:kubernetes")
    expected = {"user-of-team": "shared-id", "satisfied": "shared-id", "guest": "existing-id"}
    expected["guest-anywhere"] = "existing-id"
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
        "storage.googleapis.com",
    }
    assert all(service.inputs["disableOnDestroy"] is False for service in services)


@pytest.mark.parametrize("name", STACKS)
def test_images_are_never_built_by_a_preview_nor_from_changed_code(played: dict[str, Program], name: str) -> None:
    for image in played[name].of(IMAGE):
        assert (image.inputs["push"], image.inputs["buildOnPreview"]) == (True, False)
        assert image.options["depends_on"] == [f"Code:{image.name}"]
        code = played[name].get("xmgen:index:Code", image.name)
        assert code.inputs["digest"].startswith("sha256:")


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


# What the programs declare


def test_no_text_becomes_code_or_another_text(played: dict[str, Program]) -> None:
    nasty = played["nasty"]
    assert nasty.outputs["title"] == "".join(NASTY)
    for text, found in zip(NASTY, nasty.of(JOB), strict=True):
        [container] = found.inputs["spec"]["template"]["spec"]["containers"]
        assert [arg.replace("$$", "$") for arg in container["args"]] == [text, *NASTY]
        assert container["env"][1] == {"name": "A", "value": text.replace("$", "$$")}
    code = nasty.get("xmgen:index:Code", "trainer")
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


def test_a_network_of_its_own_or_an_existing_one(played: dict[str, Program]) -> None:
    network = ("gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork", "gcp:compute/routerNat:RouterNat")
    assert all(len(played["sweep"].of(kind)) == 1 for kind in network)
    there = played["sweep, subnetwork"]
    assert not any(there.of(kind) for kind in network)
    cluster = there.get(CLUSTER, "sweep").inputs
    assert cluster["network"] == SUBNETWORK["experiments:network"]
    assert cluster["subnetwork"] == SUBNETWORK["experiments:subnetwork"]
    assert cluster["ipAllocationPolicy"] == {"clusterSecondaryRangeName": "p", "servicesSecondaryRangeName": "s"}


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
    [("bare", "has no Workload Identity"), ("without-fuse", "lacks the Cloud Storage FUSE driver")],
)
def test_an_existing_cluster_that_cannot_run_the_jobs_is_refused(
    played: dict[str, Program], name: str, lacks: str
) -> None:
    assert lacks in played[name].error
