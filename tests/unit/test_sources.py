"""Content hashes: changed code is a changed digest, and nothing else is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from xmgen import sources
from xmgen.errors import InputError, Problem


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "package").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)\n")
    (folder / "package" / "data.txt").write_text("a")
    (folder / "launcher.py").write_text("launch")
    return folder


def write(path: str, text: str = "x") -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    return change


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": write("train.py", "print(2)\n"),
    "a new file": write("new.py"),
    "an empty file": write("new.py", ""),
    "a file removed": lambda folder: (folder / "train.py").unlink(),
    "a file renamed": lambda folder: (folder / "train.py").rename(folder / "training.py"),
    "a file moved": lambda folder: (folder / "package" / "data.txt").rename(folder / "data.txt"),
    "content moved from one file to the next": lambda folder: (
        write("package/data.txt", "")(folder),
        write("train.py", "aprint(1)\n")(folder),
    ),
    "the executable bit": lambda folder: (folder / "train.py").chmod(0o755),
    "a link": lambda folder: (folder / "link").symlink_to("train.py"),
    "a link to a folder": lambda folder: (folder / "link").symlink_to("package"),
    "a folder called stacks that is no project's": write("stacks/layers.py"),
}

NO_CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda folder: None,
    "times": lambda folder: os.utime(folder / "train.py", (time.time() - 1000, 5)),
    "permissions of others": lambda folder: (folder / "train.py").chmod(0o600),
    "caches": write("package/__pycache__/train.cpython-311.pyc"),
    "compiled files": write("train.pyc"),
    "outputs of earlier runs": write(".xmgen/stack/runs/a/output/metrics.json"),
    "a virtual environment": write(".venv/bin/python"),
    "version control": write(".git/HEAD"),
    "an empty folder": lambda folder: (folder / "empty").mkdir(),
    "the launch script, which is excluded": write("launcher.py", "another trial"),
}


def digest(folder: Path) -> str:
    return sources.digest(folder, exclude=("launcher.py",))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_the_code_changes_the_digest(code: Path, change: Callable[[Path], object]) -> None:
    before = digest(code)
    change(code)
    assert digest(code) != before


@pytest.mark.parametrize("change", NO_CHANGES.values(), ids=NO_CHANGES)
def test_what_is_not_code_does_not(code: Path, change: Callable[[Path], object]) -> None:
    before = digest(code)
    change(code)
    assert digest(code) == before


def test_the_folders_own_place_is_no_part_of_it(code: Path, tmp_path: Path) -> None:
    before = digest(code)
    assert digest(code.rename(tmp_path / "elsewhere")) == before


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ("", ["launcher.py", "package/data.txt", "train.py"]),
        ("# a comment\n\npackage\n", ["launcher.py", "train.py"]),
        ("*\n!train.py\n", ["train.py"]),
        ("**/*.txt\nlauncher.py\n", ["train.py"]),
    ],
)
def test_dockerignore_is_honoured(code: Path, rules: str, kept: list[str]) -> None:
    (code / ".dockerignore").write_text(rules)
    assert sources.files(code) == kept


def test_a_program_file_has_a_digest_too(code: Path) -> None:
    before = sources.digest(code / "train.py")
    (code / "train.py").chmod(0o755)
    assert sources.digest(code / "train.py") != before


def test_a_cycle_of_links_ends(code: Path) -> None:
    (code / "self").symlink_to(".")
    assert digest(code).startswith("sha256:")


def test_a_pipe_does_not_block(code: Path) -> None:
    os.mkfifo(code / "pipe")
    assert digest(code).startswith("sha256:")


def test_what_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        sources.digest(tmp_path / "gone")


def test_what_is_compiled_from_a_projects_own_folder_is_not_its_code(code: Path) -> None:
    (code / "Pulumi.yaml").write_text("main: stacks/\n")
    before = sources.files(code)
    for path in ("stacks/train/jobs.py", "stacks/Pulumi.train.yaml", ".tools/bin/pulumi", ".xmgen/backend/meta.yaml"):
        write(path)(code)
    assert sources.files(code) == before


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("new.yaml", True),
        ("sub/new.yaml", True),
        ("new.json", False),
        ("out/new.yaml", False),
        ("out/kept.yaml", True),
        ("__pycache__/new.py", False),
        ("new.pyc", False),
        ("../new.yaml", False),
    ],
)
def test_what_would_count_counts_once_it_is_there(tmp_path: Path, file: str, counts: bool) -> None:
    folder = tmp_path / "code"
    for name in ("code/sub", "code/out", "code/__pycache__"):
        (tmp_path / name).mkdir(parents=True)
    (folder / ".dockerignore").write_text("*.json\nout/*\n!out/kept.yaml\n")
    assert sources.counts(folder, folder / file) is counts
    before = sources.digest(folder)
    (folder / file).write_text("x")
    assert (sources.digest(folder) != before) is counts


@pytest.fixture
def closed(code: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the code that nobody may list, whoever runs the test."""
    folder = code / "closed"
    folder.mkdir()
    scan = os.scandir

    def refusing(path: str) -> Any:
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    return folder


def test_a_folder_that_cannot_be_read_is_refused(code: Path, closed: Path) -> None:
    expected = Problem("cannot be read: Permission denied", str(closed), "or name it in .dockerignore: it is no code")
    for read in (sources.digest, sources.files):
        with pytest.raises(InputError) as caught:
            read(code)
        assert caught.value.problems == (expected,)


def test_a_folder_that_cannot_be_read_and_is_no_code_is_left_out(code: Path, closed: Path) -> None:
    (code / ".dockerignore").write_text("closed\n")
    assert sources.files(code) == ["launcher.py", "package/data.txt", "train.py"]
