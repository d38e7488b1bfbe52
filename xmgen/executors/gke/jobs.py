"""The Kubernetes executor: one `batch/v1` Job per job of a work unit, on GKE; one per slice of a job with several.

A Job's `metadata.name` ends in a hash of everything it is, image included: Pulumi deletes a changed Job before it
creates the next and does not wait for the deletion, so that a name which stays would collide. What a program needs
beyond the object itself stands in its labels and annotations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

from xmgen import names, shell
from xmgen.arguments import text_of
from xmgen.catalog.allocatable import GIB, MIB, Resources
from xmgen.catalog.placement import NODES_LABEL, Placement
from xmgen.executors import addresses
from xmgen.executors.addresses import host_name
from xmgen.executors.gke import cloud_sql, services, slices
from xmgen.executors.gke import security as kubernetes_security
from xmgen.executors.gke.objects import CONTROLLERS_ACCOUNT, JOBS_ACCOUNT, SKIP_AWAIT_ANNOTATION, priority_class_name
from xmgen.executors.images import Image
from xmgen.executors.texts import Texts, from_secret, secret_variable
from xmgen.experiment import Experiment, Job, Kubernetes, ShellSafeArg, Volume, WorkUnit
from xmgen.plan.model import Manifest, Value
from xmgen.project import OUTPUT_VARIABLE

UNIT_LABEL = "xmgen/unit"
JOB_LABEL = "xmgen/job"
EXPERIMENT_LABEL = "xmgen/experiment"
RESOURCE_ANNOTATION = "xmgen/resource"
"""The logical name, which stays when the code changes."""
AFTER_ANNOTATION = "xmgen/after"
"""Names of the Jobs that must have succeeded first, separated by spaces. With their hashes, so that a Job whose
predecessor is another one is another one too."""

OUTPUT_FOLDER = "/xmgen/output"
OUTPUT_BUCKET = "<xmgen:bucket:output>"
OUTPUT_VOLUME = "output"
SHARED_MEMORY = "/dev/shm"  # noqa: S108 — where data loaders share memory

SIDECAR = Resources(cpu_millis=100, memory_bytes=128 * MIB, disk_bytes=GIB)
"""What Cloud Storage FUSE's sidecar requests in each pod. GKE's own default is more than most jobs need."""

_SIDECAR_ANNOTATIONS: Manifest = {
    "gke-gcsfuse/volumes": "true",
    "gke-gcsfuse/cpu-request": "100m",
    "gke-gcsfuse/memory-request": "128Mi",
    "gke-gcsfuse/ephemeral-storage-request": "1Gi",
    # It may use what the node has to spare.
    "gke-gcsfuse/cpu-limit": "0",
    "gke-gcsfuse/memory-limit": "0",
    "gke-gcsfuse/ephemeral-storage-limit": "0",
}

_NEVER_EVICTED: Manifest = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
"""The autoscaler would empty a node that is little used, and a training that runs on it would begin again. Pods that
have ended hold no node."""

_NAME_LENGTH = 36
"""Characters of a Job's readable part. With a hash and the number of a slice it has at most 49; a pod of it, which gets
its index and five random characters, keeps within 63."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the Jobs of an experiment have in common.

    addresses:   the host names that jobs know each other by, see `addresses.host_names`.
    controllers: names of the executables whose jobs start other jobs.
    """

    experiment: Experiment
    addresses: Collection[str]
    texts: Texts
    controllers: Collection[str] = ()

    @staticmethod
    def of(experiment: Experiment, controllers: Collection[str] = ()) -> Context:
        return Context(
            experiment=experiment,
            addresses=addresses.host_names(experiment),
            texts=Texts(experiment.references, experiment.experiment_id, names.namespace(experiment.stack)),
            controllers=controllers,
        )


def job_manifests(
    context: Context,
    unit: WorkUnit,
    job: Job,
    *,
    unit_name: str,
    image: Image,
    placement: Placement,
    nodes: str,
    after: Sequence[str] = (),
    ends_with: Sequence[str] = (),
    waits: bool = False,
) -> list[Manifest]:
    """The Jobs of one job of a unit.

    nodes: the label `xmgen/nodes` of the nodes that it runs on.
    after: names of the Jobs that must have succeeded first. ends_with: those that a service ends with.
    waits: whether Pulumi waits for the Job to end, since another depends on it.
    """
    experiment = context.experiment
    logical_name = job_logical_name(unit, job, unit_name)
    labels: Manifest = {
        EXPERIMENT_LABEL: names.slug(experiment.title) or experiment.stack,
        UNIT_LABEL: unit_name,
        JOB_LABEL: names.slug(job.name) or "job",
    }
    annotations: Manifest = {}
    if not waits:
        # A training may take days; `pulumi up` must not.
        annotations[SKIP_AWAIT_ANNOTATION] = "true"
    if after:
        annotations[AFTER_ANNOTATION] = " ".join(after)
    host = host_name(names.full_job_name(experiment.experiment_id, unit, job.name))
    template = _template(
        context, unit, job, labels, image, placement, nodes, host if host in context.addresses else None
    )
    if ends_with:
        services.end_with(cast(Manifest, template["spec"]), names.namespace(experiment.stack), ends_with)
    kinds = [logical_name, labels, annotations, template, placement.pods, placement.slices, _retries(job)]
    content = json.dumps(kinds, sort_keys=True)
    readable = names.shortened(logical_name, _NAME_LENGTH)
    base = f"{readable}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
    # Only slices of TPUs are apart from each other; those of GPUs are machines like others.
    separate = placement.slices if placement.tpu else 1
    job_names = [f"{base}-{index}" for index in range(separate)] if separate > 1 else [base]
    result: list[Manifest] = []
    for index, name in enumerate(job_names):
        resource = f"{logical_name}-{index}" if separate > 1 else logical_name
        metadata: Manifest = {
            "name": name,
            "namespace": names.namespace(experiment.stack),
            "labels": labels,
            "annotations": {RESOURCE_ANNOTATION: resource, **annotations},
        }
        own = _of_pods(template, placement, job_names, index)
        # The pods of an Indexed Job have names in DNS, by which slices find each other even if each is one pod.
        indexed = placement.pods > 1
        spec = _job_spec(own, placement.pods // separate, _retries(job), indexed=indexed)
        result.append({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    return result


def sidecars(executor: Kubernetes) -> Resources:
    """What the containers beside the job's own request in each pod."""
    return SIDECAR + services.REQUESTS if executor.service else SIDECAR


def job_name(manifest: Manifest) -> str:
    return str(cast(Manifest, manifest["metadata"])["name"])


def resource_name(manifest: Manifest) -> str:
    """The logical name of a Job's resource."""
    metadata = cast(dict[str, Manifest], manifest["metadata"])
    return str(metadata["annotations"][RESOURCE_ANNOTATION])


def job_logical_name(unit: WorkUnit, job: Job, unit_name: str) -> str:
    """The resource's name: the unit's, and in a group the job's after it."""
    return unit_name if len(unit.jobs) == 1 else f"{unit_name}-{names.slug(job.name) or names.short_hash(job.name)}"


def needs_service(manifest: Manifest) -> bool:
    """Whether a Job's pods have names in DNS."""
    spec = cast(dict[str, dict[str, Manifest]], manifest["spec"])
    return "subdomain" in spec["template"]["spec"]


def _executor(job: Job) -> Kubernetes:
    assert isinstance(job.executor, Kubernetes)  # noqa: S101 — the planner calls the module of each job's executor
    return job.executor


def _retries(job: Job) -> int:
    return _executor(job).retries or 0


def _job_spec(template: Manifest, pods: int, retries: int, *, indexed: bool) -> Manifest:
    spec: Manifest = {"backoffLimit": retries}
    # A pod whose machine is taken away, as a spot machine is, did not fail: it is started again without being counted.
    spec["podFailurePolicy"] = {
        "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
    }
    if indexed:
        spec |= {"completionMode": "Indexed", "completions": pods, "parallelism": pods}
    return {**spec, "template": template}


def _template(
    context: Context,
    unit: WorkUnit,
    job: Job,
    labels: Manifest,
    image: Image,
    placement: Placement,
    nodes: str,
    host: str | None,
) -> Manifest:
    """The pods' template, without what depends on the Job's name."""
    executor = _executor(job)
    controller = job.executable in context.controllers
    account = CONTROLLERS_ACCOUNT if controller else JOBS_ACCOUNT
    pod: Manifest = {"restartPolicy": "Never", "serviceAccountName": account}
    if not controller:
        # The token is one for Kubernetes' own API. Programs and Cloud Storage FUSE reach Google Cloud through the
        # metadata server of the node, and the kubelet itself hands the FUSE driver its token.
        pod["automountServiceAccountToken"] = False
    pod["securityContext"] = dict(kubernetes_security.POD)
    if executor.priority is not None:
        pod["priorityClassName"] = priority_class_name(context.experiment.stack, executor.priority)
    pod_labels: Manifest = dict(labels)
    if host or placement.pods > 1:
        pod_labels["service"] = names.SERVICE
        pod["subdomain"] = names.SERVICE
    if host and placement.pods == 1:
        # Of an Indexed Job Kubernetes sets the host names itself: the Job's name and the index.
        pod["hostname"] = host
    pod["nodeSelector"] = {
        **dict[str, Value](sorted(placement.node_selector.items())),
        NODES_LABEL: nodes,
    }
    pod["tolerations"] = [_toleration(each.key, each.value) for each in placement.tolerations]
    pod["containers"] = [_container(context, job, image, placement)]
    folder = [context.experiment.stack, str(labels[UNIT_LABEL])]
    if len(unit.jobs) > 1:
        folder.append(str(labels[JOB_LABEL]))
    pod["volumes"] = [
        {"name": "shared-memory", "emptyDir": _shared_memory(executor)},
        _bucket_volume(OUTPUT_VOLUME, OUTPUT_BUCKET, "/".join(folder), read_only=False),
        *(_volume(f"volume-{number}", volume) for number, volume in enumerate(executor.volumes or ())),
    ]
    if job.cloud_sql is not None:
        cloud_sql.add_proxy(pod, job.cloud_sql)
    metadata: Manifest = {"labels": pod_labels, "annotations": {**_NEVER_EVICTED, **_SIDECAR_ANNOTATIONS}}
    return {"metadata": metadata, "spec": pod}


def _of_pods(template: Manifest, placement: Placement, job_names: Sequence[str], index: int) -> Manifest:
    """The template of a Job's pods: with the variables by which they know each other, and the hosts of a TPU slice
    together on one node pool. index: of the Job among those of several slices."""
    environment: list[Value] = []
    metadata, pod = cast(dict[str, Manifest], template["metadata"]), cast(Manifest, template["spec"])
    name = job_names[index]
    if placement.tpu is None:
        if placement.pods > 1:
            environment += addresses.replica_environment(name, placement.pods)
    elif placement.tpu.multi_host:
        labels: Manifest = {**metadata["labels"], slices.SLICE_LABEL: name}
        metadata = {**metadata, "labels": labels}
        pod = {**pod, "affinity": slices.affinity(name)}
        environment += slices.worker_environment(name, placement.tpu.hosts, names.SERVICE)
    if len(job_names) > 1:
        environment += slices.slice_environment(job_names[0], len(job_names), index, names.SERVICE)
    if not environment:
        return template
    [container] = cast(list[Manifest], pod["containers"])
    given = {str(variable["name"]) for variable in cast(list[Manifest], container["env"])}
    added = [variable for variable in environment if str(cast(Manifest, variable)["name"]) not in given]
    container = {**container, "env": [*cast(list[Value], container["env"]), *added]}
    return {"metadata": cast(Value, metadata), "spec": cast(Value, {**pod, "containers": [container]})}


def _toleration(key: str, value: str) -> Manifest:
    if value:
        return {"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}
    return {"key": key, "operator": "Exists", "effect": "NoSchedule"}


def _container(context: Context, job: Job, image: Image, placement: Placement) -> Manifest:
    texts = context.texts
    container: Manifest = {"name": names.slug(job.name) or "job", "image": image.reference}
    if any(isinstance(arg, ShellSafeArg) for arg in job.args):
        assert image.entrypoint is not None  # noqa: S101 — the planner refuses such jobs of images we did not build
        container["command"] = [texts.literal(part) for part in shell.command(image.entrypoint, job.args)]
    elif job.args:
        container["args"] = [texts.literal(cast(str, arg)) for arg in job.args]
    environment = [texts.variable(name, value) for name, value in job.env.items()]
    # A secret that is only part of a text stands in it as a variable, which has to come first.
    args = list(map(text_of, job.args))
    partial = texts.secrets([*args, *(value for value in job.env.values() if not texts.is_secret(value))])
    environment = [*(from_secret(secret_variable(secret), secret) for secret in partial), *environment]
    if OUTPUT_VARIABLE not in job.env:
        environment.insert(0, {"name": OUTPUT_VARIABLE, "value": OUTPUT_FOLDER})
    container["env"] = list[Value](environment)
    container["securityContext"] = dict(kubernetes_security.CONTAINER)
    container["resources"] = _resources(placement, limited=bool(_executor(job).requirements.ram))
    container["volumeMounts"] = [
        {"name": "shared-memory", "mountPath": SHARED_MEMORY},
        {"name": OUTPUT_VOLUME, "mountPath": OUTPUT_FOLDER},
        *(
            {"name": f"volume-{number}", "mountPath": volume.path, **({"readOnly": True} if volume.read_only else {})}
            for number, volume in enumerate(_executor(job).volumes or ())
        ),
    ]
    return container


def _shared_memory(executor: Kubernetes) -> Manifest:
    """It counts as the container's memory, and is bounded by that unless it has a size of its own."""
    size: Manifest = {"sizeLimit": _bytes(executor.shared_memory)} if executor.shared_memory else {}
    return {"medium": "Memory", **size}


def _volume(name: str, volume: Volume) -> Manifest:
    if volume.bucket is not None:
        bucket, _, folder = volume.bucket.partition("/")
        return _bucket_volume(name, bucket, folder.strip("/"), read_only=volume.read_only)
    claim: Manifest = {"claimName": volume.claim}
    if volume.read_only:
        claim["readOnly"] = True
    return {"name": name, "persistentVolumeClaim": claim}


def _bucket_volume(name: str, bucket: str, folder: str, *, read_only: bool) -> Manifest:
    """A bucket through Cloud Storage FUSE. Whatever user an image runs as may write; the bucket's rights decide."""
    options = "implicit-dirs,dir-mode=777,file-mode=777"
    csi: Manifest = {
        "driver": "gcsfuse.csi.storage.gke.io",
        "volumeAttributes": {
            "bucketName": bucket,
            "mountOptions": f"{options},only-dir={folder}" if folder else options,
        },
    }
    if read_only:
        csi["readOnly"] = True
    return {"name": name, "csi": csi}


def _resources(placement: Placement, *, limited: bool) -> Manifest:
    """limited: whether the job said how much memory it needs. If not, it may use what its node has to spare."""
    requests = _quantities(placement.requests - placement.sidecar)
    limits: Manifest = {"memory": requests["memory"]} if limited else {}
    if accelerator := placement.accelerator_resource:
        name, count = accelerator
        requests[name] = limits[name] = str(count)
    return {"requests": requests, "limits": limits} if limits else {"requests": requests}


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
