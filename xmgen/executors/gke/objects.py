"""What Jobs need beside themselves: the headless Service, classes, claims, rights of controllers."""

from __future__ import annotations

from collections.abc import Iterable

from xmgen import names
from xmgen.errors import Problem
from xmgen.executors.gke import services, storage_classes
from xmgen.experiment import Experiment, Kubernetes, Volume
from xmgen.plan import places
from xmgen.plan.model import Manifest

JOBS_ACCOUNT = "jobs"
CONTROLLERS_ACCOUNT = "controllers"
"""The ServiceAccounts that jobs act as: the second may also start jobs."""

SKIP_AWAIT_ANNOTATION = "pulumi.com/skipAwait"
"""On what Pulumi does not wait for."""

_NO_WAITING: Manifest = {SKIP_AWAIT_ANNOTATION: "true"}
"""Pulumi would wait for a Service's pods before it creates the Jobs that start them; likewise for a claim."""


def objects(experiment: Experiment, *, service: bool, controllers: bool) -> list[Manifest]:
    """In the order in which they are created."""
    namespace = names.namespace(experiment.stack)
    executors = _executors(experiment)
    result: list[Manifest] = []
    if service:
        result.append(headless_service(namespace))
    priorities = sorted({executor.priority for executor in executors if executor.priority is not None})
    result += [_priority_class(experiment.stack, priority) for priority in priorities]
    claims = {volume.claim or "": volume for volume in _claims(experiment)}
    result += storage_classes.own(experiment, list(claims.values()))
    result += [
        _claim(namespace, volume, storage_classes.of_claim(experiment, volume)) for _, volume in sorted(claims.items())
    ]
    if any(executor.service for executor in executors):
        result += services.rights(namespace, JOBS_ACCOUNT)
    if controllers:
        # Where XManager starts its jobs.
        for place in dict.fromkeys((namespace, names.NAMESPACE)):
            result += [_role(place, namespace), _role_binding(place, namespace)]
    return result


def headless_service(namespace: str) -> Manifest:
    """Gives every pod of the namespace that asks for it a name in DNS, before it is ready: jobs of a group wait for
    each other."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": names.SERVICE, "namespace": namespace, "annotations": dict(_NO_WAITING)},
        "spec": {"clusterIP": "None", "selector": {"service": names.SERVICE}, "publishNotReadyAddresses": True},
    }


def priority_class_name(stack: str, priority: int) -> str:
    return names.slug(f"{stack}-priority-{'minus-' if priority < 0 else ''}{abs(priority)}")


def claim_problems(experiment: Experiment) -> list[Problem]:
    """A claim is one thing, whatever jobs say of it, and of a class that can be what it is to be."""
    said: dict[str, set[tuple[object, ...]]] = {}
    of_classes: dict[Problem, None] = {}
    for volume in _claims(experiment):
        said.setdefault(volume.claim or "", set()).add((volume.size, volume.storage_class, volume.shared))
        if wrong := storage_classes.problem(experiment, volume):
            of_classes[wrong] = None
    return [
        Problem(f"the claim {claim!r} has different sizes, classes or uses", hint="say the same of it everywhere")
        for claim, ways in sorted(said.items())
        if len(ways) > 1
    ] + list(of_classes)


def on_filestore(experiment: Experiment) -> list[str]:
    """The claims that the stack makes on Filestore."""
    return sorted({volume.claim or "" for volume in _claims(experiment) if storage_classes.is_filestore(volume)})


def _executors(experiment: Experiment) -> list[Kubernetes]:
    return [executor for _, executor in places.executors(experiment, Kubernetes)]


def _claims(experiment: Experiment) -> Iterable[Volume]:
    """The claims that the stack makes."""
    for executor in _executors(experiment):
        for volume in executor.volumes or ():
            if volume.claim is not None and volume.size is not None:
                yield volume


def _priority_class(stack: str, priority: int) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": priority_class_name(stack, priority)},
        "value": priority,
        "description": f"Jobs of the stack {stack}",
    }


def _claim(namespace: str, volume: Volume, storage_class: str | None) -> Manifest:
    spec: Manifest = {
        "accessModes": ["ReadWriteMany" if volume.shared else "ReadWriteOnce"],
        "resources": {"requests": {"storage": str(volume.size)}},
    }
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": volume.claim, "namespace": namespace, "annotations": dict(_NO_WAITING)},
        "spec": spec,
    }


def _role(place: str, namespace: str) -> Manifest:
    """What XManager does in a cluster: start jobs, watch them (it reads `jobs/status`), read what they print."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": f"{namespace}-{CONTROLLERS_ACCOUNT}", "namespace": place},
        "rules": [
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "delete", "get", "list", "watch"]},
            {"apiGroups": ["batch"], "resources": ["jobs/status"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["services"], "verbs": ["create", "get", "list"]},
            {"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list", "watch"]},
        ],
    }


def _role_binding(place: str, namespace: str) -> Manifest:
    name = f"{namespace}-{CONTROLLERS_ACCOUNT}"
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": place},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": CONTROLLERS_ACCOUNT, "namespace": namespace}],
    }
