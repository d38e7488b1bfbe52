from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.client import DockerClient

from tests.docker.images import Image
from tests.engine.harness import Project


@pytest.fixture
def daemon() -> Iterator[DockerClient]:
    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project whose executables run in containers."""
    project = Project.create(tmp_path, {"runner": "container"})
    yield project
    project.close()


@pytest.fixture
def image(project: Project, daemon: DockerClient) -> Iterator[Image]:
    """The image `trial`: its entry point runs the first argument as a script, as the process `trial` does."""
    remove_built(daemon)
    yield Image(project).write()
    remove_built(daemon)


def remove_built(daemon: DockerClient) -> None:
    for built in daemon.images.list(filters={"label": "xmgen.executable"}):
        daemon.images.remove(built.id, force=True)
