"""No value becomes code: what reaches generated text has passed a filter."""

from __future__ import annotations

import ast
import json

import jinja2
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from xmgen import templating
from xmgen.errors import InputError

NASTY = [
    '", __import__("os").system("id"), "',
    "'''",
    '"""',
    "\\",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "\r\n# x",
    "\u202e",
    "🎉",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values) | st.tuples(values, values),
)


def environment(monkeypatch: pytest.MonkeyPatch, **templates: str) -> None:
    # The real environment with other templates.
    real = templating._environment()  # type: ignore[reportPrivateUsage]
    overlay = real.overlay(loader=jinja2.DictLoader(templates))
    monkeypatch.setattr(templating, "_environment", lambda: overlay)


@given(VALUES)
def test_a_python_literal_is_the_value_and_nothing_else(value: object) -> None:
    assert ast.literal_eval(templating.python_literal(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}, b"x"])
def test_what_has_no_literal_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        templating.python_literal(value)


def test_a_subclass_of_str_prints_as_its_text() -> None:
    class Evil(str):
        def __repr__(self) -> str:
            return "exec('')"

    assert templating.python_literal(Evil("x")) == "'x'"


def test_an_unfiltered_value_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, bad="x = {{ value }}", good="x = {{ value | py }}", missing="x = {{ nothing | py }}")
    with pytest.raises(TypeError, match="filtered"):
        templating.render("bad", value="1")
    assert templating.render("good", value="1") == "x = '1'"
    with pytest.raises(jinja2.UndefinedError):
        templating.render("missing")


@given(st.text() | st.sampled_from(NASTY))
def test_a_docstring_stays_one(text: str) -> None:
    tree = ast.parse(f"{templating.docstring(text)}\n")
    assert ast.get_docstring(tree, clean=False) == templating.one_line(text)
    assert len(tree.body) == 1


@given(st.text() | st.sampled_from(NASTY))
def test_a_comment_ends_with_its_line(text: str) -> None:
    assert ast.parse(f"# {templating.comment(text)}\nx = 1").body[0].lineno == 2
    assert yaml.safe_load(f"# {templating.comment(text)}\nx: 1") == {"x": 1}


@given(st.text() | st.sampled_from([*NASTY, "-->", "--->", "a--!>b"]))
def test_an_html_comment_is_not_ended(text: str) -> None:
    assert "--" not in templating.html_comment(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "`plain`"),
        ("", ""),
        ("a | b", "`a \\| b`"),
        ("`x`", "`` `x` ``"),
        ("line\nbreak", "`line break`"),
    ],
)
def test_code_spans(text: str, shown: str) -> None:
    assert templating.code_span(text) == shown


def test_markdown_shows_markup_as_text() -> None:
    assert templating.markdown("<b>|[x](y)`") == "\\<b\\>\\|\\[x\\]\\(y\\)\\`"


@pytest.mark.parametrize("image", ["python:3.12", "gcr.io/p/i@sha256:00", "localhost:5000/x_y"])
def test_a_word_passes(image: str) -> None:
    assert templating.word(image) == image


@pytest.mark.parametrize("image", ["", "a b", "a\nRUN x", "$X", 'a"b', "a\\"])
def test_what_is_no_word_is_refused(image: str) -> None:
    with pytest.raises(InputError):
        templating.word(image)


@given(st.lists(st.text()))
def test_an_entry_point_is_its_json(argv: list[str]) -> None:
    text = templating.json_literal(argv)
    assert json.loads(text) == argv
    assert "\n" not in text
