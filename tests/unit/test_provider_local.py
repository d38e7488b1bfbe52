"""How jobs become processes and containers, and what the provider keeps on disk."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xmgen.provider import containers, images, metrics
from xmgen.provider.containers import Place
from xmgen.provider.journal import Entry, RunFolder, file_name
from xmgen.provider.output import JobOutput
from xmgen.provider.processes import process_argv, process_environment
from xmgen.provider.unit import Docker, Job, Packaged
from xmgen.pulumi_values import UNKNOWNS
from xmgen.shell import ShellSafeArg

ENTRY = Entry(
    attempt="x", fingerprint="f", state="running", started_at="2026-01-01T00:00:00.000Z", runner="process", jobs=("a",)
)


def job(*args: str | ShellSafeArg, command: tuple[str, ...] = ("python", "-m", "train"), **fields: Any) -> Job:
    return Job(name="a", executable=Packaged(name="train", runner="process", command=command), args=args, **fields)


def test_arguments_are_argv():
    assert process_argv(job("a b", "$HOME", "")) == [sys.executable, "-m", "train", "a b", "$HOME", ""]
    assert process_argv(job(command=("./train",))) == ["./train"]


def test_a_shell_expands_what_it_is_meant_to():
    found = process_argv(job("a", ShellSafeArg("$B"), command=("./train",)))
    assert found == ["/bin/sh", "-c", 'exec ./train "${1}" $B', "sh", "a"]


@pytest.mark.parametrize(
    ("gpus", "expected"), [(None, None), ((), ""), (("1",), "1"), (("0", "GPU-3"), "0,GPU-3")]
)  # fmt: skip
def test_a_process_sees_the_gpus_it_was_given(
    monkeypatch: pytest.MonkeyPatch, gpus: tuple[str, ...] | None, expected: str | None
):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert process_environment(job(), Path("/out"), gpus).get("CUDA_VISIBLE_DEVICES") == expected


def test_a_process_inherits_the_environment_but_not_pulumis_secrets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INHERITED", "yes")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "secret")
    environment = process_environment(job(env={"A": "1", "PYTHONUNBUFFERED": ""}), Path("/out"), None)
    assert environment["INHERITED"] == "yes"
    assert environment["A"] == "1"
    assert environment["PYTHONUNBUFFERED"] == ""
    assert environment["XMGEN_OUTPUT_DIR"] == "/out"
    assert environment["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert "PULUMI_CONFIG_PASSPHRASE" not in environment


def place(root: Path) -> Place:
    return Place(root=root, labels={"xmgen.run": "one"}, name="one/a-x", network="net", output=root / "output")


def image(entrypoint: list[str] | None = None) -> Any:
    return SimpleNamespace(id="sha256:1", attrs={"Config": {"Entrypoint": entrypoint}})


def test_what_a_container_is_created_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    docker = Docker(ports={80: 8080}, volumes={"/data": "/d", "rel": "/r:ro", "./x": "/x"}, interactive=True)
    made = containers.arguments(
        job("--a=b c", hostname="1_1_a", env={"A": "1"}, docker=docker), place(tmp_path), image(), ("0", "1")
    )
    assert made == {
        "image": "sha256:1",
        "name": "one-a-x",
        "hostname": "1_1_a",
        "command": ["--a=b c"],
        "environment": {"PYTHONUNBUFFERED": "1", "A": "1", "XMGEN_OUTPUT_DIR": "/xmgen/output"},
        "labels": {"xmgen.run": "one"},
        "ports": {"80/tcp": 8080},
        "volumes": [f"{tmp_path}/output:/xmgen/output:rw", "/data:/d:rw", "rel:/r:ro", f"{tmp_path}/x:/x:rw"],
        "network": "net",
        "tty": True,
        "stdin_open": True,
        "device_requests": [{"Driver": "", "DeviceIDs": ["0", "1"], "Capabilities": [["gpu"]]}],
    }


@pytest.mark.parametrize(
    ("args", "entrypoint", "expected"),
    [
        ([], ["/run"], {}),
        (["x"], ["/run"], {"command": ["x"]}),
        (
            ["x", ShellSafeArg("$A")],
            ["/run"],
            {"entrypoint": ["/bin/sh", "-c", 'exec /run "${1}" $A', "sh", "x"], "command": []},
        ),
    ],
)
def test_arguments_follow_the_images_entry_point(
    tmp_path: Path, args: list[str | ShellSafeArg], entrypoint: list[str], expected: dict[str, Any]
):
    made = containers.arguments(job(*args), place(tmp_path), image(entrypoint), ())
    assert {key: made[key] for key in ("entrypoint", "command") if key in made} == expected
    assert "device_requests" not in made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("redis", ("redis", "latest")),
        ("redis:7", ("redis", "7")),
        ("localhost:5000/a/b", ("localhost:5000/a/b", "latest")),
        ("localhost:5000/a/b:1", ("localhost:5000/a/b", "1")),
        ("redis@sha256:12", ("redis", "sha256:12")),
    ],
)
def test_what_is_pulled(name: str, expected: tuple[str, str]):
    assert images._repository_and_tag(name) == expected


def test_a_tag_stands_for_code_and_dockerfile():
    tags = {
        images.tag("Train it!", digest, dockerfile, context)
        for digest in ("sha256:1", "sha256:2")
        for dockerfile in (b"FROM a", b"FROM b")
        for context in ("", "src")
    }
    assert len(tags) == 8
    assert {tag.partition(":")[0] for tag in tags} == {"xmgen/train-it"}


@pytest.mark.parametrize(
    ("files", "expected", "problems"),
    [
        ({}, {}, []),
        ({"a": '{"x": 1, "y": {"z": [null, true]}}'}, {"x": 1, "y": {"z": [None, True]}}, []),
        ({"a": '{"x": 1, "y": 1}', "b": '{"y": 2}'}, {"x": 1, "y": 2}, []),
        ({"a": "3", "b": '{"y": 2}'}, {"y": 2}, ["a/metrics.json is left out: not an object"]),
        ({"a": '{"x": -Infinity}'}, {}, ["a/metrics.json is left out: -Infinity is not JSON"]),
        ({"a": '{"x": [1e400]}'}, {}, ["a/metrics.json is left out: a number is too large"]),
        ({"a": '{"x": 1' + "0" * 400 + "}"}, {}, ["a/metrics.json is left out: a number is too large"]),
        ({"a": '{"x":' * 40 + "1" + "}" * 40}, {}, ["a/metrics.json is left out: nested more than 32 levels deep"]),
        ({"a": '{"x":"' + "y" * (1 << 20) + '"}'}, {}, ["a/metrics.json is left out: larger than 1 MiB"]),
        ({"a": "[" * 100_000}, {}, ["a/metrics.json is left out: maximum recursion depth exceeded"]),
        (
            {"a": '{"4dabf18193072939515e22adb298388d": "x"}'},
            {},
            ["a/metrics.json is left out: the key 4dabf18193072939515e22adb298388d has a meaning of its own to Pulumi"],
        ),
        *[
            (
                {"a": json.dumps({"x": text}), "b": '{"y": 1}'},
                {"y": 1},
                [f"a/metrics.json is left out: the text {text} has a meaning of its own to Pulumi"],
            )
            for text in sorted(UNKNOWNS)
        ],
    ],
)
def test_metrics_of_all_jobs_become_one_object_and_what_is_none_is_left_out(
    tmp_path: Path, files: dict[str, str], expected: dict[str, Any], problems: list[str]
):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for name, content in files.items():
        (tmp_path / name / "metrics.json").write_text(content)
    merged, found = metrics.collect([tmp_path / "a", tmp_path / "b"])
    assert merged == expected
    assert len(found) == len(problems)
    assert all(text.startswith(start) for text, start in zip(found, problems, strict=True))


@pytest.mark.parametrize(
    "make", [os.mkfifo, Path.mkdir, lambda file: file.symlink_to("/dev/zero")], ids=["pipe", "folder", "endless"]
)
def test_metrics_that_are_no_file_are_left_out(tmp_path: Path, make: Callable[[Path], object]):
    make(tmp_path / "metrics.json")
    merged, (problem,) = metrics.collect([tmp_path])
    assert merged == {}
    assert problem.endswith("is left out: not a file")


def test_metrics_with_half_a_character_are_left_out(tmp_path: Path):
    (tmp_path / "metrics.json").write_text('{"x": "\\ud800"}')
    merged, (problem,) = metrics.collect([tmp_path])
    assert merged == {}
    assert "surrogates not allowed" in problem


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train", "train"),
        ("Train job 1", "Train job 1"),
        ("a/b", "a-b-c14cddc0"),
        ("..", "-5ec1f7e7"),
        ("a\n\x1b[2J", "a--[2J-9dba53ac"),
    ],
)
def test_names_as_file_names(name: str, expected: str):
    assert file_name(name) == expected


def test_long_names_as_file_names():
    assert len(file_name("ü" * 300).encode()) < 120
    assert file_name("ü" * 300) != file_name("ü" * 301)


def test_a_new_attempt_sets_earlier_outputs_aside_and_drops_earlier_logs(tmp_path: Path):
    folder = RunFolder(tmp_path, "dev", "one")
    for content in ("first", "second"):
        folder.begin(ENTRY)
        assert not any(folder.output.iterdir())
        assert not folder.log("a").exists()
        (folder.output / "model").write_text(content)
        folder.log("a").write_text(content)
    folder.begin(ENTRY)
    assert (folder.path / "earlier" / "1" / "model").read_text() == "first"
    assert (folder.path / "earlier" / "2" / "model").read_text() == "second"
    assert folder.entry() == ENTRY


LEFT_BY_A_JOB: dict[str, Callable[[RunFolder, Path], object]] = {
    "the output is a file": lambda folder, _: (folder.output.rmdir(), folder.output.write_text("x")),
    "the output is a link": lambda folder, other: (folder.output.rmdir(), folder.output.symlink_to(other)),
    "the earlier outputs are a link": lambda folder, other: (
        (folder.output / "model").touch(),
        shutil.rmtree(folder.path / "earlier", ignore_errors=True),
        (folder.path / "earlier").symlink_to(other),
    ),
    "the log is a link": lambda folder, other: folder.log("a").symlink_to(other / "a.log"),
    "a log is a folder": lambda folder, _: folder.log("b").mkdir(),
    "the run's folder is a link": lambda folder, other: (shutil.rmtree(folder.path), folder.path.symlink_to(other)),
    "nothing is left": lambda folder, _: shutil.rmtree(folder.path),
}


@pytest.mark.parametrize("left", LEFT_BY_A_JOB)
def test_whatever_a_job_leaves_in_its_folder_nothing_elsewhere_is_touched(tmp_path: Path, left: str):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.log").write_text("precious")
    folder = RunFolder(tmp_path, "dev", "one")
    for _ in range(2):
        os.close(folder.lock())
        folder.begin(ENTRY)
        LEFT_BY_A_JOB[left](folder, other)
    folder.remove(keep_outputs=False)
    assert not folder.path.exists()
    assert {path.name: path.read_text() for path in other.iterdir()} == {"a.log": "precious"}


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"attempt": 1}'])
def test_a_damaged_journal_is_no_journal(tmp_path: Path, content: str):
    folder = RunFolder(tmp_path, "dev", "one")
    folder.begin(ENTRY)
    (folder.path / "attempt" / "journal.json").write_text(content)
    assert folder.entry() is None


def test_removing_a_run_leaves_its_outputs_and_nothing_else(tmp_path: Path):
    folder = RunFolder(tmp_path, "dev", "one")
    folder.begin(ENTRY)
    folder.log("a").touch()
    (folder.output / "model").touch()
    folder.remove(keep_outputs=True)
    assert [path.name for path in folder.path.iterdir()] == ["output"]
    folder.remove(keep_outputs=False)
    folder.remove(keep_outputs=False)
    assert not (tmp_path / ".xmgen" / "dev").exists()


def consumed(tmp_path: Path, *chunks: bytes, tell: bool = True) -> tuple[JobOutput, list[str]]:
    told: list[str] = []

    async def keep(text: str) -> None:
        told.append(text)

    async def play() -> JobOutput:
        async def output() -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        result = JobOutput(tmp_path / "a.log", prefix="a: ", tell=keep if tell else None, hidden=["swordfish"])
        await result.consume(output())
        return result

    return asyncio.run(play()), told


@pytest.mark.parametrize(
    ("chunks", "told"),
    [
        ([b"one\ntw", b"o\n"], ["a: one\na: two"]),
        ([b"no end of line"], ["a: no end of line"]),
        (["ü".encode()[:1], "ü".encode()[1:], b"\xff\n"], ["a: ü\N{REPLACEMENT CHARACTER}"]),
        ([b"10%\r20%\r100%\r\n"], ["a: 100%"]),
        ([b"the swordfish\n"], ["a: the [secret]"]),
        ([], []),
    ],
)
def test_output_is_kept_as_it_is_and_told_line_by_line(tmp_path: Path, chunks: list[bytes], told: list[str]):
    _, heard = consumed(tmp_path, *chunks)
    assert heard == told
    assert (tmp_path / "a.log").read_bytes() == b"".join(chunks)


def test_of_a_flood_only_the_beginning_is_told(tmp_path: Path):
    result, (told,) = consumed(tmp_path, b"".join(b"line %d\n" % index for index in range(100_000)))
    assert len(told) < 30_000
    assert told.endswith("more lines in a.log]")
    assert result.last_lines() == [f"line {index}" for index in range(99_980, 100_000)]


def test_a_line_that_is_kept_is_cut_but_no_secret_in_it(tmp_path: Path) -> None:
    text = "x" * 995 + "swordfish" + "y" * 2_000
    result, _ = consumed(tmp_path, text.encode() + b"\n")
    [line] = result.last_lines()
    assert (len(line), "swor" in line, line[-1]) == (1_001, False, "…")
    assert (tmp_path / "a.log").read_text() == text + "\n"
