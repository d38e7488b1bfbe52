"""What tests share is in modules of helpers; what those assert is shown, when it fails, as what a test asserts is."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

MODULES = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py") if "launchers" not in path.parts)
HELPERS = [path for path in MODULES if not path.name.startswith(("test_", "__"))]


@pytest.mark.parametrize("path", HELPERS, ids=str)
def test_helpers_are_loaded_as_this_test_is(path: Path) -> None:
    helper, this = find_spec(".".join(path.with_suffix("").parts)), find_spec(__name__)
    assert helper is not None and this is not None
    assert type(helper.loader) is type(this.loader)


def of_test_modules(text: str) -> list[str]:
    """What is imported from test modules."""
    imported: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported += [f"{node.module or ''}.{each.name}" for each in node.names]
    return [each for each in imported if any(part.startswith("test_") for part in each.split("."))]


def test_no_module_imports_from_a_test_module() -> None:
    found = {str(path): of_test_modules((ROOT / path).read_text(encoding="utf-8")) for path in MODULES}
    assert {path: imports for path, imports in found.items() if imports} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from tests.unit.test_names import NAME", ["tests.unit.test_names.NAME"]),
        ("from tests.unit import test_names", ["tests.unit.test_names"]),
        ("from .test_names import NAME", ["test_names.NAME"]),
        ("def later():\n    import tests.unit.test_names as names", ["tests.unit.test_names"]),
        ("from tests.builders import job, experiment", []),
    ],
)
def test_imports_from_test_modules_are_found(text: str, found: list[str]) -> None:
    assert of_test_modules(text) == found
