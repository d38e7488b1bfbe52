"""The Kubernetes executor: one `batch/v1` Job per job of a work unit, on GKE.

A Job's `metadata.name` ends in a hash of everything it is, image included: Pulumi deletes a changed Job before it
creates the next and does not wait for the deletion, so that a name which stays would collide. What a program needs
beyond the object itself stands in its labels and annotations.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Collection, Sequence
from typing import cast

from xmgen import names
from xmgen.catalog.allocatable import Resources
from xmgen.catalog.placement import NODES_LABEL, Placement
from xmgen.experiment import Arg, Experiment, Job, ShellSafeArg, WorkUnit
from xmgen.plan import Manifest, Value

UNIT_LABEL = "xmgen/unit"
JOB_LABEL = "xmgen/job"
EXPERIMENT_LABEL = "xmgen/experiment"
RESOURCE_ANNOTATION = "xmgen/resource"
"""The logical name, which stays when the code changes."""
AFTER_ANNOTATION = "xmgen/after"
"""Names of the Jobs that must have succeeded first, separated by spaces. With their hashes, so that a Job whose
predecessor is another one is another one too."""

SERVICE = "experiments"
"""The headless Service through which jobs find each other, named as XManager names it."""

SERVICE_ACCOUNT = "jobs"
OUTPUT_FOLDER = "/xmgen/output"
OUTPUT_BUCKET = "<xmgen:bucket:output>"

_NAME_LENGTH = 36
"""Characters of a Job's readable part. With two hashes it has 54, and a pod's name 63."""


def job_manifest(
    experiment: Experiment,
    unit: WorkUnit,
    job: Job,
    *,
    unit_name: str,
    image: str,
    entrypoint: Sequence[str] | None,
    placement: Placement,
    namespace: str,
    after: Sequence[str] = (),
    addresses: Collection[str] = (),
    waits: bool = False,
) -> Manifest:
    """The Job of one job of a unit.

    image:      a reference to an image of the stack, which names its content hash, or the user's own image.
    after:      names of the Jobs that must have succeeded first.
    entrypoint: the image's, when we know it; an argument that a shell expands needs it.
    addresses:  the host names that jobs know each other by, see `addresses`.
    waits:      whether Pulumi waits for the Job to end, since another depends on it.
    """
    logical_name = job_logical_name(unit, job, unit_name)
    labels: Manifest = {
        EXPERIMENT_LABEL: names.slug(experiment.title) or experiment.stack,
        UNIT_LABEL: unit_name,
        JOB_LABEL: names.slug(job.name) or "job",
    }
    annotations: Manifest = {RESOURCE_ANNOTATION: logical_name}
    if not waits:
        # A training may take days; `pulumi up` must not.
        annotations["pulumi.com/skipAwait"] = "true"
    if after:
        annotations[AFTER_ANNOTATION] = " ".join(after)
    host = host_name(names.full_job_name(experiment.experiment_id, unit, job.name))
    spec = _job_spec(experiment, job, labels, image, entrypoint, placement, host if host in addresses else None)
    content = json.dumps([logical_name, labels, annotations, spec], sort_keys=True)
    readable = names.slug(logical_name, _NAME_LENGTH)
    metadata: Manifest = {
        "name": f"{readable}-{hashlib.sha256(content.encode()).hexdigest()[:8]}",
        "namespace": namespace,
        "labels": labels,
        "annotations": annotations,
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def job_name(manifest: Manifest) -> str:
    return str(cast(Manifest, manifest["metadata"])["name"])


def job_logical_name(unit: WorkUnit, job: Job, unit_name: str) -> str:
    """The resource's name: the unit's, and in a group the job's after it."""
    return unit_name if len(unit.jobs) == 1 else f"{unit_name}-{names.slug(job.name) or names.short_hash(job.name)}"


def image_reference(name: str, tag: str) -> str:
    """Stands for an image of the stack until the program knows its digest. The content hash makes changed code a
    changed Job."""
    return f"<xmgen:image:{name}:{tag}>"


def needs_service(manifest: Manifest) -> bool:
    """Whether a Job's pods have names in DNS."""
    spec = cast(dict[str, dict[str, Manifest]], manifest["spec"])
    return "subdomain" in spec["template"]["spec"]


def headless_service(namespace: str) -> Manifest:
    """Gives every pod of the namespace that asks for it a name in DNS, before it is ready: jobs of a group wait for
    each other."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": namespace},
        "spec": {
            "clusterIP": "None",
            "selector": {"service": SERVICE},
            "publishNotReadyAddresses": True,
        },
    }


def _job_spec(
    experiment: Experiment,
    job: Job,
    labels: Manifest,
    image: str,
    entrypoint: Sequence[str] | None,
    placement: Placement,
    host: str | None,
) -> Manifest:
    pod: Manifest = {"restartPolicy": "Never", "serviceAccountName": SERVICE_ACCOUNT}
    pod_labels: Manifest = dict(labels)
    if host or placement.pods > 1:
        pod_labels["service"] = SERVICE
        pod["subdomain"] = SERVICE
    if host and placement.pods == 1:
        # Of an Indexed Job Kubernetes sets the host names itself: the Job's name and the index.
        pod["hostname"] = host
    pod["nodeSelector"] = {
        **dict[str, Value](sorted(placement.node_selector.items())),
        NODES_LABEL: placement.node_class,
    }
    pod["tolerations"] = [_toleration(each.key, each.value) for each in placement.tolerations]
    pod["containers"] = [_container(job, image, entrypoint, placement)]
    pod["volumes"] = [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
        {
            "name": "output",
            "csi": {
                "driver": "gcsfuse.csi.storage.gke.io",
                "volumeAttributes": {
                    "bucketName": OUTPUT_BUCKET,
                    "mountOptions": f"implicit-dirs,only-dir={experiment.stack}/{labels[UNIT_LABEL]}",
                },
            },
        },
    ]
    spec: Manifest = {"backoffLimit": 0}
    if placement.pods > 1:
        spec |= {"completionMode": "Indexed", "completions": placement.pods, "parallelism": placement.pods}
    spec["template"] = {
        "metadata": {"labels": pod_labels, "annotations": {"gke-gcsfuse/volumes": "true"}},
        "spec": pod,
    }
    return spec


def addresses(experiment: Experiment) -> frozenset[str]:
    """The host names of jobs that stand in some job's args or env."""
    name = re.compile(rf"(?<![a-z0-9-]){experiment.experiment_id}-[a-z0-9-]+")
    texts = (
        text
        for unit in experiment.units
        for job in unit.jobs
        for text in (*(arg if isinstance(arg, str) else arg.shell for arg in job.args), *job.env.values())
    )
    return frozenset(found for text in texts for found in name.findall(text))


def host_name(full_job_name: str) -> str:
    """XManager's host name of a job: its full name with hyphens, as a DNS label."""
    return names.slug(full_job_name)


def _toleration(key: str, value: str) -> Manifest:
    if value:
        return {"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}
    return {"key": key, "operator": "Exists", "effect": "NoSchedule"}


def _container(job: Job, image: str, entrypoint: Sequence[str] | None, placement: Placement) -> Manifest:
    container: Manifest = {"name": names.slug(job.name) or "job", "image": image}
    if any(isinstance(arg, ShellSafeArg) for arg in job.args):
        assert entrypoint is not None  # noqa: S101 — the planner refuses such jobs of images we did not build
        container["command"] = [literal(part) for part in shell_command(entrypoint, job.args)]
    elif job.args:
        container["args"] = [literal(cast(str, arg)) for arg in job.args]
    container["env"] = [
        {"name": "XMGEN_OUTPUT_DIR", "value": OUTPUT_FOLDER},
        *({"name": name, "value": literal(value)} for name, value in job.env.items()),
    ]
    container["resources"] = _resources(placement)
    container["volumeMounts"] = [
        {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 — where data loaders share memory
        {"name": "output", "mountPath": OUTPUT_FOLDER},
    ]
    return container


def literal(text: str) -> str:
    """Kubernetes expands `$(NAME)` and `$$` in args and env; this is the text that it expands to `text`."""
    return text.replace("$", "$$")


def shell_command(entrypoint: Sequence[str], args: Sequence[Arg]) -> list[str]:
    """A shell that expands the ShellSafeArgs and hands on every other argument untouched."""
    plain = [arg for arg in args if isinstance(arg, str)]
    words: list[str] = []
    position = 0
    for arg in args:
        if isinstance(arg, ShellSafeArg):
            words.append(arg.shell)
        else:
            position += 1
            words.append(f'"${{{position}}}"')
    program = " ".join(shlex.quote(part) for part in entrypoint)
    return ["/bin/sh", "-c", f"exec {program} {' '.join(words)}", "sh", *plain]


def _resources(placement: Placement) -> Manifest:
    requests = _quantities(placement.requests)
    limits: Manifest = {"memory": requests["memory"]}
    if accelerator := placement.accelerator_resource:
        name, count = accelerator
        requests[name] = limits[name] = str(count)
    return {"requests": requests, "limits": limits}


def _quantities(resources: Resources) -> Manifest:
    result: Manifest = {"cpu": _cpu(resources.cpu_millis), "memory": _bytes(resources.memory_bytes)}
    if resources.disk_bytes:
        result["ephemeral-storage"] = _bytes(resources.disk_bytes)
    return result


def _cpu(millis: int) -> str:
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def _bytes(count: int) -> str:
    """The shortest of Kubernetes' binary quantities that is exact."""
    for unit, suffix in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if count % unit == 0:
            return f"{count // unit}{suffix}"
    return str(count)
