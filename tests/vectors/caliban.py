"""Compares our answers with what Caliban's own functions answered: a file of vectors, or ours in tests/launchers.

A vector has `id`, `category`, `input`, and `expected` or `error`; an error says only that the input is rejected.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.vectors import caliban_answers, caliban_rules
from tests.vectors.caliban_answers import REJECTED

ORDERED = frozenset({"expand", "config_text", "args", "job_args", "dockerfile"})
"""Categories in which the order of keys counts."""


def run(file: Path) -> bool:
    """Print what passed and failed per category, then every failure. Whether all passed."""
    try:
        vectors: list[dict[str, Any]] = json.loads(file.read_bytes())["vectors"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"FAIL {file}: no vectors there ({error})")
        return False
    passed: Counter[str] = Counter()
    ruled: Counter[str] = Counter()
    failures: list[str] = []
    for vector in vectors:
        category = str(vector.get("category"))
        difference, rules = compare(vector)
        if difference:
            failures.append(difference)
        else:
            passed[category] += 1
            ruled[category] += bool(rules)
    for category in dict.fromkeys(str(vector.get("category")) for vector in vectors):
        total = sum(str(vector.get("category")) == category for vector in vectors)
        by_rule = f", {ruled[category]} by a rule" if ruled[category] else ""
        print(f"{category:20} {passed[category]:4} passed {total - passed[category]:4} failed{by_rule}")
    print(f"{passed.total()} of {len(vectors)} vectors passed, {ruled.total()} of them by a rule")
    for failure in failures:
        print(f"FAIL {failure}")
    return bool(vectors) and not failures


def compare(vector: dict[str, Any]) -> tuple[str, list[str]]:
    """What is different, empty when nothing is; and the rules by which our answer differs on purpose."""
    name, category = vector.get("id"), vector.get("category")
    answer = caliban_answers.ANSWERS.get(str(category))
    if answer is None:
        return f"{name}: unknown category {category!r}", []
    try:
        ours = caliban_answers.answer(answer, vector["input"])
    except Exception as error:  # noqa: BLE001 — any traceback is a failure of that vector
        return f"{name}: {type(error).__name__}: {error}", []
    ordered = category in ORDERED
    expected = REJECTED if "error" in vector else vector["expected"]
    if _text(ours, ordered) == _text(expected, ordered):
        return "", []
    by_rule, rules = caliban_rules.adjusted(vector, expected)
    if rules and _text(ours, ordered) == _text(by_rule, ordered):
        return "", rules
    named = f" (by {', '.join(rules)}: {_text(by_rule, True)})" if rules else ""
    return (
        f"{name}: {_text(vector['input'], True)}\n"
        f"  theirs {_text(expected, True)}{named}\n  ours   {_text(ours, True)}",
        rules,
    )


def _text(value: Any, ordered: bool) -> str:
    return json.dumps(value, sort_keys=not ordered, ensure_ascii=False)
