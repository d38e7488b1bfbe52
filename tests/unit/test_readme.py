"""The README shows the files as they are, and all pages link to, and name, what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"<!-- (\S+) -->\n```python\n(.*?)```", README, flags=re.DOTALL)
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
# Of this repository: those of a user's project begin otherwise. Labels of objects, such as `xmgen/unit`, look like
# paths but for their ends.
PATHS = re.compile(r"`((?:xmgen|templates|tests|tools|docs|benchmarks|examples|\.ci)/[\w./*-]*(?:/|\.\w+))`")


def test_three_files_are_shown() -> None:
    assert [path for path, _ in SHOWN] == [
        "examples/quickstart/launcher.py",
        "stacks/quickstart/executables.py",
        "stacks/quickstart/jobs.py",
    ]


@pytest.mark.parametrize(("path", "text"), SHOWN)
def test_a_file_is_shown_as_it_is(path: str, text: str) -> None:
    assert text == (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    named = PATHS.findall(page.read_text(encoding="utf-8"))
    assert [path for path in named if not any(ROOT.glob(path))] == []


def test_the_map_has_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {f"{file.parent.relative_to(ROOT)}/" for file in ROOT.glob("xmgen/**/__init__.py")}
    # The packages of XManager's API are one room.
    rooms = {room for room in rooms if not room.startswith("xmgen/frontends/xmanager/api/")} | {
        "xmgen/frontends/xmanager/api/"
    }
    assert [room for room in sorted(rooms) if f"| `{room}` |" not in page] == []
