"""Which backend a stack's state is in, which passphrase protects it, and whose lock may be removed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from xmgen.errors import InputError, OperationError, Problem
from xmgen.project import Project
from xmgen.pulumi_cli import backend as backends
from xmgen.pulumi_cli.backend import Backend


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "stacks").mkdir()
    return Project(root=tmp_path)


def logged_in(folder: Path, url: str) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    (folder / "credentials.json").write_text(json.dumps({"current": url}))
    return {"PULUMI_HOME": str(folder)}


def test_a_user_without_backend_gets_one_in_the_project(project: Project, tmp_path: Path) -> None:
    environment = {"PULUMI_HOME": str(tmp_path / "nobody")}
    expected = Backend(f"file://{tmp_path}/.xmgen/backend", own=True)
    assert backends.choose(project, environment) == expected
    assert expected.folder == tmp_path / ".xmgen" / "backend"
    assert (tmp_path / ".xmgen" / "backend").is_dir()


def test_the_users_backend_is_used_in_the_order_that_pulumi_has(tmp_path: Path) -> None:
    named = Project(root=tmp_path, backend="gs://named-in-pulumi-yaml")
    plain = Project(root=tmp_path)
    login = logged_in(tmp_path / "home", "s3://logged-in")
    environment = {**login, "PULUMI_ACCESS_TOKEN": "token"}
    assert backends.choose(named, {**environment, "PULUMI_BACKEND_URL": "file://~"}) == Backend("file://~", own=False)
    assert backends.choose(named, environment) == Backend("gs://named-in-pulumi-yaml", own=False)
    assert backends.choose(plain, environment) == Backend("s3://logged-in", own=False)
    token = {"PULUMI_HOME": str(tmp_path / "nobody"), "PULUMI_ACCESS_TOKEN": "token"}
    assert backends.choose(plain, token) == Backend("", own=False)
    assert not (tmp_path / ".xmgen").exists()


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("file:///tmp/with%20space", Path("/tmp/with space")),
        ("file://~/state", Path.home() / "state"),
        ("https://api.pulumi.com", None),
        ("gs://bucket", None),
        ("", None),
    ],
)
def test_only_a_backend_of_files_has_a_folder(url: str, folder: Path | None) -> None:
    assert Backend(url, own=False).folder == folder


FILE = "PULUMI_CONFIG_PASSPHRASE_FILE"
EMPTY = {"PULUMI_CONFIG_PASSPHRASE": ""}
SECRET = "encryptionsalt: v1:x\nconfig:\n  experiments:nested:\n    keys:\n    - secure: v1:abc\n"


@pytest.mark.parametrize(
    ("url", "settings", "environment", "expected"),
    [
        # Ours, no secrets: the empty passphrase.
        ("", "config:\n  xmgen:runner: process\n", {}, EMPTY),
        ("", "", EMPTY, EMPTY),
        ("", "", {"PULUMI_CONFIG_PASSPHRASE_FILE": ""}, EMPTY),
        # The user's own passphrase is left alone, with and without secrets.
        ("", SECRET, {"PULUMI_CONFIG_PASSPHRASE": "long"}, {}),
        # It is preferred to a file, which is not even read then.
        ("", SECRET, {"PULUMI_CONFIG_PASSPHRASE": "long", "PULUMI_CONFIG_PASSPHRASE_FILE": "/none"}, {}),
        ("", "", {"PULUMI_CONFIG_PASSPHRASE": "", "PULUMI_CONFIG_PASSPHRASE_FILE": "/none"}, EMPTY),
        # Where Pulumi's service or a key manager encrypts, there is no passphrase to set.
        ("https://api.pulumi.com", SECRET.replace("encryptionsalt: v1:x\n", ""), {}, {}),
        ("gs://bucket", f"secretsprovider: gcpkms://key\n{SECRET}", {}, {}),
        ("gs://bucket", "", {}, EMPTY),
        ("gs://bucket", "secretsprovider: default\n", {}, EMPTY),
    ],
)
def test_an_empty_passphrase_is_set_only_where_there_is_nothing_to_protect(
    project: Project, url: str, settings: str, environment: dict[str, str], expected: dict[str, str]
) -> None:
    project.settings("dev").write_text(settings)
    backend = Backend(url or project.local_backend.as_uri(), own=not url)
    if not url:
        expected = {"PULUMI_BACKEND_URL": project.local_backend.as_uri(), **expected}
    assert backends.overrides(project, "dev", backend, environment) == expected


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "passphrases"
    folder.mkdir()
    (folder / "strong").write_bytes("phrase\xe9\n".encode("latin-1"))
    (folder / "blank").write_text(" \n")
    return folder


@pytest.mark.parametrize(
    ("environment", "remedy"),
    [
        ({}, "set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE to a file that holds it."),
        (
            EMPTY,
            "set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE to a file that holds it (it is set to "
            "nothing; PULUMI_CONFIG_PASSPHRASE_FILE counts only once it is unset).",
        ),
        *(
            (
                {**EMPTY, "PULUMI_CONFIG_PASSPHRASE_FILE": file},
                "`unset PULUMI_CONFIG_PASSPHRASE`: it is set to nothing, and as long as it is set Pulumi does not read "
                f"{file}.",
            )
            for file in ("FILES/strong", "FILES/blank", "FILES/none")
        ),
        (
            {"PULUMI_CONFIG_PASSPHRASE_FILE": "FILES/blank"},
            "write the passphrase into FILES/blank, which PULUMI_CONFIG_PASSPHRASE_FILE names: it is empty.",
        ),
    ],
)
@pytest.mark.parametrize(
    ("url", "settings"),
    [
        ("file:///state", SECRET),
        ("gs://bucket", f"secretsprovider: default\n{SECRET}"),
        # Pulumi goes by the salt, whatever the backend.
        ("https://api.pulumi.com", SECRET),
    ],
)
def test_secrets_under_an_empty_passphrase_are_refused(
    project: Project, files: Path, environment: dict[str, str], remedy: str, url: str, settings: str
) -> None:
    project.settings("dev").write_text(settings)
    environment = {name: value.replace("FILES", str(files)) for name, value in environment.items()}
    with pytest.raises(InputError) as refused:
        backends.overrides(project, "dev", Backend(url, own=False), environment)
    anew = "Where the passphrase was empty, `xmgen up dev --secret KEY` with the new one encrypts all secrets anew"
    assert refused.value.problems == (
        Problem(
            "the stack's settings hold secrets, and an empty passphrase would not protect them",
            where="stacks/Pulumi.dev.yaml",
            hint=f"{remedy.replace('FILES', str(files))} {anew}",
        ),
    )


@pytest.mark.parametrize("settings", ["", SECRET])
def test_the_file_of_the_passphrase_is_read_from_where_the_user_is(
    project: Project, files: Path, settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.settings("dev").write_text(settings)
    monkeypatch.chdir(files)
    for given, expected in [(str(files / "strong"), {}), ("strong", {FILE: str(files / "strong")})]:
        assert backends.overrides(project, "dev", Backend("gs://bucket", own=False), {FILE: given}) == expected


@pytest.mark.parametrize("settings", ["", SECRET])
def test_a_passphrase_that_cannot_be_read_is_an_error(project: Project, files: Path, settings: str) -> None:
    project.settings("dev").write_text(settings)
    for file, why in [(files / "none", "No such file or directory"), (files, "Is a directory")]:
        with pytest.raises(InputError) as refused:
            backends.overrides(project, "dev", Backend("gs://bucket", own=False), {FILE: str(file)})
        hint = "write the passphrase into it, or `unset PULUMI_CONFIG_PASSPHRASE_FILE`"
        assert refused.value.problems == (Problem(f"cannot be read: {why}", where=f"{FILE} {file}", hint=hint),)


def test_settings_that_are_no_yaml_are_an_error(project: Project) -> None:
    project.settings("dev").write_text("config: [")
    with pytest.raises(InputError, match="cannot be read"):
        backends.overrides(project, "dev", Backend("file:///state", own=True), {})


def lock(project: Project, backend: Backend, pid: int, host: str = socket.gethostname()) -> Path:
    assert backend.folder is not None
    folder = backend.folder / ".pulumi" / "locks" / "organization" / project.name / "dev"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{pid}.json"
    file.write_text(json.dumps({"pid": pid, "username": "me", "hostname": host, "timestamp": "2026-01-01T00:00:00Z"}))
    return file


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    return Backend((tmp_path / "state").as_uri(), own=True)


def test_the_lock_of_a_dead_process_is_removed(project: Project, backend: Backend) -> None:
    file = lock(project, backend, dead_process())
    # The number of a dead process may have gone to another program: this one is not Pulumi.
    reused = lock(project, backend, os.getpid())
    assert backends.is_locked(backend, project, "dev") is False
    taken = [datetime.fromtimestamp(each.stat().st_mtime, UTC) for each in (file, reused)]
    assert sorted(backends.clear_dead_locks(backend, project, "dev")) == sorted(taken)
    assert not file.exists()
    assert not reused.exists()
    assert backends.clear_dead_locks(backend, project, "dev") == []


def test_the_lock_of_a_living_pulumi_is_respected(project: Project, backend: Backend, tmp_path: Path) -> None:
    program = tmp_path / "pulumi"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])
    try:
        file = lock(project, backend, process.pid)
        dead = lock(project, backend, dead_process())
        assert backends.is_locked(backend, project, "dev") is True
        with pytest.raises(OperationError, match=f"process {process.pid} is working on the stack"):
            backends.clear_dead_locks(backend, project, "dev")
        assert file.exists()
        assert dead.exists()
    finally:
        process.kill()
        process.wait()


def test_the_lock_of_another_machine_is_not_ours_to_judge(project: Project, backend: Backend) -> None:
    file = lock(project, backend, dead_process(), host="elsewhere")
    with pytest.raises(OperationError, match="on elsewhere"):
        backends.clear_dead_locks(backend, project, "dev")
    assert file.exists()


def test_locks_of_other_backends_are_not_looked_at(project: Project) -> None:
    cloud = Backend("https://api.pulumi.com", own=False)
    assert backends.is_locked(cloud, project, "dev") is None
    assert backends.clear_dead_locks(cloud, project, "dev") == []


@pytest.mark.parametrize(
    ("text", "kept"), [('{"user.cache_control": "", "md5": "q80="}', True), ("", False), ('{"user.cac', False)]
)
def test_attributes_that_a_kill_left_half_written_are_removed(
    project: Project, backend: Backend, text: str, kept: bool
) -> None:
    assert backend.folder is not None
    stacks = backend.folder / ".pulumi" / "stacks" / project.name
    stacks.mkdir(parents=True)
    files = {name: stacks / name for name in ("dev.json.attrs", "dev.json.bak.attrs", "other.json.attrs")}
    for file in files.values():
        file.write_text(text)
    backends.repair(backend, project, "dev")
    assert {name: file.exists() for name, file in files.items()} == {
        "dev.json.attrs": kept,
        "dev.json.bak.attrs": kept,
        "other.json.attrs": True,
    }


def test_attributes_that_somebody_may_be_writing_are_left_alone(project: Project, backend: Backend) -> None:
    assert backend.folder is not None
    stacks = backend.folder / ".pulumi" / "stacks" / project.name
    stacks.mkdir(parents=True)
    (stacks / "dev.json.attrs").touch()
    lock(project, backend, dead_process(), host="elsewhere")
    backends.repair(backend, project, "dev")
    assert (stacks / "dev.json.attrs").exists()
