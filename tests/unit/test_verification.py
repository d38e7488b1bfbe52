"""What would run is held against what xmgen writes: table by what was done to a stack, and to its project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests import builders
from xmgen import __version__, compiler
from xmgen.errors import InputError, Problem
from xmgen.experiment import Experiment
from xmgen.stack import init, tree, verification
from xmgen.stack.tree import File
from xmgen.stack.verification import Finding, Verdict

REGULAR, LINK, SUBMODULE = 0o100644, 0o120000, 0o160000
EXPERIMENT = builders.experiment(builders.job("--a=1"))
PROJECT = {file.path: (REGULAR, file.text.encode()) for file in init.files(virtualenv=True)}


def alone(name: str) -> Experiment:
    raise InputError(Problem(f"no stack {name}"))


def rendered(experiment: Experiment) -> Mapping[str, str]:
    return compiler.rendered(experiment, alone)


def folder(version: str = __version__) -> dict[str, File]:
    files = compiler.rendered(EXPERIMENT, alone, version)
    return {path: (REGULAR, text.encode()) for path, text in files.items()}


def verdict(files: Mapping[str, File]) -> Verdict:
    return verification.of_stack("sweep", files, rendered)


def test_a_stack_that_nobody_touched_is_proved() -> None:
    assert verdict(folder()) == Verdict("rendered", __version__, ())
    assert verdict(folder("99.0")) == Verdict("digests", "99.0", ())


def appended(path: str, text: bytes = b"\nimport evil\n") -> Callable[[dict[str, File]], None]:
    def change(files: dict[str, File]) -> None:
        files[path] = (REGULAR, files[path][1] + text)

    return change


def added(path: str, mode: int = REGULAR) -> Callable[[dict[str, File]], None]:
    return lambda files: files.update({path: (mode, b"")})


OTHER = f"is not what xmgen {__version__} writes for the experiment in its lock file"
RECORDED = "is not what its lock file records"


@pytest.mark.parametrize(
    ("change", "path", "fault", "by_digests"),
    [
        pytest.param(appended("jobs.py"), "jobs.py", OTHER, RECORDED, id="a program"),
        pytest.param(appended("manifests/local.yaml"), "manifests/local.yaml", OTHER, RECORDED, id="a manifest"),
        pytest.param(
            appended("images/trainer/Dockerfile"), "images/trainer/Dockerfile", OTHER, RECORDED, id="a Dockerfile"
        ),
        pytest.param(lambda files: files.pop("jobs.py"), "jobs.py", "is missing", "is missing", id="a missing file"),
        pytest.param(added("evil.py"), "evil.py", "was not written by xmgen", None, id="a foreign file"),
        pytest.param(added("yaml.so"), "yaml.so", "was not written by xmgen", None, id="an extension module"),
        pytest.param(
            added("__pycache__/jobs.cpython-311.pyc"),
            "__pycache__/jobs.cpython-311.pyc",
            "is bytecode, which Python may run in place of the source",
            None,
            id="bytecode",
        ),
        pytest.param(added("notes", LINK), "notes", "is a link, which was not read", None, id="a link"),
        pytest.param(added("lib", SUBMODULE), "lib", "is no file, and was not read", None, id="a submodule"),
        pytest.param(added("jobs.py", LINK), "jobs.py", "is a link, which was not read", None, id="a link in a place"),
    ],
)
def test_what_was_done_to_a_stack_is_named(
    change: Callable[[dict[str, File]], None], path: str, fault: str, by_digests: str | None
) -> None:
    for version, proof, expected in ((__version__, "rendered", fault), ("99.0", "digests", by_digests or fault)):
        files = folder(version)
        change(files)
        assert verdict(files) == Verdict(proof, version, (Finding(f"stacks/sweep/{path}", expected),))


def test_digests_that_were_changed_with_their_file_are_a_proof_of_another_version_alone() -> None:
    for version, findings in ((__version__, (f"{LOCK} {OTHER}", f"stacks/sweep/jobs.py {OTHER}")), ("99.0", ())):
        files = folder(version)
        before = files["jobs.py"][1]
        appended("jobs.py")(files)
        digests = (verification.lock.digest(content) for content in (before, files["jobs.py"][1]))
        old, new = (digest.encode() for digest in digests)
        files["experiment.lock.json"] = (REGULAR, files["experiment.lock.json"][1].replace(old, new))
        assert tuple(map(str, verdict(files).findings)) == findings


LOCK = "stacks/sweep/experiment.lock.json"


@pytest.mark.parametrize(
    ("lock_file", "expected"),
    [
        (b"\xff", "cannot be read, and nothing else says what the stack's files should be"),
        (b'{"version": 0}', "cannot be read, and nothing else says what the stack's files should be"),
        (None, "records no digests of its stack's files"),
    ],
)
def test_without_a_lock_file_to_hold_them_against_files_are_not_proved(lock_file: bytes | None, expected: str) -> None:
    files = folder()
    if lock_file is None:
        # As it was before they were recorded.
        head, _, _ = files["experiment.lock.json"][1].partition(b',\n  "files"')
        lines = [line for line in head.splitlines() if not line.startswith((b'  "xmgen"', b'  "command"'))]
        lock_file = b"\n".join([*lines, b"}\n"])
    files["experiment.lock.json"] = (REGULAR, lock_file)
    assert verdict(files) == Verdict("none", "", (Finding(LOCK, expected),))


def test_an_experiment_that_cannot_be_planned_leaves_the_digests() -> None:
    def refuse(experiment: Experiment) -> Mapping[str, str]:
        raise InputError(Problem("no machine has that"))

    files = folder()
    appended("jobs.py")(files)
    assert verification.of_stack("sweep", files, refuse) == Verdict(
        "digests",
        __version__,
        (
            Finding(LOCK, "is of an experiment that cannot be planned: no machine has that"),
            Finding("stacks/sweep/jobs.py", RECORDED),
        ),
    )


def test_a_project_as_init_writes_it_has_nothing_to_be_named() -> None:
    harmless = {"stacks/Pulumi.sweep.yaml": (REGULAR, b""), "stacks/README.md": (REGULAR, b"")}
    stack = {f"stacks/sweep/{path}": file for path, file in folder().items()}
    files = {path: file for path, file in PROJECT.items() if path.startswith(("stacks/", "Pulumi"))}
    assert verification.of_project({**files, **harmless, **stack}) == ()
    assert verification.of_project({}) == ()


@pytest.mark.parametrize(
    ("path", "file", "fault"),
    [
        ("stacks/__main__.py", (REGULAR, b"import evil"), "is not what `xmgen init` writes; it writes one where there"),
        ("stacks/.plugin/pulumi-resource-xmgen", (REGULAR, b"#!/bin/sh"), "is not what `xmgen init` writes; it writes"),
        ("stacks/__main__.py", (LINK, b""), "is a link, which was not read"),
        ("Pulumi.yaml", (LINK, b""), "is a link, which was not read"),
        ("stacks", (LINK, b""), "is a link, which was not read"),
        ("stacks/__pycache__/__main__.cpython-311.pyc", (REGULAR, b""), "is bytecode, which Python may run in place"),
        ("stacks/pulumi/__init__.py", (REGULAR, b""), "is of no compiled stack"),
        ("stacks/.plugin/PulumiPlugin.yaml", (REGULAR, b""), "is of no compiled stack"),
        ("stacks/.zz.abcdefgh/old/experiment.lock.json", (REGULAR, b"{}"), "is of no compiled stack"),
        ("stacks/Pulumi.yaml", (REGULAR, b""), "is of no compiled stack"),
        ("Pulumi.json", (REGULAR, b"{}"), "is what Pulumi may read in place of Pulumi.yaml"),
        ("Pulumi.yml", (REGULAR, b""), "is what Pulumi may read in place of Pulumi.yaml"),
        (".tools/bin/pulumi", (0o100755, b""), "is committed, and what is in it would run here"),
        (".venv/bin/python", (0o100755, b""), "is committed, and what is in it would run here"),
    ],
)
def test_what_stands_beside_the_stacks_and_is_not_of_init_is_named(path: str, file: File, fault: str) -> None:
    (finding,) = verification.of_project({path: file})
    assert path == finding.path or path.startswith(f"{finding.path}/")
    assert finding.fault.startswith(fault)


@pytest.mark.parametrize(
    ("line", "other", "faults"),
    [
        ("  name: python", "  name: nodejs", ["has runtime.name: nodejs, where `xmgen init` writes python"]),
        (
            "    virtualenv: .venv",
            "    virtualenv: evil",
            ["has runtime.options.virtualenv: evil, where `xmgen init` "],
        ),
        (
            "    virtualenv: .venv",
            "    typechecker: mypy",
            ["has runtime.options.typechecker: mypy, where `xmgen init` "],
        ),
        ("main: stacks/", "main: elsewhere/", ["has main: elsewhere/, where `xmgen init` writes stacks"]),
        (
            "      path: stacks/.plugin",
            "      path: evil",
            ["has plugins.providers: [{'name': 'xmgen', 'path': 'evil'}]"],
        ),
        (
            "plugins:",
            "plugins:\n  languages: [{name: python, path: evil}]",
            ["has plugins.languages: [{'name': 'python"],
        ),
        (
            "main: stacks/",
            "main: stacks/\npackages: {evil: ./evil}",
            ["has packages.evil: ./evil, where `xmgen init` "],
        ),
        (
            "stackConfigDir: stacks",
            "stackConfigDir: evil",
            ["has stackConfigDir: evil, where `xmgen init` writes stacks"],
        ),
        ("main: stacks/", "main: [", ["cannot be read"]),
        # What is only written in another way, or says nothing of what runs.
        ("main: stacks/", "main: ./stacks", []),
        ("    virtualenv: .venv\n", "", []),
        ("description:", "author: ada\ndescription:", []),
    ],
)
def test_what_pulumi_yaml_says_of_what_runs_is_named(line: str, other: str, faults: list[str]) -> None:
    mode, content = PROJECT["Pulumi.yaml"]
    text = content.decode()
    assert line in text
    found = verification.of_project({"Pulumi.yaml": (mode, text.replace(line, other, 1).encode())})
    assert [finding.path for finding in found] == ["Pulumi.yaml"] * len(faults)
    assert all(finding.fault.startswith(fault) for finding, fault in zip(found, faults, strict=True))


def test_links_of_the_working_tree_are_never_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    root = tmp_path / "ml"
    stack = root / "stacks" / "sweep"
    stack.mkdir(parents=True)
    (stack / "experiment.lock.json").write_text("{}")
    (stack / "leak.txt").symlink_to(secret)
    (stack / "manifests").symlink_to(tmp_path)
    (root / "stacks" / "other").symlink_to(stack)
    files = tree.of_working_tree(root)
    assert files == {
        "stacks/other": (LINK, b""),
        "stacks/sweep/experiment.lock.json": (REGULAR, b"{}"),
        "stacks/sweep/leak.txt": (LINK, b""),
        "stacks/sweep/manifests": (LINK, b""),
    }
    assert list(tree.stacks(files)) == ["sweep"]
