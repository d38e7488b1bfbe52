"""Changed code stops Pulumi before anything is built from it, and code as it was compiled does not."""

from __future__ import annotations

import pytest

from tests.engine.harness import Project

pytestmark = pytest.mark.engine

PROGRAM = """
from xmgen.provider.code import Code

code = Code("trainer", directory="code/train.py", digest={digest!r})
pulumi.export("code", code.urn)
"""


def test_changed_code_is_refused_by_preview_and_up(project: Project) -> None:
    digest = project.code("train.py", "print(1)")
    project.program(PROGRAM.format(digest=digest))
    assert project.up().ok
    second = project.up()
    assert second.ok and "unchanged" in second.output
    project.code("train.py", "print(2)")
    for refused in (project.preview(), project.up()):
        assert not refused.ok
        assert "code of trainer changed after the compile" in refused.output
    project.code("train.py", "print(1)")
    assert project.up().ok
    assert project.destroy().ok
