"""The type tokens of the resources that generated programs declare, as Pulumi's state and events name them."""

from __future__ import annotations

CODE = "xmgen:index:Code"
EXECUTABLE = "xmgen:local:Executable"
RUN = "xmgen:local:Run"
CUSTOM_JOB = "xmgen:vertex:CustomJob"
JOB = "kubernetes:batch/v1:Job"
SECRET = "kubernetes:core/v1:Secret"  # noqa: S105 (a type)
IMAGE = "docker-build:index:Image"
CLUSTER = "gcp:container/cluster:Cluster"
NODE_POOL = "gcp:container/nodePool:NodePool"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"

WORK_UNITS = {"local": RUN, "kubernetes": JOB, "vertex": CUSTOM_JOB}
"""What work units become, by executor."""

OBJECTS = {
    "PersistentVolumeClaim": "kubernetes:core/v1:PersistentVolumeClaim",
    "PriorityClass": "kubernetes:scheduling.k8s.io/v1:PriorityClass",
    "Role": "kubernetes:rbac.authorization.k8s.io/v1:Role",
    "RoleBinding": "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
    "Service": "kubernetes:core/v1:Service",
    "StorageClass": "kubernetes:storage.k8s.io/v1:StorageClass",
}
"""Of the objects beside the Jobs in a stack's manifests, by kind."""


def kubernetes_class(type: str) -> str:
    """The class in pulumi_kubernetes of a Kubernetes type: `rbac.v1.Role`."""
    _, version, kind = type.split(":")
    group, number = version.split("/")
    return f"{group.split('.')[0]}.{number}.{kind}"
