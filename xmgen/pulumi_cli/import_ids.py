"""How what a create would have made can be looked for: the id by which a provider imports it, from type and inputs.

Source of Google's: section "Import" of each resource in the registry of pulumi-gcp 10
(https://www.pulumi.com/registry/packages/gcp/api-docs/). Of Kubernetes': "Import" of pulumi-kubernetes 4: the namespace
and the name, and the name alone of what lies in no namespace.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_GOOGLE: dict[str, str] = {
    "gcp:projects/service:Service": "{project}/{service}",
    "gcp:compute/network:Network": "projects/{project}/global/networks/{name}",
    "gcp:compute/subnetwork:Subnetwork": "projects/{project}/regions/{region}/subnetworks/{name}",
    "gcp:compute/router:Router": "projects/{project}/regions/{region}/routers/{name}",
    "gcp:compute/routerNat:RouterNat": "projects/{project}/regions/{region}/routers/{router}/{name}",
    "gcp:compute/resourcePolicy:ResourcePolicy": "projects/{project}/regions/{region}/resourcePolicies/{name}",
    "gcp:container/cluster:Cluster": "projects/{project}/locations/{location}/clusters/{name}",
    "gcp:container/nodePool:NodePool": "{project}/{location}/{cluster}/{name}",
    "gcp:artifactregistry/repository:Repository": (
        "projects/{project}/locations/{location}/repositories/{repositoryId}"
    ),
    "gcp:storage/bucket:Bucket": "{project}/{name}",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "b/{bucket} {role} {member}",
    "gcp:projects/iAMMember:IAMMember": "{project} {role} {member}",
    "gcp:serviceaccount/account:Account": (
        "projects/{project}/serviceAccounts/{accountId}@{project}.iam.gserviceaccount.com"
    ),
    "gcp:serviceaccount/iAMMember:IAMMember": "{serviceAccountId} {role} {member}",
}
"""An id by names of inputs. What is not here has an id that only its creation tells, as an AiTensorboard has."""

_CLUSTER = re.compile(r"projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/clusters/(?P<cluster>[^/]+)")
"""What a node pool may have for the name of its cluster."""

_KUBERNETES = "kubernetes:"

_WITHOUT_NAMESPACE = frozenset(
    {
        "kubernetes:core/v1:Namespace",
        "kubernetes:core/v1:PersistentVolume",
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
        "kubernetes:scheduling.k8s.io/v1:PriorityClass",
        "kubernetes:storage.k8s.io/v1:StorageClass",
    }
)


def import_id(type: str, inputs: Mapping[str, Any], provider: Mapping[str, Any]) -> str | None:
    """None when type and inputs do not tell it.

    inputs: as the provider checked them, so that they hold a generated name. provider: the provider's own inputs.
    """
    if type.startswith(_KUBERNETES):
        return _object(type, inputs)
    template = _GOOGLE.get(type)
    # A grant under a condition has an id with the condition's title in it, and another one for each of its forms.
    if template is None or inputs.get("condition"):
        return None
    values = {"project": provider.get("project"), **{key: value for key, value in inputs.items() if value}}
    if cluster := _CLUSTER.fullmatch(str(values.get("cluster", ""))):
        values |= cluster.groupdict()
    # A project of a domain, `example.com:name`, has accounts with addresses of another form.
    if ":" in str(values.get("project")) and "serviceAccounts" in template:
        return None
    try:
        found = {name: values[name] for name in re.findall(r"\{(\w+)\}", template)}
    except KeyError:
        return None
    return template.format(**found) if all(isinstance(value, str) and value for value in found.values()) else None


def _object(type: str, inputs: Mapping[str, Any]) -> str | None:
    metadata = inputs.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None  # pyright: ignore
    if not isinstance(name, str) or not isinstance(metadata, Mapping):
        return None
    if type in _WITHOUT_NAMESPACE:
        return name
    namespace: object = metadata.get("namespace")  # pyright: ignore
    # Without one it is the provider's, which only the provider knows.
    return f"{namespace}/{name}" if isinstance(namespace, str) else None
