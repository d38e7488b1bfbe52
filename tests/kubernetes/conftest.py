from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import ROOT
from tests.kubernetes.dry_run import DryRun
from xmgen.rehearsal.controlplane import Binaries, ControlPlane


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    return Binaries.find(ROOT / ".tools" / "bin")


@pytest.fixture(scope="session")
def control_plane(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One for all tests that do not stop it."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), binaries) as control_plane:
        yield control_plane


@pytest.fixture(scope="session")
def dry_run(control_plane: ControlPlane) -> DryRun:
    return DryRun(control_plane.api())
