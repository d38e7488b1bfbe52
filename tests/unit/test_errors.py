"""What a message says of a word that is not known."""

from __future__ import annotations

import pytest

from xmgen.errors import did_you_mean


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        pytest.param("lisst", ["grid", "list"], "did you mean 'list'?", id="a close word"),
        pytest.param("zebra", ["list", "grid"], "known: grid, list", id="none is close"),
        pytest.param("zebra", ["list", "grid", "list"], "known: grid, list", id="each once"),
        pytest.param("3x3", ["16x16", "2x4"], "known: 2x4, 16x16", id="by size"),
        pytest.param("zebra", [], "", id="nothing is known"),
    ],
)
def test_an_unknown_word_is_answered_with_those_that_are_known(word: str, known: list[str], hint: str) -> None:
    assert did_you_mean(word, known) == hint
