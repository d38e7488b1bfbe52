"""The examples: their launch scripts and YAML files say the same, and their programs run."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import modules
from xmgen import compiler
from xmgen.experiment import Executable, Experiment, WorkUnit

ROOT = Path(__file__).parents[2]
TWINS = sorted(file.parent.name for file in ROOT.glob("examples/*/experiment.yaml"))


def load(example: str, source: str) -> Experiment:
    return compiler.load(ROOT / "examples" / example / source, root=ROOT, stack=example)


def same_code(executable: Executable) -> Executable:
    """Without what differs between twins on purpose: each leaves itself out of the code."""
    return replace(executable, exclude=()) if hasattr(executable, "exclude") else executable


@pytest.mark.parametrize("example", TWINS)
def test_the_yaml_file_says_what_the_launch_script_says(example: str) -> None:
    script, file = load(example, "launcher.py"), load(example, "experiment.yaml")
    executables = tuple(map(same_code, script.executables))
    assert replace(script, source="", executables=executables) == replace(
        file, source="", executables=tuple(map(same_code, file.executables))
    )


def test_there_are_examples() -> None:
    assert TWINS == ["dockerfile", "gke-sweep", "gke-train", "pipeline", "quickstart"]


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("quickstart", [()] * 8),
        ("group", [()]),
        ("pipeline", [(), (0,), (0,), (0,), (0,), (1, 2, 3, 4)]),
        ("dockerfile", [()] * 4),
        ("gke-train", [()]),
        ("gke-sweep", [()] * 6),
        ("gke-group", [()] * 2),
        ("gke-tpu", [()]),
        ("gke-shared", [(), (0,)]),
        ("vertex", [(), (), (), (), (0, 1, 2, 3)]),
        ("vertex-group", [()]),
    ],
)
def test_units_and_their_order(example: str, expected: list[tuple[int, ...]]) -> None:
    assert [unit.depends_on for unit in load(example, "launcher.py").units] == expected


def run_unit(unit: WorkUnit, module: str, *, cwd: Path, output: Path) -> dict[str, Any]:
    """Runs the unit's jobs together as processes and returns the metrics they leave."""
    output.mkdir(parents=True)
    logs = [output / f"{job.name}.log" for job in unit.jobs]
    processes = [
        modules.start(module, [*map(str, job.args)], cwd=cwd, env={**job.env, "XMGEN_OUTPUT_DIR": str(output)}, log=log)
        for job, log in zip(unit.jobs, logs, strict=True)
    ]
    for process in processes:
        process.join(120)
        process.kill()
    said = "\n".join(log.read_text() for log in logs)
    assert [process.exitcode for process in processes] == [0] * len(processes), said
    return json.loads((output / "metrics.json").read_text())


def test_quickstart_learns(tmp_path: Path) -> None:
    units = load("quickstart", "launcher.py").units
    folder = ROOT / "examples/quickstart"
    slow = run_unit(units[0], "train", cwd=folder, output=tmp_path / "slow")
    good = run_unit(units[3], "train", cwd=folder, output=tmp_path / "good")
    again = run_unit(units[3], "train", cwd=folder, output=tmp_path / "again")
    assert slow["accuracy"] < 0.85 < 0.95 < good["accuracy"]
    assert again == good


def test_group_learns_together(tmp_path: Path) -> None:
    [unit] = load("group", "launcher.py").units
    metrics = run_unit(unit, "train", cwd=ROOT / "examples/group", output=tmp_path / "output")
    assert metrics["accuracy"] > 0.85


def test_pipeline_hands_its_data_on(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/pipeline", tmp_path / "pipeline", ignore=shutil.ignore_patterns("outputs"))
    units = load("pipeline", "launcher.py").units
    preprocess, *trials, evaluate = (
        run_unit(unit, "pipeline.stages", cwd=tmp_path, output=tmp_path / f"output-{unit.id}") for unit in units
    )
    assert preprocess == {"training": 1077, "validation": 360, "test": 360}
    assert len(trials) == 4
    assert evaluate["accuracy"] > 0.9


def test_what_the_pipeline_leaves_is_no_code(tmp_path: Path) -> None:
    from xmgen import sources

    shutil.copytree(
        ROOT / "examples/pipeline", tmp_path / "pipeline", ignore=shutil.ignore_patterns("*.npz", "*.joblib")
    )
    before = sources.files(tmp_path / "pipeline")
    (tmp_path / "pipeline/outputs/data.npz").write_bytes(b"")
    assert sources.files(tmp_path / "pipeline") == before
    assert before == ["outputs/.gitignore", "requirements.txt", "stages.py"]


def test_dockerfiles_program_estimates_pi(tmp_path: Path) -> None:
    unit = load("dockerfile", "launcher.py").units[0]
    metrics = run_unit(unit, "estimate", cwd=ROOT / "examples/dockerfile", output=tmp_path / "output")
    assert metrics["samples"] == 200000
    assert metrics["error"] < 0.02


def test_shared_clusters_program_counts_primes(tmp_path: Path) -> None:
    unit = load("gke-shared", "launcher.py").units[0]
    assert run_unit(unit, "primes", cwd=ROOT / "examples/gke-shared", output=tmp_path / "output") == {"primes": 1229}
