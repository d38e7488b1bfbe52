"""Where images are pushed: the stack's own repository, or the tag that an experiment gives them.

`gcr.io` and its like are repositories that exist once in a project. No stack owns them: they are looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from xmgen.errors import Problem
from xmgen.experiment import Reference
from xmgen.plan.model import PlannedImage

_LOCATIONS = {"gcr.io": "us", "us.gcr.io": "us", "eu.gcr.io": "europe", "asia.gcr.io": "asia"}
"""Host -> the location of the Artifact Registry repository that has its name.
https://cloud.google.com/artifact-registry/docs/transition/auto-migrate-gcr-ar"""

_PROJECT = Reference(kind="config", name="gcp:project").token
_TAG = re.compile(
    rf"(?P<repository>[a-z0-9.-]+(?::\d+)?(?:/(?:[a-z0-9._-]+|{re.escape(_PROJECT)}))+)(?::(?P<tag>[A-Za-z0-9_][\w.-]{{0,127}}))?"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a tag: a text, or a word of the program."""

    text: str = ""
    word: str = ""


@dataclass(frozen=True, slots=True)
class Shared:
    """A repository that belongs to no stack. project: empty for the stack's."""

    repository: str
    location: str
    project: str

    @property
    def name(self) -> str:
        return f"{self.project}-{self.repository}" if self.project else self.repository


@dataclass(frozen=True, slots=True)
class Target:
    """tags: under which the image is pushed, the hash of its content first."""

    tags: tuple[tuple[Part, ...], ...]
    shared: Shared | None = None


def problem(executable: str, push_tag: str | None) -> Problem | None:
    """Why a tag is none that an image can be pushed under."""
    if push_tag is None or _TAG.fullmatch(push_tag):
        return None
    return Problem(
        f"executable {executable!r} cannot be pushed as {push_tag!r}",
        hint="registry/image:tag, such as gcr.io/my-project/trainer:latest",
    )


def target(image: PlannedImage) -> Target:
    if image.push_tag is None:
        return Target((_parts(f"/{image.name}:{image.tag}", Part(word="registry")),))
    match = _TAG.fullmatch(image.push_tag)
    assert match is not None  # noqa: S101 — the planner refuses others
    repository = match["repository"]
    tags = dict.fromkeys([image.tag, *([match["tag"]] if match["tag"] else [])])
    host, project = repository.split("/")[:2]
    location = _LOCATIONS.get(host)
    shared = Shared(host, location, "" if project == _PROJECT else project) if location else None
    return Target(tuple(_parts(f"{repository}:{tag}") for tag in tags), shared)


def _parts(text: str, *first: Part) -> tuple[Part, ...]:
    """The text, with the project as the program knows it."""
    parts: list[Part] = [*first]
    for index, piece in enumerate(text.split(_PROJECT)):
        if index:
            parts.append(Part(word="project"))
        if piece:
            parts.append(Part(text=piece))
    return tuple(parts)
