"""The comparison with what XManager recorded (`python -m tests.vectors xmanager`).

`tests/launchers/` holds launch scripts of ours and, for each, what XManager's own launch API recorded for it.
"""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import __main__ as command
from tests.vectors import canonical, comparison, records, xmanager
from tests.vectors.invocation import invocation
from tests.vectors.xmanager import LAUNCHERS
from xmgen.experiment import Reference, ShellSafeArg

EXAMPLES = sorted(path.stem for path in (LAUNCHERS / "vectors").glob("*.json"))


def vector(name: str) -> Any:
    return json.loads((LAUNCHERS / "vectors" / f"{name}.json").read_bytes())


@functools.cache
def ours(name: str) -> records.ExperimentRecord:
    with xmanager.copied(LAUNCHERS) as root:
        script = root / "examples" / name / "launcher.py"
        return xmanager.record(script, root, invocation(name, script, vector(name)))


def test_every_launcher_has_a_vector() -> None:
    assert sorted(path.name for path in (LAUNCHERS / "examples").iterdir()) == EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_we_record_is_what_xmanager_recorded(name: str) -> None:
    assert comparison.differences(vector(name), ours(name)) == []


def mutations(value: Any) -> Iterator[Any]:
    """Copies of a JSON value that differ from it in one place."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield value + 1
        case None:
            yield "something"
        case str():
            yield f"{value}x"
            if digit := re.search(r"\d", value):
                yield value[: digit.start()] + str((int(digit.group()) + 1) % 10) + value[digit.end() :]
            if value:
                yield value[:-1]
        case list():
            for index, item in enumerate(value):
                yield value[:index] + value[index + 1 :]
                yield from ([*value[:index], changed, *value[index + 1 :]] for changed in mutations(item))
            yield [*value, copy.deepcopy(value[-1]) if value else "something"]
            if len(value) > 1 and value[0] != value[1]:
                yield [value[1], value[0], *value[2:]]
        case dict():
            for key, item in value.items():
                yield {other: value[other] for other in value if other != key}
                yield {(f"{other}_" if other == key else other): value[other] for other in value}
                yield from ({**value, key: changed} for changed in mutations(item))
            yield {**value, "one_more": "something"}


def is_no_difference(original: Any, mutated: Any) -> bool:
    """XManager launches units in any order: their names say which is which."""
    return sorted(map(repr, original["launches"])) == sorted(map(repr, mutated["launches"])) and original[
        "packageables"
    ] == mutated.get("packageables")


@pytest.mark.parametrize("name", EXAMPLES)
def test_any_change_of_a_vector_is_a_difference(name: str) -> None:
    original = vector(name)
    unseen = [
        mutated
        for mutated in mutations(original)
        if not comparison.differences(mutated, ours(name)) and not is_no_difference(original, mutated)
    ]
    assert unseen == []


@pytest.mark.parametrize(
    ("token", "arguments"),
    [
        ("--a=1", {"--a=1"}),
        ("--a='b c'", {"--a=b c"}),
        ("'--a=b c'", {"--a=b c"}),
        ("--a=''", {"--a="}),
        ("''", {""}),
        ("--a='it'\"'\"'s'", {"--a=it's"}),
        # What XManager would have quoted stands as it is: a shell text, or from a release that quotes nothing.
        ("--a=b c", {"--a=b c"}),
        ("--a=$X", {"--a=$X"}),
        ("it's", {"it's"}),
        # Two quoted words in one token are no quoting of XManager's.
        ("'a' 'b'", {"'a' 'b'"}),
    ],
)
def test_readings_of_a_recorded_token(token: str, arguments: set[str]) -> None:
    assert canonical.readings(token) == {*arguments, ShellSafeArg(token)}


@pytest.mark.parametrize(
    ("defaults", "overrides", "merged"),
    [
        ([], ["--a=1"], ["--a=1"]),
        (["--a=1"], [], ["--a=1"]),
        (["--a=1", "--b=2"], ["--c=3", "--a=4"], ["--a=4", "--b=2", "--c=3"]),
        (["--verbose"], ["--noverbose"], ["--noverbose"]),
        (["--a=1", "--a=2", "x"], ["--a=3"], ["--a=3", "x"]),
        (["--a=1"], ["--a=2", "--a=3"], ["--a=2", "--a=3"]),
        (["x"], ["x", "--a=1"], ["x", "x", "--a=1"]),
    ],
)
def test_overrides_take_the_place_of_what_they_override(
    defaults: list[str], overrides: list[str], merged: list[str]
) -> None:
    assert canonical.merged(defaults, overrides) == merged


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("xm.JobRequirements()", ("JobRequirements", {})),
        ("xm.JobRequirements(t4=2.0)", ("JobRequirements", {"t4": 2.0})),
        ("f(a=x.Y('4x4'), b=Z.W)", ("f", {"a": ("Y", {"0": "4x4"}), "b": "Z.W"})),
        ("DockerOptions(ports={8080: 80})", ("DockerOptions", {"ports": {8080: 80}})),
        ("plain text", "plain text"),
        ("f(not python", "f(not python"),
        (None, None),
    ],
)
def test_texts_of_objects_are_compared_by_field(text: object, parsed: object) -> None:
    assert canonical.parsed(text) == parsed


BOARD = Reference(kind="tensorboard", name="runs.1")
PROJECT = Reference(kind="config", name="gcp:project")


@pytest.mark.parametrize(
    ("ours", "recorded", "equal"),
    [
        (f"gcr.io/{PROJECT.token}/a", "gcr.io/P/a", True),
        (f"gcr.io/{PROJECT.token}/a", "gcr.io/P/b", False),
        (f"gcr.io/{PROJECT.token}/a", "gcr.io/P/Q/a", False),
        (BOARD.token, "projects/P/locations/us-central1/tensorboards/runs.1", True),
        (BOARD.token, "projects/P/locations/us-central1/tensorboards/runs-1", False),
        (BOARD.token, "projects/P/locations/us-east1/tensorboards/runs.1", False),
        (f"{PROJECT.token} {BOARD.token}", "P projects/P/locations/us-central1/tensorboards/runs.1", True),
        # A text that only looks like a token is the user's own.
        ("<xmgen:config:other>", "P", False),
        ("<xmgen:config:other>", "<xmgen:config:other>", True),
    ],
)
def test_references_stand_for_what_the_cloud_knows(ours: str, recorded: str, equal: bool) -> None:
    [text] = canonical.referring([ours], [BOARD, PROJECT])
    assert (text == recorded, recorded == text, text != recorded) == (equal, equal, not equal)


def run(*arguments: object) -> int:
    return command.main(["xmanager", *map(str, arguments)])


def vectors(folder: Path, content: dict[str, str]) -> Path:
    for name, text in content.items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


def test_the_command_passes_when_all_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "own_dockerfile"
    folder = vectors(tmp_path, {name: json.dumps(vector(name))})
    assert run("--vectors", folder, "--source", LAUNCHERS) == 0
    assert capsys.readouterr().out == f"ok   {name}\n1 of 1 examples are as they should be\n"


def test_the_command_fails_with_each_difference_on_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = vector("own_dockerfile")
    changed["launches"][0]["jobs"][0]["args"][0] = "--a=2"
    changed["launches"][0]["jobs"][0]["env"]["LAST"] = "x"
    folder = vectors(tmp_path, {"own_dockerfile": json.dumps(changed)})
    assert run("--vectors", folder, "--source", LAUNCHERS) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": expected")[0] for line in lines] == [
        "FAIL own_dockerfile",
        "       launches <XID>_1 on Vertex: own_dockerfile.args",
        "       launches <XID>_1 on Vertex: own_dockerfile.env",
        "0 of 1 examples are as they should be",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "no vectors there"),
        ({"own_dockerfile": "{"}, "is no JSON"),
        ({"own_dockerfile": "[]"}, "holds no object"),
        ({"own_dockerfile": "{}"}, "packageables: missing from the vector"),
        ({"own_dockerfile": '{"packageables": [], "launches": []}'}, "launches: the vector has none"),
        ({"no_such_example": "{}"}, "no such example: examples/no_such_example/launcher.py"),
    ],
)
def test_the_command_fails_when_there_is_nothing_to_compare(
    content: dict[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--vectors", vectors(tmp_path, content), "--source", LAUNCHERS) == 1
    assert message in capsys.readouterr().out
