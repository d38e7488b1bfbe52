"""What the programs of stacks on GKE and on Vertex AI have in common: `images.py`, and how they resolve references."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from xmgen.executors import registry
from xmgen.executors.kubernetes import image_reference
from xmgen.experiment import Reference
from xmgen.generated import python
from xmgen.plan import Plan, PlannedImage, header


def images_module(plan: Plan, settings: str) -> str:
    """`images.py`. settings: the stack's module that has the project and the region."""
    targets = {image.name: registry.target(image) for image in plan.images}
    shared = {target.shared.name: target.shared for target in targets.values() if target.shared is not None}
    return python(
        "stack/images.py.j2",
        header=header(plan.experiment),
        settings=settings,
        name=plan.experiment.stack,
        own_repository=any(image.push_tag is None for image in plan.images),
        shared_repositories=[shared[name] for name in sorted(shared)],
        images=[_image(image, targets[image.name]) for image in plan.images],
    )


def _image(image: PlannedImage, target: registry.Target) -> dict[str, object]:
    return {
        "name": image.name,
        "reference": image_reference(image.name, image.tag),
        "tags": target.tags,
        "directory": image.directory,
        "digest": image.digest,
        "exclude": list(image.exclude),
        "platforms": [f"LINUX_{architecture.upper()}" for architecture in image.architectures],
        # Pulumi runs the program in the folder that `main` of Pulumi.yaml names.
        "context": posixpath.relpath(image.context, "stacks"),
        "dockerfile": posixpath.relpath(image.dockerfile, "stacks"),
    }


def reference(reference: Reference, tensorboards: Mapping[Reference, str], bucket: str) -> dict[str, object]:
    """An expression of the program, or the key of a configuration value. bucket: the expression that names it."""
    result: dict[str, object] = {"token": reference.token, "value": None, "namespace": None, "key": None}
    match reference.kind:
        case "tensorboard":
            result["value"] = f"{tensorboards[reference]}.name"
        case "bucket":
            # A stack has one bucket, whatever a launch script calls it.
            result["value"] = bucket
        case _ if reference.name == "gcp:project":
            result["value"] = "project"
        case _:
            result["namespace"], result["key"] = config_key(reference.name)
    return result


def config_key(name: str) -> tuple[str | None, str]:
    """`gcp:zone` -> (gcp, zone); a key without a namespace is the project's own."""
    namespace, separator, key = name.partition(":")
    return (namespace, key) if separator else (None, name)
