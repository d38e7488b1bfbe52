"""Executables as images that the stack builds and pushes."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from xmgen import sources
from xmgen.errors import Problem
from xmgen.executors import registry
from xmgen.executors.dockerfile import entrypoint, python_dockerfile
from xmgen.experiment import (
    BazelBinary,
    BazelContainer,
    Binary,
    Container,
    Dockerfile,
    Executable,
    Experiment,
    PythonContainer,
)
from xmgen.plan.model import PlannedImage, header
from xmgen.project import controllers


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What a job runs on a cluster or on Vertex AI.

    reference:  an image of the stack, which names its content hash, or the user's own image.
    entrypoint: the image's, when we know it; an argument that a shell expands needs it.
    """

    reference: str
    entrypoint: Sequence[str] | None = None


def reference(name: str, tag: str) -> str:
    """Stands for an image of the stack until the program knows its digest. The content hash makes changed code a
    changed job."""
    return f"<xmgen:image:{name}:{tag}>"


def image(executable: Executable, name: str, experiment: Experiment) -> PlannedImage | str | Problem:
    """The image to build, the prebuilt image's name, or why a cluster cannot run the executable."""
    if (refusal := registry.problem(executable.name, getattr(executable, "push_image_tag", None))) is not None:
        return refusal
    match executable:
        case Container():
            return executable.image
        case PythonContainer():
            return _python_image(executable, name, experiment)
        case Dockerfile():
            return PlannedImage(
                name=name,
                tag=_tag(executable.digest, executable.dockerfile),
                directory=executable.path,
                digest=executable.digest,
                exclude=executable.exclude,
                context=executable.path,
                dockerfile=executable.dockerfile,
                push_tag=executable.push_image_tag,
            )
        case Binary():
            return Problem(
                f"executable {executable.name!r} is a program of this machine, which a cluster cannot run",
                hint="use xm.PythonContainer, xm.Dockerfile or xm.Container",
            )
        case BazelBinary() | BazelContainer():
            return Problem(
                f"executable {executable.name!r} is built by Bazel ({executable.label}), which a stack cannot do",
                hint="push the image with Bazel and use xm.Container with its name",
            )
        case _:
            assert_never(executable)


def is_controller(executable: Executable, experiment: Experiment) -> bool:
    """Whether it is what `contrib.parameter_controller` packaged: a program that starts jobs while it runs."""
    folder = f"{controllers(experiment.stack)}/"
    return isinstance(executable, PythonContainer) and executable.path.startswith(folder)


def known_entrypoint(executable: Executable) -> list[str] | None:
    """The entry point of an image that we write ourselves; None for others."""
    return entrypoint(executable.entrypoint) if isinstance(executable, PythonContainer) else None


def _python_image(container: PythonContainer, name: str, experiment: Experiment) -> PlannedImage:
    dockerfile = python_dockerfile(container, header(experiment))
    # XManager's own instructions find the code under its folder's name: their context is the folder above.
    above = container.docker_instructions is not None and container.path != "."
    folder = posixpath.basename(container.path)
    ignore = _ignored(container, folder if above else "")
    generated = f"stacks/{experiment.stack}/images/{name}/Dockerfile"
    return PlannedImage(
        name=name,
        tag=_tag(container.digest, dockerfile),
        directory=container.path,
        digest=container.digest,
        exclude=container.exclude,
        context=(posixpath.dirname(container.path) or ".") if above else container.path,
        dockerfile=generated,
        push_tag=container.push_image_tag,
        files={
            "Dockerfile": dockerfile,
            "Dockerfile.dockerignore": f"# {header(experiment)}\n" + "".join(f"{rule}\n" for rule in ignore),
        },
    )


def _ignored(container: PythonContainer, folder: str) -> list[str]:
    """What the build leaves out, so that the image holds what the digest covers: rules for the context's top.

    This file takes the place of the folder's own `.dockerignore`, whose rules it repeats.
    """
    prefix = f"{folder}/" if folder else ""
    rules = ["*", f"!{folder}"] if folder else []
    for rule in container.ignore:
        negated, pattern = ("!", rule[1:]) if rule.startswith("!") else ("", rule)
        rules.append(f"{negated}{prefix}{pattern.lstrip('/')}")
    left_behind = sorted(sources.LEFT_BEHIND) + [f"*{suffix}" for suffix in sources.LEFT_BEHIND_SUFFIXES]
    rules += [f"**/{pattern}" for pattern in left_behind]
    if container.path == ".":
        rules += sorted(sources.OF_A_PROJECT)
    return rules + [f"{prefix}{name}" for name in (sources.IGNORE_FILE, *container.exclude)]


def _tag(*content: str) -> str:
    return hashlib.sha256("\0".join(content).encode()).hexdigest()[:16]
