"""What a job becomes on Kubernetes, as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest
import yaml

from tests.builders import XID, python_container
from tests.on_gke import (
    SLICE,
    T4,
    TRAINER,
    cluster_only,
    container,
    experiment,
    job,
    kubernetes,
    manifest,
    manifests,
    names,
    pod,
)
from xmgen import planner
from xmgen.errors import InputError
from xmgen.experiment import (
    Accelerator,
    ClusterChoice,
    Container,
    Experiment,
    Kubernetes,
    Reference,
    ShellSafeArg,
    Volume,
)

TAG = planner.plan(experiment()).images[0].tag
ANNOTATIONS = {
    # The autoscaler does not take a node from under a training.
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    "gke-gcsfuse/volumes": "true",
    "gke-gcsfuse/cpu-request": "100m",
    "gke-gcsfuse/memory-request": "128Mi",
    "gke-gcsfuse/ephemeral-storage-request": "1Gi",
    "gke-gcsfuse/cpu-limit": "0",
    "gke-gcsfuse/memory-limit": "0",
    "gke-gcsfuse/ephemeral-storage-limit": "0",
}


def test_a_job_on_one_spot_gpu() -> None:
    spot = kubernetes(T4, cpu=1, ram=3 * 2**30, service_tier="freebie")
    expected = f"""
apiVersion: batch/v1
kind: Job
metadata:
  name: train-lr-0-1-7cf5bc63-HASH
  namespace: sweep
  labels:
    xmgen/experiment: a-sweep
    xmgen/unit: train-lr-0-1-7cf5bc63
    xmgen/job: train
  annotations:
    xmgen/resource: train-lr-0-1-7cf5bc63
    pulumi.com/skipAwait: 'true'
spec:
  backoffLimit: 0
  podFailurePolicy:
    rules:
    - action: Ignore
      onPodConditions: [{{type: DisruptionTarget, status: 'True'}}]
  template:
    metadata:
      labels:
        xmgen/experiment: a-sweep
        xmgen/unit: train-lr-0-1-7cf5bc63
        xmgen/job: train
      annotations: {json.dumps(ANNOTATIONS)}
    spec:
      restartPolicy: Never
      serviceAccountName: jobs
      automountServiceAccountToken: false
      securityContext: {{seccompProfile: {{type: RuntimeDefault}}}}
      nodeSelector:
        cloud.google.com/gke-accelerator: nvidia-tesla-t4
        cloud.google.com/gke-spot: 'true'
        kubernetes.io/arch: amd64
        xmgen/nodes: t4-1-spot-762bb4
      tolerations:
      - {{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}
      - {{key: cloud.google.com/gke-spot, operator: Equal, value: 'true', effect: NoSchedule}}
      containers:
      - name: train
        image: <xmgen:image:trainer:{TAG}>
        args: ['--lr=0.1']
        env:
        - {{name: XMGEN_OUTPUT_DIR, value: /xmgen/output}}
        - {{name: SEED, value: '1'}}
        securityContext: {{allowPrivilegeEscalation: false}}
        resources:
          requests: {{cpu: '1', memory: 3Gi, nvidia.com/gpu: '1'}}
          limits: {{memory: 3Gi, nvidia.com/gpu: '1'}}
        volumeMounts:
        - {{name: shared-memory, mountPath: /dev/shm}}
        - {{name: output, mountPath: /xmgen/output}}
      volumes:
      - name: shared-memory
        emptyDir: {{medium: Memory}}
      - name: output
        csi:
          driver: gcsfuse.csi.storage.gke.io
          volumeAttributes:
            bucketName: <xmgen:bucket:output>
            mountOptions: implicit-dirs,dir-mode=777,file-mode=777,only-dir=sweep/train-lr-0-1-7cf5bc63
"""
    found = manifest("--lr=0.1", executor=spot, env={"SEED": "1"})
    assert found == without_hashes(found, yaml.safe_load(expected))


def without_hashes(found: Any, expected: Any) -> Any:
    """The expected manifest with the hashes of the one found, which the tests of identity are about."""
    unit = found["metadata"]["labels"]["xmgen/unit"]
    text = json.dumps(expected).replace("train-lr-0-1-7cf5bc63-HASH", found["metadata"]["name"])
    return json.loads(text.replace("train-lr-0-1-7cf5bc63", unit))


def test_a_job_without_accelerator_runs_where_nothing_else_does() -> None:
    found = manifest(executor=kubernetes(cpu=2.5, ram=2**30, disk=20 * 2**30))
    assert pod(found)["nodeSelector"] == {"kubernetes.io/arch": "amd64", "xmgen/nodes": "cpu-aeb48a"}
    assert pod(found)["tolerations"] == [
        {"key": "xmgen/jobs", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
    ]
    assert container(found)["resources"] == {
        "requests": {"cpu": "2500m", "memory": "1Gi", "ephemeral-storage": "20Gi"},
        "limits": {"memory": "1Gi"},
    }


@pytest.mark.parametrize(
    ("executor", "expected"),
    [
        # Who does not say how much memory is needed may use what the node has.
        (kubernetes(), {"requests": {"cpu": "1", "memory": "2Gi"}}),
        (kubernetes(ram=1000), {"requests": {"cpu": "1", "memory": "1000"}, "limits": {"memory": "1000"}}),
        (
            kubernetes(Accelerator(type="a100", count=8)),
            {"requests": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"}},
        ),
        (
            kubernetes(SLICE, cpu=4),
            {"requests": {"cpu": "4", "memory": "8Gi", "google.com/tpu": "4"}, "limits": {"google.com/tpu": "4"}},
        ),
    ],
)
def test_requests_and_limits(executor: Any, expected: dict[str, Any]) -> None:
    assert container(manifest(executor=executor))["resources"] == expected


def test_replicas_are_the_pods_of_an_indexed_job() -> None:
    found = cast("dict[str, Any]", manifest(executor=kubernetes(T4, replicas=3)))
    assert {key: found["spec"][key] for key in ("completionMode", "completions", "parallelism", "backoffLimit")} == {
        "completionMode": "Indexed",
        "completions": 3,
        "parallelism": 3,
        "backoffLimit": 0,
    }
    assert pod(found)["subdomain"] == "experiments"
    assert found["spec"]["template"]["metadata"]["labels"]["service"] == "experiments"
    assert "affinity" not in pod(found)
    [name] = names([found])
    assert container(found)["env"] == [
        {"name": "XMGEN_OUTPUT_DIR", "value": "/xmgen/output"},
        {"name": "XMGEN_COORDINATOR_ADDRESS", "value": f"{name}-0.experiments"},
        {"name": "XMGEN_REPLICAS", "value": "3"},
    ]


def test_where_the_replicas_of_a_job_meet_may_be_the_users_own() -> None:
    found = manifest(executor=kubernetes(T4, replicas=2), env={"XMGEN_COORDINATOR_ADDRESS": "elsewhere"})
    values = {each["name"]: each["value"] for each in container(found)["env"]}
    assert values["XMGEN_COORDINATOR_ADDRESS"] == "elsewhere"


def test_the_hosts_of_a_tpu_slice_are_together_alone_and_know_each_other() -> None:
    found = cast("dict[str, Any]", manifest(executor=kubernetes(SLICE)))
    [name] = names([found])
    assert (found["spec"]["completionMode"], found["spec"]["completions"], found["spec"]["parallelism"]) == (
        "Indexed",
        4,
        4,
    )
    assert found["spec"]["template"]["metadata"]["labels"]["xmgen/slice"] == name
    pool = "cloud.google.com/gke-nodepool"
    assert pod(found)["affinity"] == {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"xmgen/slice": name}}, "topologyKey": pool}
            ]
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {
                        "matchExpressions": [
                            {"key": "xmgen/slice", "operator": "Exists"},
                            {"key": "xmgen/slice", "operator": "NotIn", "values": [name]},
                        ]
                    },
                    "namespaceSelector": {},
                    "topologyKey": pool,
                }
            ]
        },
    }
    assert container(found)["env"][1:] == [
        {
            "name": "TPU_WORKER_ID",
            "valueFrom": {
                "fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
            },
        },
        {
            "name": "TPU_WORKER_HOSTNAMES",
            "value": ",".join(f"{name}-{index}.experiments" for index in range(4)),
        },
    ]


def test_a_single_tpu_host_is_a_job_like_others() -> None:
    found = cast("dict[str, Any]", manifest(executor=kubernetes(Accelerator(type="tpu_v5e", topology="2x4"))))
    assert "completionMode" not in found["spec"]
    assert "affinity" not in pod(found)
    assert [variable["name"] for variable in container(found)["env"]] == ["XMGEN_OUTPUT_DIR"]


@pytest.mark.parametrize(("topology", "hosts"), [("4x4", 4), ("2x4", 1)])
def test_every_slice_is_a_job_and_they_meet_at_the_first(topology: str, hosts: int) -> None:
    slices = Accelerator(type="tpu_v5e", topology=topology, slices=2)
    first, second = manifests(experiment(job(executor=kubernetes(slices))))
    base = names([first])[0].removesuffix("-0")
    assert names([first, second]) == [f"{base}-0", f"{base}-1"]
    for index, found in enumerate(cast("list[dict[str, Any]]", [first, second])):
        assert found["spec"]["completions"] == hosts
        assert container(found)["env"][-3:] == [
            {"name": "MEGASCALE_NUM_SLICES", "value": "2"},
            {"name": "MEGASCALE_SLICE_ID", "value": str(index)},
            {"name": "MEGASCALE_COORDINATOR_ADDRESS", "value": f"{base}-0-0.experiments"},
        ]
        assert found["metadata"]["annotations"]["xmgen/resource"].endswith(f"-{index}")


def test_what_a_user_says_of_tpu_workers_holds() -> None:
    found = manifest(executor=kubernetes(SLICE), env={"TPU_WORKER_HOSTNAMES": "localhost"})
    values = [each.get("value") for each in container(found)["env"] if each["name"] == "TPU_WORKER_HOSTNAMES"]
    assert values == ["localhost"]


def test_jobs_of_a_group_find_each_other_by_xmanagers_names() -> None:
    address = f"{XID}-1-ps-0.experiments.default.svc.cluster.local:2222"
    worker = job(name="worker-0", env={"TF_CONFIG": json.dumps({"ps": [address]})})
    first, second = manifests(experiment((worker, job(name="ps-0"))))
    assert "hostname" not in pod(first)
    assert (pod(second)["hostname"], pod(second)["subdomain"]) == (f"{XID}-1-ps-0", "experiments")
    here = address.replace(".default.", ".sweep.")
    assert container(first)["env"][1] == {"name": "TF_CONFIG", "value": json.dumps({"ps": [here]})}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{XID}-1-a.experiments.default.svc:1", f"{XID}-1-a.experiments.sweep.svc:1"),
        (f"grpc://{XID}-1-my_job.experiments.default", f"grpc://{XID}-1-my-job.experiments.sweep"),
        (f"{XID}-1-a.experiments.other.svc", f"{XID}-1-a.experiments.other.svc"),
        (f"{XID}-1-a.experiments.defaults", f"{XID}-1-a.experiments.defaults"),
        (f"x{XID}-1-a.experiments.default", f"x{XID}-1-a.experiments.default"),
        ("redis.experiments.default.svc", "redis.experiments.default.svc"),
    ],
)
def test_xmanagers_namespace_becomes_the_stacks(text: str, expected: str) -> None:
    first, *_ = manifests(experiment((job(text), job(name="a"), job(name="my_job"))))
    assert container(first)["args"] == [expected]


def test_a_headless_service_is_there_when_it_is_needed_and_is_not_waited_for() -> None:
    assert planner.plan(experiment()).objects == ()
    assert planner.plan(experiment(job(executor=kubernetes(SLICE)))).objects == (
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "experiments",
                "namespace": "sweep",
                "annotations": {"pulumi.com/skipAwait": "true"},
            },
            "spec": {"clusterIP": "None", "selector": {"service": "experiments"}, "publishNotReadyAddresses": True},
        },
    )


def test_only_jobs_that_others_depend_on_are_waited_for() -> None:
    first, second = cast("list[dict[str, Any]]", manifests(experiment(job("a"), job("b"), after={1: [0]})))
    assert "pulumi.com/skipAwait" not in first["metadata"]["annotations"]
    assert second["metadata"]["annotations"] == {
        "xmgen/resource": second["metadata"]["labels"]["xmgen/unit"],
        "pulumi.com/skipAwait": "true",
        "xmgen/after": first["metadata"]["name"],
    }


def test_storage_priority_and_retries() -> None:
    executor = kubernetes(
        T4,
        on={
            "priority": 7,
            "retries": 2,
            "shared_memory": 2**30,
            "volumes": (
                Volume(path="/data", bucket="images/train", read_only=True),
                Volume(path="/cache", claim="cache", size=10, storage_class="fast", shared=True),
                Volume(path="/old", claim="old", read_only=True),
            ),
        },
    )
    made = experiment(job(executor=executor))
    [found] = cast("list[dict[str, Any]]", manifests(made))
    assert found["spec"]["backoffLimit"] == 2
    assert pod(found)["priorityClassName"] == "sweep-priority-7"
    assert pod(found)["volumes"] == [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        pod(found)["volumes"][1],
        {
            "name": "volume-0",
            "csi": {
                "driver": "gcsfuse.csi.storage.gke.io",
                "volumeAttributes": {
                    "bucketName": "images",
                    "mountOptions": "implicit-dirs,dir-mode=777,file-mode=777,only-dir=train",
                },
                "readOnly": True,
            },
        },
        {"name": "volume-1", "persistentVolumeClaim": {"claimName": "cache"}},
        {"name": "volume-2", "persistentVolumeClaim": {"claimName": "old", "readOnly": True}},
    ]
    assert container(found)["volumeMounts"][2:] == [
        {"name": "volume-0", "mountPath": "/data", "readOnly": True},
        {"name": "volume-1", "mountPath": "/cache"},
        {"name": "volume-2", "mountPath": "/old", "readOnly": True},
    ]
    assert planner.plan(made).objects == (
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "sweep-priority-7"},
            "value": 7,
            "description": "Jobs of the stack sweep",
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "cache", "namespace": "sweep", "annotations": {"pulumi.com/skipAwait": "true"}},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "10"}},
                "storageClassName": "fast",
            },
        },
    )


@pytest.mark.parametrize(
    ("storage_class", "tier"),
    [
        ("standard-rwx", "standard"),
        ("zonal-rwx", "zonal"),
        ("premium-rwx", "premium"),
        ("enterprise-rwx", "enterprise"),
    ],
)
def test_a_claim_of_filestore_has_a_class_of_the_stack_on_its_own_cluster(storage_class: str, tier: str) -> None:
    volume = Volume(path="/cache", claim="cache", size=10, storage_class=storage_class, shared=True)
    made = experiment(*(job(f"--n={number}", executor=kubernetes(on={"volumes": (volume,)})) for number in range(2)))
    existing = ClusterChoice(kind="existing", name="prod", location="us-central1-a")
    own_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": f"sweep-{storage_class}"},
        "provisioner": "filestore.csi.storage.gke.io",
        "parameters": {"tier": tier},
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }

    def claim(of_class: str) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "cache", "namespace": "sweep", "annotations": {"pulumi.com/skipAwait": "true"}},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "10"}},
                "storageClassName": of_class,
            },
        }

    assert planner.plan(made).objects == (own_class, claim(f"sweep-{storage_class}"))
    on_team = replace(made, cluster=ClusterChoice(kind="stack", name="team"))
    with_files = replace(cluster_only(), filestore=True)
    assert planner.plan(on_team, {"team": with_files}.__getitem__).objects == planner.plan(made).objects
    assert planner.plan(replace(made, cluster=existing)).objects == (claim(storage_class),)


@pytest.mark.parametrize(
    ("other", "hint"),
    [
        (cluster_only(), "`filestore: true` in clusters/team.cluster.yaml, or buckets instead of the claims"),
        (experiment(stack="team"), "a cluster of its own that has it, or buckets instead of the claims"),
    ],
    ids=["a cluster", "an experiment"],
)
def test_claims_that_nothing_would_serve_are_refused(other: Experiment, hint: str) -> None:
    files = Volume(path="/files", claim="files", size=10, storage_class="standard-rwx", shared=True)
    made = experiment(
        job(executor=kubernetes(on={"volumes": (files,)})), cluster=ClusterChoice(kind="stack", name="team")
    )
    with pytest.raises(InputError) as caught:
        planner.plan(made, {"team": other}.__getitem__)
    assert str(caught.value) == ("claims are on Filestore (files), whose driver the cluster of 'team' lacks\n  " + hint)


def test_secrets_come_from_a_secret_and_are_never_in_the_job() -> None:
    key, password = Reference(kind="secret", name="wandbKey"), Reference(kind="secret", name="db:password")
    made = experiment(
        job(f"--url=pg://{password.token}@db", env={"WANDB_API_KEY": key.token, "NOTE": "<xmgen:secret:other>"}),
        references=(key, password),
    )
    [found] = manifests(made)
    in_secret = {"name": "secrets", "key": container(found)["env"][1]["valueFrom"]["secretKeyRef"]["key"]}
    assert container(found)["env"] == [
        {"name": "XMGEN_OUTPUT_DIR", "value": "/xmgen/output"},
        {"name": "XMGEN_SECRET_db_password_1b712a0d", "valueFrom": {"secretKeyRef": in_secret}},
        {"name": "WANDB_API_KEY", "valueFrom": {"secretKeyRef": {"name": "secrets", "key": "wandbKey"}}},
        {"name": "NOTE", "value": "<xmgen:secret:other>"},
    ]
    assert container(found)["args"] == ["--url=pg://$(XMGEN_SECRET_db_password_1b712a0d)@db"]


def test_a_shell_expands_what_it_is_meant_to_and_nothing_else() -> None:
    found = container(manifest("--a=$HOME `b`", ShellSafeArg("$TMPDIR/x"), "c d"))
    assert found["command"] == [
        "/bin/sh",
        "-c",
        'exec python -m train "$${1}" $$TMPDIR/x "$${2}"',
        "sh",
        "--a=$$HOME `b`",
        "c d",
    ]
    assert "args" not in found


@pytest.mark.parametrize(
    "made",
    [
        experiment(job(executor=kubernetes(SLICE)), job(executor=kubernetes(T4))),
        experiment(replace(job(), cloud_sql="acme:us-central1:db")),
    ],
)
def test_no_container_gets_more_rights_than_it_starts_with(made: Experiment) -> None:
    for found in manifests(made):
        assert pod(found)["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
        for each in [*pod(found)["containers"], *pod(found).get("initContainers", [])]:
            assert each["securityContext"] == {"allowPrivilegeEscalation": False}


def test_a_prebuilt_image_passes_through() -> None:
    made = experiment(job(executable="redis"), executables=(TRAINER, Container(name="redis", image="redis@sha256:1")))
    [found] = manifests(made)
    assert container(found)["image"] == "redis@sha256:1"
    assert planner.plan(made).images == ()


def test_a_controller_may_start_jobs() -> None:
    controller = python_container("controller", path=".xmgen/sweep/controllers/controller")
    made = experiment(job(executable="controller"), job(), executables=(controller, TRAINER))
    first, second = manifests(made)
    # Only a controller needs a token for Kubernetes' API.
    assert [
        (pod(each)["serviceAccountName"], pod(each).get("automountServiceAccountToken")) for each in (first, second)
    ] == [
        ("controllers", None),
        ("jobs", False),
    ]
    objects = cast("list[dict[str, Any]]", planner.plan(made).objects)
    assert [(each["kind"], each["metadata"]["namespace"]) for each in objects] == [
        ("Role", "sweep"),
        ("RoleBinding", "sweep"),
        ("Role", "default"),
        ("RoleBinding", "default"),
    ]
    assert objects[3]["subjects"] == [{"kind": "ServiceAccount", "name": "controllers", "namespace": "sweep"}]
    assert objects[0]["rules"] == objects[2]["rules"]


@pytest.mark.parametrize(
    ("stack", "namespace"),
    [("sweep", "sweep"), ("default", "xmgen-default"), ("kube-system", "xmgen-kube-system"), ("gke-x", "xmgen-gke-x")],
)
def test_a_stack_never_takes_a_namespace_of_the_clusters_own(stack: str, namespace: str) -> None:
    [found] = cast("list[dict[str, Any]]", manifests(experiment(stack=stack)))
    assert found["metadata"]["namespace"] == namespace


SERVICE = kubernetes(on={"service": True})


def test_a_service_is_a_sidecar_of_what_waits_for_the_others_of_its_group() -> None:
    others = (job(name="worker"), job(name="eval", executor=kubernetes(cpu=1)))
    made = manifests(experiment((job(name="ps", executor=SERVICE), *others)))
    found = dict(zip(("ps", "worker", "eval"), made, strict=True))
    ended = [names([found[other]])[0] for other in ("worker", "eval")]
    service, alone = pod(found["ps"]), pod(manifest(name="ps", executor=kubernetes()))
    [program], [waiter] = service.pop("initContainers"), service.pop("containers")
    assert program == {**alone.pop("containers")[0], "restartPolicy": "Always"}
    python, option, _, *arguments = waiter.pop("command")
    assert (python, option, arguments) == ("python", "-c", ["sweep", *ended])
    assert waiter == {
        "name": "until-the-others-end",
        "image": "docker.io/library/python:3.12-slim-bookworm",
        "securityContext": {"allowPrivilegeEscalation": False},
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "volumeMounts": [{"name": "api", "mountPath": "/var/run/secrets/xmgen", "readOnly": True}],
    }
    *own, token = service.pop("volumes")
    output = alone.pop("volumes")
    assert [each["name"] for each in own] == [each["name"] for each in output]
    assert token == {
        "name": "api",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            ]
        },
    }
    assert service == alone
    assert service["automountServiceAccountToken"] is False


@pytest.mark.parametrize(("on", "machine"), [({}, "e2-standard-2"), ({"service": True}, "e2-highcpu-4")])
def test_a_machine_has_room_for_what_waits_beside_a_service(on: dict[str, bool], machine: str) -> None:
    served = job(name="ps", executor=kubernetes(on=on, cpu=1.32, ram=2**30))
    plan = planner.plan(experiment((job(name="worker", executor=kubernetes(T4)), served)))
    assert plan.cluster is not None
    assert machine in [pool.machine_type for pool in plan.cluster.pools]


def test_only_a_stack_with_services_lets_its_jobs_look_at_jobs() -> None:
    def kinds(executor: Kubernetes) -> list[str]:
        plan = planner.plan(experiment((job(name="worker"), job(name="ps", executor=executor))))
        return [str(each["kind"]) for each in plan.objects]

    assert kinds(kubernetes()) == []
    assert kinds(SERVICE) == ["Role", "RoleBinding"]
    plan = planner.plan(experiment((job(name="worker"), job(name="ps", executor=SERVICE))))
    assert plan.objects[0]["rules"] == [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}]


def test_changed_code_of_a_group_starts_its_service_again() -> None:
    def jobs(digest: str) -> list[str]:
        group = (job(name="worker"), job(name="db", executable="redis", executor=SERVICE))
        executables = (replace(TRAINER, digest=digest), Container(name="redis", image="redis:7"))
        return names(manifests(experiment(group, executables=executables)))

    assert all(before != after for before, after in zip(jobs("sha256:a"), jobs("sha256:b"), strict=True))
