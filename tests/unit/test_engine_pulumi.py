"""How the Pulumi CLI is found and called. The CLI here is a script that stands in for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from xmgen.errors import OperationError, Problem
from xmgen.project import Project
from xmgen.pulumi_cli import pulumi as cli
from xmgen.pulumi_cli import wording
from xmgen.pulumi_cli.pulumi import Pulumi

PYTHON_BIN = Path(sys.executable).parent


def program(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pulumi"
    file.write_text(f"#!{sys.executable}\n{text}")
    file.chmod(0o755)
    return file


def versioned(folder: Path, version: str = "v3.274.1", *, host: bool = True) -> Path:
    """A CLI of this version, with its Python language host or without."""
    executable = program(folder, f"print({version!r})")
    if host:
        executable.with_name("pulumi-language-python").touch(mode=0o755)
    return executable


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return Project(root=root)


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    monkeypatch.setattr(cli, "CHECKOUT", tmp_path / "checkout")


def test_one_on_path_wins_and_keeps_its_own_home(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versioned(project.tools / "bin")
    executable = versioned(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{PYTHON_BIN}:{tmp_path / 'bin'}:/usr/bin")
    assert cli.find(project) == Pulumi(project=project, executable=executable, overrides={})


def test_one_that_tools_built_is_found_and_has_a_home_of_its_own(project: Project) -> None:
    executable = versioned(project.tools / "bin")
    assert cli.find(project) == Pulumi(
        project=project,
        executable=executable,
        overrides={
            "PATH": f"{PYTHON_BIN}:{project.tools}/bin:/usr/bin",
            "PULUMI_HOME": f"{project.tools}/pulumi-home",
        },
    )


def test_one_that_a_commit_brought_is_not_run(project: Project, tmp_path: Path) -> None:
    theirs = versioned(project.tools / "bin")
    ran = tmp_path / "ran"
    theirs.write_text(f"#!/bin/sh\ntouch {ran}\n{theirs.read_text().partition(chr(10))[2]}")
    git = ["git", "-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "--quiet"], ["add", "--force", ".tools"]):
        subprocess.run([*git, *command], cwd=project.root, check=True)
    with pytest.raises(OperationError, match=r"\.tools: is tracked by Git, and so not run: a commit brought it"):
        cli.find(project)
    assert not ran.exists()
    # Another that is usable is used.
    executable = versioned(tmp_path / "home/.pulumi/bin")
    assert cli.find(project).executable == executable


def test_a_users_own_home_is_respected(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    versioned(project.tools / "bin")
    monkeypatch.setenv("PULUMI_HOME", "/mine")
    assert "PULUMI_HOME" not in cli.find(project).overrides


@pytest.mark.parametrize("place", ["checkout/.tools/bin", "home/.pulumi/bin"])
def test_other_places_where_it_is_installed(project: Project, tmp_path: Path, place: str) -> None:
    executable = versioned(tmp_path / place)
    assert cli.find(project).executable == executable


def test_none_at_all_is_an_error_that_says_how_to_get_it(project: Project) -> None:
    with pytest.raises(OperationError, match=r"not installed\n.*pulumi\.com"):
        cli.find(project)


@pytest.mark.parametrize(
    ("version", "good"), [("v3.207.0", True), ("v4.0.0", True), ("v3.206.9", False), ("v2.99.0", False), ("dev", True)]
)
def test_an_old_one_is_refused(project: Project, version: str, good: bool) -> None:
    versioned(project.tools / "bin", version)
    if good:
        cli.find(project)
    else:
        with pytest.raises(OperationError, match=f"Pulumi {version} is too old"):
            cli.find(project)


def test_one_without_its_language_host_is_refused(project: Project) -> None:
    versioned(project.tools / "bin", host=False)
    with pytest.raises(OperationError, match="Python language host is not installed"):
        cli.find(project)


@pytest.mark.parametrize(("version", "host"), [("v3.206.9", True), ("v3.274.1", False)])
def test_an_unusable_one_on_path_gives_way_to_one_that_tools_built(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, host: bool
) -> None:
    versioned(tmp_path / "bin", version, host=host)
    executable = versioned(project.tools / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin")
    assert cli.find(project).executable == executable


def test_the_command_for_a_shell_is_complete(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = versioned(project.tools / "bin")
    monkeypatch.chdir(project.root)
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    overrides = {
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_BACKEND_URL": "file:///a b",
        "PATH": f"{project.tools}/bin:/usr/bin",
    }
    pulumi = Pulumi(project=project, executable=executable, overrides=overrides)
    assert pulumi.shell_command("up", "--stack", "dev") == (
        f"PULUMI_CONFIG_PASSPHRASE=\"\" PULUMI_BACKEND_URL='file:///a b' PATH={project.tools}/bin:$PATH "
        "pulumi up --stack dev"
    )
    monkeypatch.chdir("/")
    assert pulumi.shell_command("up").endswith(f"pulumi up --cwd {project.root}")


def test_the_command_for_a_shell_names_a_backend_that_the_environment_chose(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    pulumi = Pulumi(project=project, executable=versioned(project.tools / "bin"))
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file:///state")
    assert pulumi.shell_command("up").startswith("PULUMI_BACKEND_URL=file:///state ")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "postgres://user:password@host/state")
    assert "password" not in pulumi.shell_command("up")


def test_a_command_that_fails_says_what_pulumi_said(project: Project) -> None:
    text = "import sys; print('error: no stack named x', file=sys.stderr); sys.exit(255)"
    pulumi = Pulumi(project=project, executable=program(project.root, text))
    with pytest.raises(OperationError, match="pulumi stack failed: no stack named x"):
        pulumi.run("stack", "export")


def test_one_that_dies_without_a_word_is_not_left_unexplained(project: Project) -> None:
    text = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    pulumi = Pulumi(project=project, executable=program(project.root, text))
    with pytest.raises(OperationError) as failed:
        pulumi.run("stack", "export")
    assert failed.value.problems == (
        Problem("pulumi stack failed: it said nothing, and was ended by SIGKILL", hint=wording.UNSAID),
    )
    operation = pulumi.start("up")
    assert list(operation) == []
    assert (operation.wait(), operation.code) == (-9, -9)


def test_a_panic_is_its_reason() -> None:
    text = "panic: nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:3\n"
    assert cli.failure("pulumi up", text, 2) == Problem("pulumi up failed: panic: nil map")


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        (
            "incorrect passphrase",
            "it has to be the one with which the stack was made, in PULUMI_CONFIG_PASSPHRASE or, where that is not "
            "set, in the file that PULUMI_CONFIG_PASSPHRASE_FILE names",
        ),
        ("google: could not find default credentials. See https://…", "`gcloud auth application-default login`"),
        ('oauth2: "invalid_grant" "reauth related error"', "`gcloud auth application-default login`"),
        (
            'unable to open state directory "file:///state"',
            "make the folder, or name another backend in PULUMI_BACKEND_URL",
        ),
        ("invalid access token", "`pulumi login`, or another token in PULUMI_ACCESS_TOKEN"),
        ("something else", ""),
    ],
)
def test_what_helps_is_said(said: str, hint: str) -> None:
    assert cli.failure("pulumi up", f"error: {said}\n", 255) == Problem(f"pulumi up failed: {said}", hint=hint)


def test_events_are_told_from_other_output(project: Project) -> None:
    text = (
        "import os, sys\n"
        'print(\'{"sequence": 0, "cancelEvent": {}}\')\n'
        "print('warning: something')\n"
        'print(\'{"not": "an event"}\')\n'
        "print('x' * 200_000, file=sys.stderr)\n"
        "sys.exit(7)"
    )
    operation = Pulumi(project=project, executable=program(project.root, text)).start("up")
    assert list(operation) == [{"sequence": 0, "cancelEvent": {}}]
    assert operation.wait() == 7
    assert operation.messages[:2] == ["warning: something", '{"not": "an event"}']
    assert operation.messages[2:] == ["x" * 200_000]


def test_ctrl_c_reaches_the_engine_once_and_is_waited_for(project: Project) -> None:
    text = (
        "import signal, time\n"
        "count = 0\n"
        "def stop(number, frame):\n"
        "    global count\n"
        "    count += 1\n"
        "signal.signal(signal.SIGINT, stop)\n"
        "print('{\"sequence\": 0}', flush=True)\n"
        "while not count: time.sleep(0.01)\n"
        "time.sleep(0.3)\n"
        "print(f'{{\"sequence\": {count}}}', flush=True)"
    )
    operation = Pulumi(project=project, executable=program(project.root, text)).start("up")
    notes: list[str] = []
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    with cli.forwarded_signals(operation, lambda: notes.append("stopping")):
        for event in operation:
            seen.append(event["sequence"])
            if event["sequence"] == 0:
                os.kill(os.getpid(), signal.SIGINT)
        assert operation.wait() == 0
    assert seen == [0, 1]
    assert notes == ["stopping"]
    assert operation.interrupted
    assert signal.getsignal(signal.SIGINT) == before


def test_an_engine_of_which_nobody_hears_any_more_ends_in_order(project: Project) -> None:
    text = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(print('{\"sequence\": 2}', flush=True)))\n"
        "print('{\"sequence\": 1}', flush=True)\n"
        "while True: time.sleep(0.01)"
    )
    operation = Pulumi(project=project, executable=program(project.root, text)).start("up")
    with pytest.raises(BrokenPipeError), operation:
        next(iter(operation))
        raise BrokenPipeError
    assert operation.interrupted
    assert operation.wait() == 0
