"""Programs of stacks on GKE, generated and run once for all tests of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import gcp_programs
from tests.gcp_programs import Play, Program
from tests.gke_stacks import CONFIG, REFUSED, STACKS, VARIANTS, written


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return written(tmp_path_factory.mktemp("stacks"), STACKS)


@pytest.fixture(scope="session")
def played(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    refused = written(tmp_path_factory.mktemp("refused"), REFUSED)
    plays = {name: Play(folder, CONFIG) for name, folder in {**folders, **refused}.items()}
    plays |= {variant: Play(folders[name], config) for variant, (name, config) in VARIANTS.items()}
    return gcp_programs.run(plays)
