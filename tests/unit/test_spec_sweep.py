"""Which trials a sweep has, and where drawn values come from."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.spec_files import load_units
from xmgen.frontends.spec.distributions import Distribution

ROOT = Path(__file__).parents[2]


def trials(root: Path, sweep: str) -> list[tuple[str, ...]]:
    """sweep: in YAML's flow style."""
    text = f"train: {{job: {{executable: trainer, executor: {{kind: local}}}}, sweep: {sweep}}}"
    return [tuple(str(arg).removeprefix("--") for arg in unit.jobs[0].args) for unit in load_units(root, text).units]


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        ("{grid: {args: {a: [1, 2], b: [x, y]}}}", ["a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y"]),
        ("{grid: {args: {a: [1, 1]}}}", ["a=1", "a=1"]),
        ("{grid: {args: {a: [true, null, [1, 2]]}}}", ["a", "", "a=1 a=2"]),
        ("{zip: {args: {a: [1, 2], b: [x, y]}}}", ["a=1 b=x", "a=2 b=y"]),
        ("{list: [{args: {a: 1}}, {}, {args: {b: x, a: 2}}]}", ["a=1", "", "b=x a=2"]),
        (
            "[{grid: {args: {a: [1, 2]}}}, {zip: {args: {b: [3, 4], c: [5, 6]}}}]",
            ["a=1 b=3 c=5", "a=1 b=4 c=6", "a=2 b=3 c=5", "a=2 b=4 c=6"],
        ),
        ("[{list: [{}]}]", [""]),
        # Values drawn once and pinned here: they may never change again.
        (
            "{random: {args: {a: {uniform: [0, 1]}, b: {int: [1, 6]}, c: {choice: [x, y, z]}}}, count: 3, seed: 7}",
            ["a=0.108268 b=3 c=y", "a=0.449282 b=4 c=y", "a=0.0954661 b=3 c=y"],
        ),
        (
            "{random: {args: {a: {log_uniform: [1e-5, 1e-1]}}}, count: 3}",
            ["a=0.00137256", "a=1.14959e-05", "a=0.0370711"],
        ),
        ("{random: {args: {a: {uniform: [1000000, 1000001]}}}, count: 2}", ["a=1000000.53438", "a=1000000.01514"]),
    ],
)
def test_a_sweep_makes_its_trials_in_order(tmp_path: Path, sweep: str, expected: list[str]) -> None:
    assert [" ".join(trial) for trial in trials(tmp_path, sweep)] == expected


SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(grid=SIZES, zipped=st.integers(1, 4), listed=st.integers(1, 3), drawn=st.integers(1, 3))
def test_a_sweep_has_as_many_different_trials_as_its_sizes_say(
    tmp_path: Path, grid: list[int], zipped: int, listed: int, drawn: int
) -> None:
    sweep = [
        {"grid": {"args": {f"g{axis}": list(range(size)) for axis, size in enumerate(grid)}}},
        {"zip": {"args": {"z": list(range(zipped)), "y": list(range(zipped))}}},
        {"list": [{"args": {"l": value}} for value in range(listed)]},
        {"random": {"args": {"r": {"uniform": [0, 1]}}}, "count": drawn},
    ]
    found = trials(tmp_path, json.dumps(sweep))
    assert len(set(found)) == len(found) == math.prod(grid) * zipped * listed * drawn
    assert trials(tmp_path, json.dumps(sweep)) == found


def test_more_trials_and_other_parameters_keep_the_values_there_are(tmp_path: Path) -> None:
    few = trials(tmp_path, "{random: {args: {a: {uniform: [0, 1]}}}, count: 3}")
    more = trials(tmp_path, "{random: {args: {b: {int: [1, 9]}, a: {uniform: [0, 1]}}}, count: 5}")
    assert [(a,) for _, a in more[:3]] == few


def test_another_seed_gives_other_values(tmp_path: Path) -> None:
    sweep = "{{random: {{args: {{a: {{uniform: [0, 1]}}}}}}, count: 2, seed: {}}}"
    assert trials(tmp_path, sweep.format(0)) == trials(tmp_path, "{random: {args: {a: {uniform: [0, 1]}}}, count: 2}")
    assert not set(trials(tmp_path, sweep.format(0))) & set(trials(tmp_path, sweep.format(1)))


FINITE = st.floats(-1e300, 1e300)


@settings(max_examples=200)
@given(bounds=st.tuples(FINITE, FINITE).filter(lambda b: b[0] < b[1]), key=st.text(max_size=5))
def test_uniform_stays_in_its_range(bounds: tuple[float, float], key: str) -> None:
    assert bounds[0] <= Distribution(uniform=list(bounds)).draw(key) <= bounds[1]  # type: ignore[operator]


POSITIVE = st.floats(5e-324, 1e308)


@settings(max_examples=200)
@given(bounds=st.tuples(POSITIVE, POSITIVE).filter(lambda b: b[0] < b[1]), key=st.text(max_size=5))
def test_log_uniform_stays_in_its_range(bounds: tuple[float, float], key: str) -> None:
    assert bounds[0] <= Distribution(log_uniform=list(bounds)).draw(key) <= bounds[1]  # type: ignore[operator]


WHOLE = st.integers(-(10**30), 10**30)


@settings(max_examples=200)
@given(bounds=st.tuples(WHOLE, WHOLE).filter(lambda b: b[0] < b[1]), key=st.text(max_size=5))
def test_int_stays_in_its_range(bounds: tuple[int, int], key: str) -> None:
    drawn = Distribution.model_validate({"int": list(bounds)}).draw(key)
    assert isinstance(drawn, int)
    assert bounds[0] <= drawn <= bounds[1]


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        ({"int": [1, 3]}, {1, 2, 3}),
        ({"choice": ["a", None, 3]}, {"a", None, 3}),
    ],
)
def test_every_value_is_drawn_now_and_then(distribution: dict[str, object], expected: set[object]) -> None:
    source = Distribution.model_validate(distribution)
    assert {source.draw(str(trial)) for trial in range(60)} == expected


def test_uniform_and_log_uniform_have_the_mean_they_should(tmp_path: Path) -> None:
    uniform, log_uniform = Distribution(uniform=[2, 4]), Distribution(log_uniform=[1e-4, 1.0])
    keys = [str(trial) for trial in range(2000)]
    assert sum(map(float, (uniform.draw(key) for key in keys))) / 2000 == pytest.approx(3, abs=0.05)  # type: ignore[arg-type]
    logs = [math.log10(float(log_uniform.draw(key))) for key in keys]  # type: ignore[arg-type]
    assert sum(logs) / 2000 == pytest.approx(-2, abs=0.1)


def test_the_context_of_decimal_arithmetic_changes_nothing() -> None:
    import decimal

    source = Distribution(log_uniform=[1e-5, 1e-1])
    expected = source.draw("key")
    with decimal.localcontext() as context:
        context.prec, context.rounding = 3, decimal.ROUND_UP
        assert source.draw("key") == expected


def test_the_hash_seed_changes_nothing(tmp_path: Path) -> None:
    load_units(
        tmp_path,
        """\
train:
  job: {executable: trainer, executor: {kind: local}}
  sweep: {random: {args: {a: {uniform: [0, 1]}, b: {choice: [x, y]}}, env_vars: {C: {int: [1, 9]}}}, count: 5}
""",
    )
    program = (
        "from pathlib import Path; from xmgen.frontends import spec; from xmgen.stack import lock;"
        "print(lock.dumps(spec.load(Path('experiment.yaml'), root=Path('.'), stack='s')))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1
