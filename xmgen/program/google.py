"""What the programs of stacks on GKE and on Vertex AI have in common: `images.py`, and how they resolve references."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from xmgen import names
from xmgen.executors import registry
from xmgen.executors.gke.jobs import image_reference
from xmgen.experiment import Reference
from xmgen.plan.model import Plan, PlannedImage, header
from xmgen.program.python import python


def images_module(plan: Plan, settings: str) -> str:
    """`images.py`. settings: the stack's module that has the project and the region."""
    targets = {image.name: registry.target(image) for image in plan.images}
    distinct = dict.fromkeys(_folder(image) for image in plan.images)
    wanted = (_folder_name(directory, plan.experiment.stack) for directory, _, _ in distinct)
    folders = dict(zip(distinct, names.unique(wanted), strict=True))
    shared = {target.shared.name: target.shared for target in targets.values() if target.shared is not None}
    return python(
        "stack/images.py.j2",
        header=header(plan.experiment),
        settings=settings,
        name=plan.experiment.stack,
        own_repository=any(image.push_tag is None for image in plan.images),
        shared_repositories=[shared[name] for name in sorted(shared)],
        folders=[
            {"name": name, "directory": directory, "digest": digest, "exclude": list(exclude)}
            for (directory, digest, exclude), name in folders.items()
        ],
        images=[_image(image, targets[image.name], folders[_folder(image)]) for image in plan.images],
    )


def _folder(image: PlannedImage) -> tuple[str, str, tuple[str, ...]]:
    """The code that an image is built from, which several may be."""
    return image.directory, image.digest, image.exclude


def _folder_name(directory: str, stack: str) -> str:
    return stack if directory == "." else names.slug(directory) or names.short_hash(directory)


def _image(image: PlannedImage, target: registry.Target, folder: str) -> dict[str, object]:
    return {
        "name": image.name,
        "folder": folder,
        "reference": image_reference(image.name, image.tag),
        "tags": target.tags,
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
