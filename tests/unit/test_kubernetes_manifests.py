"""What a job becomes on Kubernetes, as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest
import yaml

from tests.builders import python_container
from tests.on_gke import SLICE, T4, TRAINER, container, experiment, job, kubernetes, manifest, manifests, pod
from xmgen.experiment import Accelerator, Container, Experiment, Reference, ShellSafeArg
from xmgen.plan import planner

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


def test_only_jobs_that_others_depend_on_are_waited_for() -> None:
    first, second = cast("list[dict[str, Any]]", manifests(experiment(job("a"), job("b"), after={1: [0]})))
    assert "pulumi.com/skipAwait" not in first["metadata"]["annotations"]
    assert second["metadata"]["annotations"] == {
        "xmgen/resource": second["metadata"]["labels"]["xmgen/unit"],
        "pulumi.com/skipAwait": "true",
        "xmgen/after": first["metadata"]["name"],
    }


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
