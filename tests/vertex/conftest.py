from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vertex import protos
from tests.vertex.job_service import JobService
from tests.vertex.project import Vertex
from xmgen.provider import custom_job_api


@pytest.fixture
def service() -> Iterator[JobService]:
    if not protos.FOLDER.is_dir():
        pytest.skip("there are no messages of Vertex AI; `make test` unpacks them")
    with JobService() as service:
        yield service


@pytest.fixture
def vertex(tmp_path: Path, service: JobService) -> Iterator[Vertex]:
    project = Vertex.of(tmp_path, service)
    yield project
    project.close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider waits a moment only before it asks again."""
    monkeypatch.setattr(custom_job_api, "_FIRST_DELAY", 0.01)
