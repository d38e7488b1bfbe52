"""An operation's progress as lines: what a user hears of each change."""

from __future__ import annotations

import pytest

from xmgen.commands.operate import closing
from xmgen.commands.operation import Outcome
from xmgen.commands.progress import line
from xmgen.pulumi_cli.events import Change, Message, Progress, Removed, ResourceStep
from xmgen.pulumi_cli.trials import Trial


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
def test_a_change_is_said_in_one_line_or_left_to_the_log(change: Change, expected: str) -> None:
    assert line(change, logs=False) == expected


FINISHED = Trial(name="a", arguments={}, status="finished")
FAILED = Trial(name="b", arguments={}, status="failed")


@pytest.mark.parametrize(
    ("units", "outcome", "expected"),
    [
        ([FINISHED], "succeeded", "s: 1 finished. `xmgen destroy s` removes it."),
        (
            [FINISHED, FAILED],
            "succeeded",
            "s: 1 finished, 1 failed. `xmgen up s` runs again what failed, `xmgen destroy s` removes it.",
        ),
        ([FINISHED, FAILED], "failed", "s: 1 finished, 1 failed. `xmgen up s` runs again what did not finish."),
        ([FINISHED], "interrupted", "s: interrupted; 1 finished. `xmgen up s` goes on from here."),
        ([], "succeeded", "s is up. `xmgen destroy s` removes it."),
        ([], "failed", "s is not up, or not all of it. `xmgen up s` tries again."),
        ([], "interrupted", "s: interrupted. `xmgen up s` goes on from here."),
    ],
)
def test_the_last_words_of_up(units: list[Trial], outcome: Outcome, expected: str) -> None:
    assert closing("s", outcome, Progress(units={unit.name: unit for unit in units})) == f"\n{expected}"
