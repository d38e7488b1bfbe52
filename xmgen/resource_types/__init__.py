"""What is known of the types of resources that generated programs declare.

Here are their tokens, as Pulumi's programs, state and events name them. `table` has a row of facts for each, `effect`
says what a change of inputs does, `ids` under which id one is found.
"""

from __future__ import annotations

CODE = "xmgen:index:Code"
EXECUTABLE = "xmgen:local:Executable"
RUN = "xmgen:local:Run"
CUSTOM_JOB = "xmgen:vertex:CustomJob"
IMAGE = "docker-build:index:Image"

CLUSTER = "gcp:container/cluster:Cluster"
NODE_POOL = "gcp:container/nodePool:NodePool"
NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ROUTER = "gcp:compute/router:Router"
ROUTER_NAT = "gcp:compute/routerNat:RouterNat"
RESOURCE_POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
ACCOUNT = "gcp:serviceaccount/account:Account"
ACCOUNT_MEMBER = "gcp:serviceaccount/iAMMember:IAMMember"
PROJECT_MEMBER = "gcp:projects/iAMMember:IAMMember"
API = "gcp:projects/service:Service"
REPOSITORY = "gcp:artifactregistry/repository:Repository"
BUCKET = "gcp:storage/bucket:Bucket"
BUCKET_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"
TENSORBOARD = "gcp:vertex/aiTensorboard:AiTensorboard"

JOB = "kubernetes:batch/v1:Job"
NAMESPACE = "kubernetes:core/v1:Namespace"
SECRET = "kubernetes:core/v1:Secret"  # noqa: S105 (a type)
SERVICE_ACCOUNT = "kubernetes:core/v1:ServiceAccount"
PROVIDER = "pulumi:providers:kubernetes"
XMGEN_PROVIDER = "pulumi:providers:xmgen"

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
