"""Lines of a log, as a state keeps and a terminal shows them."""

from __future__ import annotations

import pytest

from xmgen.terminal_lines import LONGEST, cut, drawn


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("loss: 0.1", "loss: 0.1"),
        ("", ""),
        ("epoch 1\repoch 2\repoch 3", "epoch 3"),
        ("epoch 1\repoch 2\r", "epoch 2"),
        ("windows\r", "windows"),
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
    ],
)
def test_what_a_terminal_shows_in_the_end(line: str, expected: str) -> None:
    assert drawn(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"), [("x" * LONGEST, "x" * LONGEST), ("x" * (LONGEST + 1), "x" * LONGEST + "…")]
)
def test_a_long_line_is_cut(line: str, expected: str) -> None:
    assert cut(line) == expected
