"""A rehearsal that builds: an image goes from source to digest to Job, and is what the manifest says."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import signal
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.client import DockerClient
from docker.errors import ImageNotFound

from tests.docker.images import BASE
from tests.engine.harness import until
from tests.rehearsal.processes import SECONDS
from xmgen import project
from xmgen.commands import target
from xmgen.errors import OperationError
from xmgen.project import Project
from xmgen.provider.resource import Request
from xmgen.pulumi_cli.events import Change, Message, Progress
from xmgen.rehearsal import images
from xmgen.rehearsal.rehearsal import Options, Rehearsal
from xmgen.rehearsal.report import Report, markdown, sentences
from xmgen.resource_types import IMAGE
from xmgen.stack import init
from xmgen.stack.compiled import CompiledStack
from xmgen.urns import Urn

pytestmark = [pytest.mark.docker, pytest.mark.rehearsal]

PYTHON = "xmgen-test-python:latest"
"""The base image with the `python` that a generated Dockerfile's entry point has."""

ARGUMENTS = ["--text=a  b", "\"'$HOME `x` $$ $(Y) $$(Z) \\ ü 🎉\n end", "", "-"]

SHOW = """\
import json, os, pathlib, sys

files = sorted(str(path) for path in pathlib.Path(".").rglob("*"))
print(json.dumps({"argv": sys.argv[1:], "user": [os.getuid(), os.getgid()], "files": files, "says": "SAYS"}))
"""

JOB = {
    "executable": "show",
    "executor": {"kind": "kubernetes", "requirements": {"cpu": 1, "ram": "1GiB"}},
    "args": ARGUMENTS,
}


@pytest.fixture(scope="module")
def registry() -> str:
    if "XMGEN_TEST_REGISTRY" not in os.environ:
        pytest.skip("there is no registry, see tools/with_docker.py")
    return os.environ["XMGEN_TEST_REGISTRY"]


@pytest.fixture(scope="module")
def daemon() -> Iterator[DockerClient]:
    client = docker.from_env()
    instructions = f"FROM {BASE}\nRUN ln -s python3 /usr/bin/python\n"
    client.images.build(fileobj=io.BytesIO(instructions.encode()), tag=PYTHON, rm=True)
    yield client
    client.close()


@pytest.fixture(scope="module")
def own_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("project")
    init.init(root)
    return project.read(root)


@pytest.fixture(scope="module")
def building(
    google_sdks: None, registry: str, own_project: Project, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rehearsal]:
    options = Options(pod_seconds=1, registry=registry)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XMGEN_PYTHON", sys.executable)
        with Rehearsal(own_project, tmp_path_factory.mktemp("rehearsal"), options) as rehearsal:
            yield rehearsal


def compiled(project: Project, stack: str, executable: dict[str, Any], files: dict[str, str]) -> CompiledStack:
    executables = {"show": {"path": ".", **executable}}
    source = {"title": "Show", "executables": executables, "work_units": {"one": {"job": JOB}}}
    for name, text in {**files, "experiment.yaml": json.dumps(source, ensure_ascii=False)}.items():
        file = project.root / stack / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return target.compiled_stack(project, str(project.root / stack / "experiment.yaml"), stack, ())


def shown(project: Project, says: str) -> CompiledStack:
    files = {
        "show.py": SHOW.replace("SAYS", says),
        "data/kept.txt": "kept",
        "data/secret.txt": "secret",
        "runs/1/loss.txt": "0.5",
        "runs/keep.txt": "kept",
        "__pycache__/show.pyc": "left behind",
        ".dockerignore": "# what is no code\n**/secret*\nruns/*\n!runs/keep.txt\n",
    }
    executable = {"kind": "python_container", "base_image": PYTHON, "entrypoint": {"module_name": "show"}}
    return compiled(project, "show", executable, files)


def manifest(registry: str, repository: str, reference: str) -> tuple[str, bytes]:
    """The registry's own digest of a manifest, and the manifest."""
    kinds = ("application/vnd.docker.distribution.manifest.v2+json", "application/vnd.oci.image.manifest.v1+json")
    url = f"http://{registry}/v2/{repository}/manifests/{reference}"
    request = urllib.request.Request(url, headers={"Accept": ", ".join(kinds)})
    with urllib.request.urlopen(request) as answer:
        return answer.headers["Docker-Content-Digest"], answer.read()


def expanded(text: str) -> str:
    """What a container gets, as Kubernetes expands an argument without variables."""
    return text.replace("$$", "$")


def printed(daemon: DockerClient, image: str, arguments: list[str]) -> dict[str, Any]:
    """What the program tells of itself, in a container of an image that the daemon gets from the registry."""
    # The interpreter is to leave nothing among the files that it lists.
    output = daemon.containers.run(image, arguments, environment={"PYTHONDONTWRITEBYTECODE": "1"}, remove=True)
    daemon.images.remove(image)
    return json.loads(output)


def jobs(rehearsal: Rehearsal, plan: CompiledStack) -> list[str]:
    (namespace,) = rehearsal.namespaces(plan)
    found = rehearsal.cluster.api().items(f"/apis/batch/v1/namespaces/{namespace}/jobs")
    return [job["metadata"]["name"] for job in found if not job["metadata"].get("deletionTimestamp")]


def containers(rehearsal: Rehearsal, plan: CompiledStack) -> list[dict[str, Any]]:
    """Those of the jobs' pods."""
    (namespace,) = rehearsal.namespaces(plan)
    there = jobs(rehearsal, plan)
    pods = rehearsal.cluster.api().items(f"/api/v1/namespaces/{namespace}/pods")
    mine = [pod for pod in pods if pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] in there]
    return [pod["spec"]["containers"][0] for pod in mine]


def up(rehearsal: Rehearsal, plan: CompiledStack) -> dict[str, Any]:
    """Brings it up, and returns the container of its only pod."""
    report = Report(stack=plan.experiment.stack)
    rehearsal.up(plan, report)
    assert report.failures == []
    assert rehearsal.observer.wait(lambda: bool(containers(rehearsal, plan)), SECONDS)
    (container,) = containers(rehearsal, plan)
    return container


def test_an_image_goes_from_source_to_digest_to_job(
    building: Rehearsal, own_project: Project, daemon: DockerClient, registry: str
) -> None:
    plan = shown(own_project, "first")
    container = up(building, plan)

    host, _, rest = container["image"].partition("/")
    assert host.endswith("-docker.pkg.dev")
    name, _, digest = rest.partition("@")
    repository, _, tag = name.rpartition(":")
    known, content = manifest(registry, repository, digest)
    assert known == digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert manifest(registry, repository, tag) == (known, content)
    assert [expanded(text) for text in container["args"]] == ARGUMENTS

    # What the registry has, not what the daemon still knows.
    daemon.images.remove(f"{registry}/{name}")
    assert printed(daemon, f"{registry}/{repository}@{digest}", [*map(expanded, container["args"])]) == {
        "argv": ARGUMENTS,
        "user": [1000, 1000],
        "files": ["data", "data/kept.txt", "runs", "runs/keep.txt", "show.py"],
        "says": "first",
    }
    (first_job,) = jobs(building, plan)

    plan = shown(own_project, "second")
    after_up: list[tuple[list[str], list[str]]] = []

    def look(phase: str, progress: Progress, change: Change | None) -> None:
        if (phase, change) == ("second up", None):
            used = [container["image"] for container in containers(building, plan)]
            after_up.append((jobs(building, plan), used))

    report = building.run(plan, listener=look)
    assert report.fits, markdown(report)
    assert f"images: built and pushed to {registry}: show" in sentences(report)
    [([second_job], [image])] = after_up
    assert (report.images, second_job != first_job) == ({"show": image}, True)
    name, _, second = image.partition("@")
    assert second != digest
    # The registry keeps what the daemon has no more.
    with pytest.raises(ImageNotFound):
        daemon.images.get(images.pushed(name, registry))
    assert printed(daemon, f"{registry}/{repository}@{second}", [])["says"] == "second"


def test_a_failing_build_is_a_failure_of_its_image_with_the_builders_last_lines(
    building: Rehearsal, own_project: Project
) -> None:
    dockerfile = f"FROM {BASE}\nRUN echo installing && echo no such package >&2 && exit 5\n"
    plan = compiled(own_project, "broken", {"kind": "dockerfile"}, {"Dockerfile": dockerfile})
    report = building.run(plan)
    (failure,) = report.failures
    first, *output = failure.message.splitlines()
    assert first.startswith("show: broken/Dockerfile: image of show cannot be built: The command '/bin/sh -c echo")
    assert "returned a non-zero code: 5" in first
    assert {"installing", "no such package"} < {line.strip() for line in output}
    assert "Traceback" not in failure.message
    assert (report.fits, report.left, report.images) == (False, [], {})


def test_ctrl_c_ends_a_build_too(building: Rehearsal, own_project: Project, daemon: DockerClient) -> None:
    plan = compiled(own_project, "endless", {"kind": "dockerfile"}, {"Dockerfile": f"FROM {BASE}\nRUN sleep 301\n"})

    def builds() -> list[str]:
        running = daemon.containers.list(ignore_removed=True)
        return [each.id for each in running if "sleep 301" in str(each.attrs["Config"])]

    def interrupt(phase: str, progress: Progress, change: Change | None) -> None:
        if isinstance(change, Message) and "RUN sleep 301" in change.text:
            until(builds, "the build runs")
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        building.up(plan, Report(stack="endless"), interrupt)
    until(lambda: not builds(), "the build has ended")


class Told:
    """A rehearsal that says where images are pushed, and nothing else."""

    def __init__(self, registry: str) -> None:
        self._registry = registry

    async def ask(self, operation: str, **about: Any) -> dict[str, Any]:
        return {"registry": self._registry}

    async def info(self, text: str) -> None: ...
    async def warning(self, text: str) -> None: ...
    async def status(self, text: str) -> None: ...


def test_an_image_is_pushed_under_each_of_its_tags_and_the_daemon_keeps_none(
    daemon: DockerClient, registry: str, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {BASE}\nCOPY . /code\n")

    def inputs(*tags: str) -> dict[str, Any]:
        return {
            "tags": [f"gcr.io/acme/trainer:{tag}" for tag in tags],
            "context": {"location": str(tmp_path)},
            "dockerfile": {"location": str(tmp_path / "Dockerfile")},
            "platforms": ["linux/amd64"],
        }

    def here() -> list[str]:
        prefix = f"{registry}/acme/trainer:"
        tags = [tag for image in daemon.images.list() for tag in image.tags]
        return sorted(tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix))

    told = Told(registry)
    resource = images.ImageResource(told)
    request = Request(urn=Urn(f"urn:pulumi:s::p::{IMAGE}::trainer"), log=told)
    first, second = inputs("1a", "latest"), inputs("2b", "latest")

    state = asyncio.run(resource.create(request, first))
    digest = str(state.outputs["digest"])
    assert state.outputs["ref"] == f"gcr.io/acme/trainer:1a@{digest}"
    assert [manifest(registry, "acme/trainer", tag)[0] for tag in ("1a", "latest")] == [digest, digest]
    assert here() == ["1a", "latest"]

    (tmp_path / "new").touch()
    resource = images.ImageResource(told)
    state = asyncio.run(resource.update(request, state.id, second, first, state.outputs))
    new = str(state.outputs["digest"])
    assert [manifest(registry, "acme/trainer", tag)[0] for tag in ("1a", "2b", "latest")] == [digest, new, new]
    assert here() == ["2b", "latest"]

    asyncio.run(resource.delete(request, state.id, second, state.outputs))
    assert here() == []


def test_a_registry_that_does_not_answer_is_told_before_anything_is_begun(registry: str) -> None:
    with pytest.raises(OperationError, match=r"does not reach a registry at 127\.0\.0\.1:9: .*connection refused"):
        images.prepare("127.0.0.1:9")
    images.prepare(registry)
