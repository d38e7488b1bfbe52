"""Pods that belong together: replicas, slices of TPUs, jobs of a group; where they meet, and who ends with whom."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.builders import XID
from tests.on_gke import SLICE, T4, TRAINER, container, experiment, job, kubernetes, manifest, manifests, names, pod
from xmgen.experiment import Accelerator, Container, Kubernetes
from xmgen.plan import planner


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
