from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.harness import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project.create(tmp_path)
    yield project
    project.close()
