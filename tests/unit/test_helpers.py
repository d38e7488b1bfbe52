"""What a helper of the tests asserts is shown, when it fails, as what a test asserts is."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

HELPERS = sorted(
    path.relative_to(ROOT)
    for path in (ROOT / "tests").rglob("*.py")
    if not path.name.startswith(("test_", "__")) and "launchers" not in path.parts
)


@pytest.mark.parametrize("path", HELPERS, ids=str)
def test_helpers_are_loaded_as_this_test_is(path: Path) -> None:
    helper, this = find_spec(".".join(path.with_suffix("").parts)), find_spec(__name__)
    assert helper is not None and this is not None
    assert type(helper.loader) is type(this.loader)
