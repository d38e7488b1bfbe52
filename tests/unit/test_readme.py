"""The README shows the files as they are, and links to what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"<!-- (\S+) -->\n```python\n(.*?)```", README, flags=re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


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
