"""Kubernetes' objects: what pulumi-kubernetes makes of a change, and what the API server takes for a name.

Sources. Replaced: pulumi-kubernetes 4, provider/pkg/provider/diff.go: forceNew; of its provider, provider.go:
DiffConfig. Names: https://kubernetes.io/docs/concepts/overview/working-with-objects/names. Ids: "Import" of
pulumi-kubernetes 4: the namespace and the name, and the name alone of what lies in no namespace.
"""

from __future__ import annotations

import re

from xmgen import resource_types as types
from xmgen.resource_types.model import Name, ResourceType

_NAMESPACED = "{metadata.namespace}/{metadata.name}"
_EVERY = ("metadata.name", "metadata.namespace")

_SUBDOMAIN = Name(
    input="metadata.name",
    pattern=re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"),
    rule="at most 253 lower-case letters, digits, hyphens and dots, a letter or digit first and last",
    generated=False,
)
_LABEL = Name(
    input="metadata.name",
    pattern=re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"),
    rule="at most 63 lower-case letters, digits and hyphens, a letter or digit first and last",
    generated=False,
)
_SERVICE = Name(
    input="metadata.name",
    pattern=re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"),
    rule="at most 63 lower-case letters, digits and hyphens, a letter first and no hyphen last",
    generated=False,
)
_RIGHTS = Name(
    input="metadata.name", pattern=re.compile(r"(?!\.\.?$)[^/%]+"), rule="no `/` and no `%`", generated=False
)

KUBERNETES = (
    ResourceType(
        # A Job's pods carry its name in a label, which takes 63 characters.
        token=types.JOB,
        noun="Job",
        id=_NAMESPACED,
        name=_LABEL,
        replaces=(*_EVERY, "spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    ),
    ResourceType(
        token=types.NAMESPACE,
        noun="namespace",
        id="{metadata.name}",
        name=_LABEL,
        replaces=_EVERY,
        loses="everything in it, claims included",
    ),
    ResourceType(
        # Unless the provider is told that secrets may change (enableSecretMutable), which programs do not.
        token=types.SECRET,
        noun="Secret",
        id=_NAMESPACED,
        name=_SUBDOMAIN,
        replaces=(*_EVERY, "data", "stringData", "type"),
    ),
    ResourceType(token=types.SERVICE_ACCOUNT, noun="ServiceAccount", id=_NAMESPACED, name=_SUBDOMAIN, replaces=_EVERY),
    ResourceType(
        token=types.OBJECTS["PersistentVolumeClaim"],
        noun="claim of a volume",
        id=_NAMESPACED,
        name=_SUBDOMAIN,
        replaces=(*_EVERY, "spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"),
        loses="the data on its volume",
    ),
    ResourceType(
        token=types.OBJECTS["PriorityClass"],
        noun="PriorityClass",
        id="{metadata.name}",
        name=_SUBDOMAIN,
        replaces=_EVERY,
    ),
    ResourceType(token=types.OBJECTS["Role"], noun="Role", id=_NAMESPACED, name=_RIGHTS, replaces=_EVERY),
    ResourceType(
        token=types.OBJECTS["RoleBinding"],
        noun="RoleBinding",
        id=_NAMESPACED,
        name=_RIGHTS,
        replaces=(*_EVERY, "roleRef"),
    ),
    ResourceType(
        token=types.OBJECTS["Service"],
        noun="Service",
        id=_NAMESPACED,
        name=_SERVICE,
        replaces=(*_EVERY, "spec.clusterIP"),
    ),
    ResourceType(
        token=types.OBJECTS["StorageClass"],
        noun="StorageClass",
        id="{metadata.name}",
        name=_SUBDOMAIN,
        replaces=(*_EVERY, "parameters", "provisioner"),
    ),
    ResourceType(
        # With an identifier of the cluster, nothing else replaces it.
        token=types.PROVIDER,
        noun="connection to the cluster",
        replaces=("clusterIdentifier",),
    ),
)
