"""experiment.json: how it is read, what it expands to, and which flags that makes."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from xmgen.cli import cli
from xmgen.errors import InputError
from xmgen.frontends.caliban import commented_json, flags
from xmgen.frontends.caliban.expansion import expand

NAMES = st.text(st.characters(codec="utf-8", exclude_characters=",[]", exclude_categories=("Z", "C")), min_size=1)
SCALARS = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())
AXES = st.dictionaries(NAMES, st.one_of(SCALARS, st.lists(SCALARS, max_size=4)), max_size=4)


def problems(config: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        expand(config, "sweep.json")
    return [str(problem) for problem in caught.value.problems]


@given(AXES)
def test_as_many_experiments_as_the_product_of_the_axes(config: dict[str, Any]) -> None:
    sizes = [len(value) if isinstance(value, list) else 1 for value in config.values()]
    assert len(list(expand(config))) == math.prod(sizes)


@given(AXES)
def test_the_first_key_varies_fastest_and_keys_keep_their_order(config: dict[str, Any]) -> None:
    axes = [value if isinstance(value, list) else [value] for value in config.values()]
    wanted = [dict(zip(config, values[::-1], strict=True)) for values in itertools.product(*axes[::-1])]
    assert json.dumps(list(expand(config))) == json.dumps(wanted)


@given(st.lists(AXES, max_size=3))
def test_expanding_an_expansion_changes_nothing(configs: list[dict[str, Any]]) -> None:
    once = list(expand(configs))
    assert json.dumps(list(expand(once))) == json.dumps(once)


@given(AXES, AXES)
def test_lists_of_configs_are_their_experiments_one_after_the_other(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert list(expand([one, [two]])) == [*expand(one), *expand(two)]


def test_expansion_is_lazy() -> None:
    axes = {f"axis{number}": list(range(100)) for number in range(20)}
    assert next(iter(expand(axes))) == dict.fromkeys(axes, 0)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("text", ["sweep.json: 'text' is no experiment\n  write an object, or a list of objects"]),
        ([{"a": 1}, 2], ["sweep.json[1]: 2 is no experiment\n  write an object, or a list of objects"]),
        ({"a": None}, ["sweep.json a: null is no value of a flag\n  values are texts, numbers, true, false or lists"]),
        (
            {"[a,b]": [[1, {}]]},
            ["sweep.json b: {} is no value of a flag\n  values are texts, numbers, true, false or lists"],
        ),
        (
            {"[a,b]": []},
            ["sweep.json [a,b]: [] is no combination of a, b\n  write one list of 2 values, or a list of such lists"],
        ),
        (
            {"[a,b]": [[1, 2], 3], "c d": 1},
            [
                "sweep.json [a,b]: 3 is no combination of a, b\n  write one list of 2 values, or a list of such lists",
                "sweep.json: the key 'c d' is no flag's name\n"
                "  a flag's name has no blanks, commas or brackets; `[a,b]` names flags that vary together",
            ],
        ),
    ],
)
def test_everything_wrong_is_said_at_once(config: object, expected: list[str]) -> None:
    assert problems(config) == expected


def test_two_spellings_of_one_compound_key_are_one_axis() -> None:
    assert list(expand({"[a,b]": [1, 2], "c": 3, "[a, b]": [4, 5]})) == [{"c": 3, "a": 1, "b": 2}]


def test_errors_in_json_name_the_line_as_it_is_in_the_file() -> None:
    with pytest.raises(InputError, match=r"^sweep\.json:3: is not JSON: extra data \(column 4\)"):
        commented_json.loads("{ # one\n  // two\n  }x\n", "sweep.json")


def test_nesting_is_no_limit_but_for_json_itself() -> None:
    with pytest.raises(InputError, match="is not JSON"):
        commented_json.loads("[" * 200_000, "sweep.json")
    config: Any = {"a": 1}
    for _ in range(10_000):
        config = [config]
    assert list(expand(config)) == [{"a": 1}]


@given(st.lists(st.text(max_size=5), max_size=3), AXES)
def test_script_args_come_first_then_flags(base: list[str], config: dict[str, Any]) -> None:
    for experiment, args in zip(expand(config), flags.job_args(expand(config), base), strict=True):
        assert args[: len(base)] == base
        names = [f"--{name}" for name, value in sorted(experiment.items()) if value is not False]
        rest = iter(args[len(base) :])
        assert [name for name in names if name in rest] == names


@pytest.fixture
def sweep(tmp_path: Path) -> str:
    file = tmp_path / "sweep.json"
    file.write_text('{"b": [1, 2], "a": "x y", "on": true, "off": false}  # two')
    return str(file)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], '[{"b": 1, "a": "x y", "on": true, "off": false}, {"b": 2, "a": "x y", "on": true, "off": false}]\n'),
        (["--print_flags"], "--b 1 --a 'x y' --on\n--b 2 --a 'x y' --on\n"),
    ],
)
def test_expand_prints_the_experiments_in_file_order(sweep: str, options: list[str], expected: str) -> None:
    done = CliRunner().invoke(cli, ["expand", sweep, *options], catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (0, expected)


def test_pretty_printing_is_the_same_json(sweep: str) -> None:
    plain = CliRunner().invoke(cli, ["expand", sweep]).stdout
    done = CliRunner().invoke(cli, ["expand", sweep, "--pprint"])
    assert done.stdout == json.dumps(json.loads(plain), indent=2) + "\n"


def test_expand_reads_standard_input() -> None:
    done = CliRunner().invoke(cli, ["expand", "STDIN"], input='[{"a": 1}]')
    assert done.stdout == '[{"a": 1}]\n'
    assert CliRunner().invoke(cli, ["expand", "stdin"], input="[]").stdout == "[]\n"


def test_a_wrong_sweep_has_no_output_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"a": null}')
    done = CliRunner().invoke(cli, ["expand", str(tmp_path / "sweep.json")], catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "null is no value of a flag" in done.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "\\u0000"}', ['sweep.json:1: "\\u0000" contains a NUL character']),
        (
            '{"\\ud800": 1, # one\n "b": ["\\udc00"]}',
            [
                'sweep.json:1: "\\ud800" contains half of a surrogate pair',
                'sweep.json:2: "\\udc00" contains half of a surrogate pair',
            ],
        ),
        ('{"a": 1e999}', ["sweep.json: is not JSON: 1e999 is larger than any number of a program"]),
        ('{"a": -1e999}', ["sweep.json: is not JSON: -1e999 is larger than any number of a program"]),
    ],
)
def test_what_no_program_can_receive_is_refused(text: str, expected: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        commented_json.loads(text, "sweep.json")
    assert [f"{problem.where}: {problem.message}" for problem in caught.value.problems] == expected


def test_escapes_of_json_are_read() -> None:
    assert commented_json.loads('["\\ud83d\\ude00", "\\u0041", "\\\\ud800", 1e300]', "") == [
        "😀",
        "A",
        "\\ud800",
        1e300,
    ]
