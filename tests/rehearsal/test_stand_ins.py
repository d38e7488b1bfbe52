"""The stand-ins answer only to the rehearsal that made them, and nothing else finds them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.engine.harness import Project
from tests.gcp_programs import SDK
from xmgen import project
from xmgen.pulumi_cli import pulumi as cli
from xmgen.rehearsal import home
from xmgen.rehearsal.cloud.server import VARIABLE
from xmgen.rehearsal.rehearsal import Rehearsal

pytestmark = pytest.mark.rehearsal

PROGRAMS = {
    "gcp": """
        import pulumi_gcp as gcp
        gcp.storage.Bucket("bucket", location="EU", project="acme")
        """,
    "docker-build": """
        import pulumi_docker_build as docker_build
        docker_build.Image(
            "image",
            tags=["example.com/image"],
            context={"location": "."},
            dockerfile={"location": "Dockerfile"},
            platforms=[docker_build.Platform.LINUX_AMD64],
            push=True,
            build_on_preview=False,
        )
        """,
}


@pytest.fixture
def user(google_sdks: None, tmp_path: Path) -> Iterator[Project]:
    """Somebody's project, with a Pulumi home of their own."""
    made = Project.create(tmp_path)
    made.env = {**made.env, "PYTHONPATH": os.pathsep.join([str(SDK), str(ROOT)])}
    # Whether a plugin can be downloaded is not what is asked here.
    made.env["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
    yield made
    made.close()


def none(folder: Path) -> dict[str, str]:
    return {}


def gone(folder: Path) -> dict[str, str]:
    return {VARIABLE: str(folder / "cloud.sock")}


def dead(folder: Path) -> dict[str, str]:
    """As a rehearsal leaves its socket that was killed."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "cloud.sock"))
    return {VARIABLE: str(folder / "cloud.sock")}


@pytest.mark.parametrize("plugin", PROGRAMS)
@pytest.mark.parametrize("variables", [none, gone, dead])
def test_without_a_rehearsal_they_refuse_everything(
    plugin: str, variables: Callable[[Path], dict[str, str]], user: Project, tmp_path: Path
) -> None:
    folder = tmp_path / "rehearsal"
    folder.mkdir()
    made = home.make(folder, project.find(ROOT), "token")
    user.program(PROGRAMS[plugin])
    outcome = user.up(PULUMI_HOME=str(made.pulumi), **variables(folder))
    assert not outcome.ok
    assert (
        f"this is no provider for {plugin} but a stand-in that answers only to a rehearsal of xmgen" in outcome.output
    )
    assert "Traceback" not in outcome.output


@pytest.mark.parametrize("plugin", PROGRAMS)
def test_beside_a_rehearsal_nobody_else_finds_them(plugin: str, user: Project, rehearsal: Rehearsal) -> None:
    assert rehearsal.pulumi.environment()["PULUMI_HOME"] == str(rehearsal.folder / "pulumi-home")
    user.program(PROGRAMS[plugin])
    outcome = user.up()
    assert not outcome.ok
    assert f"no resource plugin 'pulumi-resource-{plugin}' found" in outcome.output


def test_what_xmgen_itself_gives_the_engine_is_the_users_own(rehearsal: Rehearsal) -> None:
    environment = cli.find(project.find(ROOT)).environment()
    assert VARIABLE not in environment
    assert not [value for value in environment.values() if str(rehearsal.folder) in value]
