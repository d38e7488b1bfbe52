"""What YAML's plain values become, and which files are refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.unit.spec_files import HEAD, problems
from xmgen.errors import InputError
from xmgen.frontends.spec import document


def value_of(tmp_path: Path, text: str) -> object:
    file = tmp_path / "file.yaml"
    file.write_text(text, encoding="utf-8")
    return document.read(file, "file.yaml").value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("+1", 1),
        ("0", 0),
        ("0x1F", 31),
        ("0o17", 15),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e-5", 1e-5),
        ("1E5", 1e5),
        ("1.5e3", 1500.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        # What YAML 1.1 reads as something else is a text.
        ("no", "no"),
        ("On", "On"),
        ("y", "y"),
        ("007", "007"),
        ("010", "010"),
        ("00.5", "00.5"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("=", "="),
        ("0b11", "0b11"),
        ("1e", "1e"),
        (".", "."),
        ("+", "+"),
        ("٣", "٣"),
        ("9" * 5000, "9" * 5000),
        # Quotes and tags decide.
        ("'1'", "1"),
        ('"1e-5"', "1e-5"),
        ("!!str 1", "1"),
        ("!!str true", "true"),
        ("!!float 1", 1.0),
        ("!!int '3'", 3),
    ],
)
def test_plain_values_follow_yaml_1_2(tmp_path: Path, text: str, value: object) -> None:
    read = value_of(tmp_path, f"key: {text}\n")
    assert read == {"key": value}
    assert type(read["key"]) is type(value)  # type: ignore[index]


def test_not_a_number(tmp_path: Path) -> None:
    assert str(value_of(tmp_path, ".nan\n")) == "nan"


def test_keys_are_the_text_as_written(tmp_path: Path) -> None:
    read = value_of(tmp_path, "{1: a, true: b, 1.0: c, ~: d, on: e, 0x1: f}")
    assert list(read) == ["1", "true", "1.0", "~", "on", "0x1"]  # type: ignore[call-overload]


def test_merge_keys_give_way_to_the_mapping_that_merges_them(tmp_path: Path) -> None:
    text = "{a: &a {x: 1, y: 2}, b: &b {y: 3, z: 4}, c: {<<: [*a, *b], x: 5}, d: {'<<': 1}}"
    read = value_of(tmp_path, text)
    assert read["c"] == {"y": 2, "z": 4, "x": 5}  # type: ignore[index]
    assert read["d"] == {"<<": 1}  # type: ignore[index]


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    assert value_of(tmp_path, "\ufeffa: 1\n") == {"a": 1}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("# only a comment\n", "is empty"),
        ("title: T\n---\ntitle: U\n", "2: holds more than one document\n  remove the line `---` and what follows it"),
        ("title:\n\t- x\n", "2: is indented with a tab\n  YAML is indented with spaces"),
        ("a: b: c\n", "1: is not valid YAML: mapping values are not allowed in this context"),
        (
            "a: [1, 2\n",
            "2: is not valid YAML: did not find expected ',' or ']'\n  while parsing a flow sequence",
        ),
        ("a: *b\n", "1: is not valid YAML: found undefined alias"),
        ("a: &a [*a]\n", "1: an alias refers to what contains it"),
        ("a: 1\nb: 2\na: 3\n", "3: the key 'a' is there twice"),
        ("a: {x: 1, 'x': 2}\n", "1: the key 'x' is there twice"),
        ("a: 1\n? [b]\n: 2\n", "2: a key must be a text"),
        ("a: {<<: 5}\n", "1: only a mapping can be merged with `<<`"),
        (
            "a: 1\nb: !!python/object/apply:os.system [ls]\n",
            "2: the tag !!python/object/apply:os.system does not belong here",
        ),
        ("a: !mine 5\n", "1: the tag !mine does not belong here"),
        ("a: !!int x\n", "1: the tag !!int does not belong here"),
        ("a: !!binary aGk=\n", "1: the tag !!binary does not belong here"),
        ("a: !!set {x}\n", "1: the tag !!set does not belong here"),
        (b"a: \xff\n", "is not UTF-8 text (byte 4)"),
        ("a: 1".encode("utf-16"), "is not UTF-8 text (byte 1)"),
        (
            "a: 1\nä: \x01\n",
            '2: holds a control character\n  in a double-quoted text it can be written as an escape, such as "\\x07"',
        ),
        (
            'a: "\\ud800"\n',
            "1: is not valid YAML: found invalid Unicode character escape code\n  while parsing a quoted scalar",
        ),
        (BOMB, "6: holds more than 1000000 values"),
        ("[" * 900 + "]" * 900, "is nested too deeply"),
        (
            "[" * 5000 + "]" * 5000,
            "1: is not valid YAML: exceeded maximum nesting depth\n  while increasing flow level",
        ),
        ("- a\n- b\n", "1: must be a mapping, not a list"),
        ("text\n", "1: must be a mapping, not the text 'text'"),
    ],
)
def test_a_file_that_is_no_such_document(tmp_path: Path, text: str | bytes, expected: str) -> None:
    assert problems(tmp_path, text) == [expected]


def test_what_is_wrong_with_the_document_is_reported_together(tmp_path: Path) -> None:
    assert problems(tmp_path, "a: 1\na: 2\nb: !x 3\nb: 4\n") == [
        "2: the key 'a' is there twice",
        "4: the key 'b' is there twice",
        "3: the tag !x does not belong here",
    ]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^none\.yaml: cannot be read: No such file or directory$"):
        document.read(tmp_path / "none.yaml", "none.yaml")


def test_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^folder: cannot be read: Is a directory$"):
        document.read(tmp_path, "folder")


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    with file.open("wb") as stream:
        stream.truncate(document.MAX_BYTES + 1)
    with pytest.raises(InputError, match=r"^huge\.yaml: is larger than 32 MiB$"):
        document.read(file, "huge.yaml")


def test_windows_line_ends(tmp_path: Path) -> None:
    text = (HEAD + "  train: {job: 5}\n").replace("\n", "\r\n")
    assert problems(tmp_path, text) == ["5 work_units.train.job: must be a mapping, not the number 5"]
