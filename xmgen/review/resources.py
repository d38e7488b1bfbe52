"""The resources that a plan declares, as a reviewer compares them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from xmgen.executors.gke import services
from xmgen.executors.gke.jobs import AFTER_ANNOTATION, job_name, resource_name
from xmgen.executors.gke.objects import SKIP_AWAIT_ANNOTATION
from xmgen.plan.model import Cluster, Manifest, Plan, Value
from xmgen.program.resources_yaml import notation
from xmgen.resource_types import CLUSTER, EXECUTABLE, IMAGE, NODE_POOL, OBJECTS, WORK_UNITS


@dataclass(frozen=True, slots=True)
class Declared:
    """step: 1 for what can be created at once, else 1 more than the last it waits for.
    inputs: as the program has them, and the text of a generated Dockerfile.
    """

    type: str
    name: str
    step: int
    depends_on: tuple[str, ...]
    inputs: Mapping[str, Value]


def resources(plan: Plan) -> list[Declared]:
    """In the order in which Pulumi can create them; within a step, in the experiment's.

    Of a stack on a cluster those that an experiment decides about: neither network nor accounts.
    """
    result = [
        Declared(
            EXECUTABLE,
            executable.name,
            1,
            (),
            {**executable.inputs, "Dockerfile": executable.dockerfile},
        )
        for executable in plan.executables
    ]
    if plan.cluster is not None:
        result += _cluster(plan, plan.cluster)
    result += _images(plan)
    steps: dict[str, int] = {}
    first = 2 if plan.cluster is None else 1 + max((resource.step for resource in result), default=1)
    for unit in plan.units:
        # A unit waits for its executables, or for the cluster and its images.
        steps[unit.name] = max((1 + steps[name] for name in unit.depends_on), default=first)
        for manifest in unit.manifests:
            name = resource_name(manifest) if unit.executor == "kubernetes" else unit.name
            inputs = inputs_of_unit(manifest)
            result.append(Declared(WORK_UNITS[unit.executor], name, steps[unit.name], unit.depends_on, inputs))
    return sorted(result, key=lambda resource: resource.step)


def _cluster(plan: Plan, cluster: Cluster) -> list[Declared]:
    result: list[Declared] = []
    if cluster.kind == "own":
        inputs: Manifest = {
            "location": cluster.location,
            "machineType": cluster.system_machine_type,
            "filestore": cluster.filestore,
        }
        result.append(Declared(CLUSTER, plan.experiment.stack, 1, (), inputs))
    needs = (plan.experiment.stack,) if cluster.kind == "own" else ()
    for pool in plan.declared.of("pools"):
        arguments = cast(Manifest, notation(dict(pool.inputs)))
        result.append(Declared(NODE_POOL, pool.key, 1 + len(needs), needs, arguments))
    for each in plan.objects:
        metadata = cast(dict[str, Any], each["metadata"])
        result.append(Declared(OBJECTS[str(each["kind"])], str(metadata["name"]), 3, (), each))
    return result


def _images(plan: Plan) -> list[Declared]:
    result: list[Declared] = []
    for image in plan.images:
        fields = {key: value for key, value in asdict(image).items() if key not in ("name", "files")}
        inputs = cast(Manifest, {**fields, **image.files})
        result.append(Declared(IMAGE, image.name, 1, (), inputs))
    return result


def inputs_of_unit(manifest: Manifest) -> Manifest:
    """Of a work unit's resource, by names that say something to a reviewer."""
    return job_inputs(manifest) if manifest.get("kind") == "Job" else manifest


def job_inputs(manifest: Manifest) -> Manifest:
    """A Job, flat enough that the names of what differs say something. Its own name, a hash of it all, is left out.

    Of a service it is the program's container that counts; `waiter` is the one that knows which Jobs it ends with.
    """
    job: dict[str, Any] = json.loads(json.dumps(manifest).replace(job_name(manifest), "<name>"))
    template = job["spec"]["template"]
    pod: dict[str, Any] = dict(template["spec"])
    [container] = pod.pop("containers")
    if services.is_service(job):
        pod["waiter"] = container
        *pod["initContainers"], container = pod["initContainers"]
    pod["podSecurityContext"] = pod.pop("securityContext", None)  # the container has its own
    rest = {key: value for key, value in job["spec"].items() if key != "template"}
    annotations: dict[str, Any] = job["metadata"]["annotations"]
    return {
        **rest,
        **pod,
        **{key: value for key, value in container.items() if key != "name"},
        "labels": template["metadata"]["labels"],
        "after": annotations.get(AFTER_ANNOTATION),
        "awaited": SKIP_AWAIT_ANNOTATION not in annotations,
    }
