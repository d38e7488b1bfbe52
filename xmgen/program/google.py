"""What the programs of stacks on GKE and on Vertex AI have in common: `images.py`."""

from __future__ import annotations

from xmgen.executors import images
from xmgen.plan.model import Plan, header
from xmgen.program.python import python


def images_module(plan: Plan, settings: str) -> str:
    """`images.py`. settings: the stack's module that has the project and the region."""
    declared = plan.declared
    tags = {image.name: images.reference(image.name, image.tag) for image in plan.images}
    return python(
        "stack/images.py.j2",
        header=header(plan.experiment),
        settings=settings,
        repository=declared.of("repository"),
        shared_repositories=[each for each in declared.resources if each.only_if],
        code=declared.of("code"),
        images=[(tags[image.key], image) for image in declared.of("images")],
    )
