"""The comparison with Caliban's own answers (`python -m tests.vectors caliban`), on vectors of ours.

Their answers are Caliban's, its defects included: what is ours on purpose is a rule.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import __main__ as command
from tests.vectors import caliban, caliban_answers, caliban_rules

FILE = Path(caliban.__file__).with_name("caliban_own.json")
VECTORS: list[dict[str, Any]] = json.loads(FILE.read_bytes())["vectors"]
DOCS = Path(__file__).parents[2] / "docs" / "caliban.md"


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_our_answer_is_calibans_or_follows_a_rule(vector: dict[str, Any]) -> None:
    assert caliban.compare(vector)[0] == ""


def test_every_category_has_a_vector() -> None:
    assert {vector["category"] for vector in VECTORS} == set(caliban_answers.ANSWERS)


def test_every_rule_is_needed_and_documented() -> None:
    used = {rule for vector in VECTORS for rule in caliban.compare(vector)[1]}
    assert used == set(caliban_rules.RULES)
    text = DOCS.read_text(encoding="utf-8")
    assert [name for name in caliban_rules.RULES if f"| {name} |" not in text] == []


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_another_answer_of_ours_fails(vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(caliban_answers.ANSWERS, vector["category"], lambda _: {"not": "this"})
    assert caliban.compare(vector)[0].startswith(f"{vector['id']}: ")


def test_a_wrong_expectation_fails() -> None:
    wrong = {"id": "x", "category": "label_key", "input": "a", "expected": "b"}
    assert caliban.compare(wrong)[0] == 'x: "a"\n  theirs "b"\n  ours   "a"'


def test_order_counts_where_it_means_something() -> None:
    given = {"a": 1, "b": 2}
    assert caliban.compare({"id": "x", "category": "expand", "input": given, "expected": [{"b": 2, "a": 1}]})[0]
    assert not caliban.compare(
        {"id": "x", "category": "sanitize_labels", "input": {"a": "1", "b": "2"}, "expected": {"b": "2", "a": "1"}}
    )[0]


def test_the_command_prints_categories_then_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "vectors.json"
    right = {"id": "1", "category": "zone", "input": "-", "expected": None}
    wrong = {"id": "2", "category": "zone", "input": "-", "expected": ["a", "b"]}
    unknown = {"id": "3", "category": "what", "input": 1, "expected": 1}
    file.write_text(json.dumps({"vectors": [right, wrong, unknown]}))
    assert command.main(["caliban", "--vectors", str(file)]) == 1
    assert capsys.readouterr().out == (
        "zone                    1 passed    1 failed\n"
        "what                    0 passed    1 failed\n"
        "1 of 3 vectors passed, 0 of them by a rule\n"
        'FAIL 2: "-"\n  theirs ["a", "b"]\n  ours   null\n'
        "FAIL 3: unknown category 'what'\n"
    )
    file.write_text(json.dumps({"vectors": [right]}))
    assert command.main(["caliban", "--vectors", str(file)]) == 0
    file.write_text("[]")
    assert command.main(["caliban", "--vectors", str(file)]) == 1
