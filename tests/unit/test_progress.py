"""An operation's progress as lines: what a user hears of each change."""

from __future__ import annotations

import pytest

from xmgen.commands.progress import line
from xmgen.engine.events import Change, Message, Removed, ResourceStep
from xmgen.engine.trials import Trial


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Trial(name="a", arguments={}, status="running"), "running   a"),
        (
            Trial(name="a", arguments={}, status="finished", duration=1.25, metrics={"loss": 0.12345}),
            "finished  a in 1.2 s  loss=0.1235",
        ),
        (Trial(name="a", arguments={}, status="failed", metrics={"x\n\x1b": "y\n"}), "failed    a  x\\n\\x1b=y\\n"),
        (Removed("a"), "removed   a"),
        (ResourceStep("create", "xmgen:local:Executable", "code", "started"), "creating  xmgen:local:Executable code"),
        (ResourceStep("delete", "xmgen:local:Executable", "code", "failed"), "failed    xmgen:local:Executable code"),
        (Message("error", "no space"), "error: no space"),
        (Message("error", "it ended with exit code 1", "a"), ""),
        (Message("warning", "metrics.json is left out", "a"), "warning: a: metrics.json is left out"),
        (Message("info", "step 1", "a"), ""),
    ],
)
def test_lines(change: Change, expected: str) -> None:
    assert line(change, logs=False) == expected
