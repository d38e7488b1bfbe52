"""A whole Kubernetes cluster on this machine: a real control plane, whose nodes and pods kwok simulates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xmgen.executors.gke.jobs import UNIT_LABEL
from xmgen.executors.gke.slices import SLICE_LABEL
from xmgen.rehearsal import stages
from xmgen.rehearsal.controlplane import READY_SECONDS, Binaries, ControlPlane, find_programs
from xmgen.rehearsal.credentials import write_private
from xmgen.rehearsal.kubelet import Kubelet
from xmgen.rehearsal.servers import LOOPBACK
from xmgen.rehearsal.stages import OUTCOME, UNTOLD

API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"
PROGRAMS = ("etcd", API_SERVER, CONTROLLER_MANAGER, SCHEDULER, KWOK)

POD_ADDRESSES = "10.4.0.1/14"

_USERS = {CONTROLLER_MANAGER: f"system:{CONTROLLER_MANAGER}", SCHEDULER: f"system:{SCHEDULER}", KWOK: KWOK}

# Hundreds of jobs at once are usual here, and nobody else uses the API server.
_FAST = ("--kube-api-qps=500", "--kube-api-burst=1000")


class SimulatedCluster(ControlPlane):
    """A control plane with controllers and a scheduler, and kwok in the place of every node's kubelet.

    pod_seconds: how long the pods of Jobs run, unless they are told otherwise (see `director`).
    """

    def __init__(self, folder: Path, tools: Path, *, pod_seconds: float) -> None:
        """tools: the folder of the programs; they may also be on PATH. Raises OperationError when some are missing."""
        self._programs = find_programs(tools, PROGRAMS)
        super().__init__(folder, Binaries(self._programs["etcd"], self._programs[API_SERVER]))
        self._pod_seconds = pod_seconds
        self._kubelet: Kubelet | None = None

    def start(self) -> None:
        super().start()
        try:
            self._kubelet = Kubelet(self.credentials)
            self._kubelet.start(self.api())
            for name, arguments in self._others(self._kubelet.port).items():
                config = self.credentials.kubeconfig(_USERS[name], self.url)
                file = self.folder / f"{name}.kubeconfig"
                write_private(file, json.dumps(config).encode())
                self._start(name, [str(self._programs[name]), f"--kubeconfig={file}", *arguments])
            self._apply([*_GCS_FUSE, *_HOLD_SLICES])
            self._servers[KWOK].wait_until(self._admits_as_meant, READY_SECONDS)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        super().stop()
        if self._kubelet is not None:
            self._kubelet.stop()
            self._kubelet = None

    def hold_pods(self) -> None:
        """From now on, the pods of jobs run until they are told what becomes of them."""
        self._apply(_HOLD)

        def in_force() -> bool:
            pod = self._admitted({"labels": {UNIT_LABEL: "probe"}})
            return pod is not None and _is_held(pod)

        self._servers[API_SERVER].wait_until(in_force, READY_SECONDS)

    def release_pods(self) -> None:
        """Later ones run as pods usually do."""
        for each in _HOLD:
            self.api().request("DELETE", f"{_collection(each)}/{each['metadata']['name']}")

    def _apply(self, objects: list[dict[str, Any]]) -> None:
        """Create objects that a control plane which is started again may already have."""
        for each in objects:
            answer = self.api().request("POST", _collection(each), each)
            if not answer.ok and answer.status != 409:
                raise OSError(f"{each['metadata']['name']}: {answer.message}")

    def _admits_as_meant(self) -> bool:
        """Policies come into force a moment after they are made, and pods need a service account that is made, too."""
        pod = self._admitted({"annotations": {"gke-gcsfuse/volumes": "true"}, "labels": {SLICE_LABEL: "probe"}})
        return pod is not None and "initContainers" in pod["spec"] and _is_held(pod)

    def _admitted(self, metadata: dict[str, Any]) -> dict[str, Any] | None:
        """A pod as it would be created; None when it would not."""
        container = {"name": "probe", "image": "probe"}
        pod = {"metadata": {"name": "probe", **metadata}, "spec": {"containers": [container]}}
        answer = self.api().request("POST", "/api/v1/namespaces/default/pods", pod, dryRun="All")
        return answer.body if answer.ok else None

    def _others(self, kubelet_port: int) -> dict[str, list[str]]:
        file = self.folder / "stages.yaml"
        documents = [json.dumps(stage) for stage in stages.stages(self._pod_seconds, kubelet_port)]
        file.write_text("\n---\n".join(documents), encoding="utf-8")
        common = ["--secure-port=0", "--leader-elect=false", *_FAST]
        return {
            CONTROLLER_MANAGER: [
                *common,
                "--use-service-account-credentials=true",
                f"--service-account-private-key-file={self.credentials.service_accounts_key}",
                f"--root-ca-file={self.credentials.authority}",
                "--concurrent-job-syncs=20",
                # Nodes that the autoscaler takes away leave finished pods behind.
                "--terminated-pod-gc-threshold=0",
            ],
            SCHEDULER: common,
            KWOK: [
                "--manage-all-nodes=true",
                f"--config={file}",
                f"--cidr={POD_ADDRESSES}",
                f"--node-ip={LOOPBACK}",
                "--node-lease-duration-seconds=40",
            ],
        }


def _is_held(pod: dict[str, Any]) -> bool:
    return pod["metadata"].get("annotations", {}).get(OUTCOME) == UNTOLD


_COLLECTIONS = {
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
}


def _collection(policy: dict[str, Any]) -> str:
    return f"/apis/{policy['apiVersion']}/{_COLLECTIONS[policy['kind']]}"


def _mutation(name: str, condition: str, change: str) -> list[dict[str, Any]]:
    """An admission policy that changes pods when they are created, and what puts it into force."""
    version = "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": change}}
    return [
        {
            "apiVersion": version,
            "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "matchConditions": [{"name": "meant", "expression": condition}],
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "mutations": [mutation],
            },
        },
        {
            "apiVersion": version,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name},
        },
    ]


def _held(name: str, label: str) -> list[dict[str, Any]]:
    """Pods with a label run until they are told what becomes of them."""
    return _mutation(
        name,
        f"{json.dumps(label)} in object.metadata.?labels.orValue({{}})",
        f"Object{{metadata: Object.metadata{{annotations: {{{json.dumps(OUTCOME)}: {json.dumps(UNTOLD)}}}}}}}",
    )


_HOLD = _held("pods-are-told", UNIT_LABEL)
# The workers of a slice begin when all have come, and so none has ended before.
_HOLD_SLICES = _held("slices-are-told", SLICE_LABEL)

# GKE's webhook puts the sidecar of the Cloud Storage FUSE driver before a pod's containers; what it requests counts
# when the pod is scheduled. The defaults are those of the driver's documentation.
_REQUESTS = {
    "cpu": ("gke-gcsfuse/cpu-request", "250m"),
    "memory": ("gke-gcsfuse/memory-request", "256Mi"),
    "ephemeral-storage": ("gke-gcsfuse/ephemeral-storage-request", "5Gi"),
}
_ENTRIES = ", ".join(
    f'"{resource}": object.metadata.annotations[?"{annotation}"].orValue("{default}")'
    for resource, (annotation, default) in _REQUESTS.items()
)
_GCS_FUSE = _mutation(
    "gcs-fuse-sidecar",
    "object.metadata.?annotations[?'gke-gcsfuse/volumes'].orValue('') == 'true'",
    'Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "gke-gcsfuse-sidecar", '
    'image: "gke-gcsfuse-sidecar", restartPolicy: "Always", '
    f"resources: Object.spec.initContainers.resources{{requests: {{{_ENTRIES}}}}}}}]}}}}",
)
