"""What is said of trials that failed."""

from __future__ import annotations

import pytest

from xmgen.commands import output
from xmgen.commands.results import print_failures
from xmgen.errors import InputError, Problem
from xmgen.pulumi_cli.trials import Trial


def test_a_long_reason_keeps_its_beginning_and_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "job a ended with exit code 1; log: a.log\n" + "\n".join(f"    line {number}" for number in range(20))
    print_failures([Trial(name="a", arguments={}, status="failed", log="a.log", reasons=(reason,))])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:5] == ["a failed", "  job a ended with exit code 1; log: a.log", "      …", "      line 6"]
    assert lines[-1] == "      line 19"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\n  text\n", "plain\n  text"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("a\tb", "a       b"),
        ("bell\x07 \u202e", "bell\\x07 \\u202e"),
    ],
)
def test_what_a_program_says_to_a_terminal_is_not_passed_on(text: str, expected: str) -> None:
    assert output.readable(text) == expected


def test_nothing_that_is_said_speaks_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    said = "\x1b[31mred\x07 \u202e"
    output.say(f"two\nlines {said}")
    output.print_error(InputError(Problem(said, where=said, hint=said)))
    written = capsys.readouterr()
    escaped = r"\x1b[31mred\x07 \u202e"
    assert written.out == f"two\nlines {escaped}\n"
    assert written.err == f"error: {escaped}: {escaped}\n  {escaped}\n"


@pytest.mark.parametrize("columns", [1, 10, 80])
def test_a_terminal_of_any_width_shows_everything(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    output.print_table(("unit", "rate", "loss", "status"), [("train", "0.1", 0.25, "finished")])
    shown = output.readable(capsys.readouterr().out)
    assert all(text in shown for text in ("train", "0.1", "0.25", "finished"))
