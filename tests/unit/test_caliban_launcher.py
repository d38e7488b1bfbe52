"""What starts the program in a Caliban image: arguments, exit code and signals are the program's own."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from xmgen.frontends.caliban import cloud_sql_proxy, launcher, packaging

LAUNCHER = Path(launcher.__file__)
PRINT = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"


def launched(*args: str, program: str = PRINT, file: Path = LAUNCHER, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the launcher as an image does, with nothing but the standard library."""
    command = json.dumps(["python", "-c", program])
    argv = [sys.executable, "-I", "-S", str(file), launcher.COMMAND, command, *args]
    return subprocess.run(argv, env={"PATH": os.defpath, **env}, capture_output=True, text=True, check=False)


def seen(*args: str, **options: Any) -> tuple[list[str], dict[str, str]]:
    done = launched(*args, **options)
    assert done.returncode == 0, done.stderr
    argv, environment = json.loads(done.stdout)
    return argv, environment


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--lr", "0.1", "--flag"],
        ["-h"],
        ["--help", "--c", "5", "--caliban", "x"],
        ["", " ", "a b", "$HOME", "`x`", "*", "é", "--k=v=w"],
        ["--", "--caliban_config", "{}", "--caliban_command", "[]"],
    ],
)
def test_arguments_pass_through_untouched(args: list[str]) -> None:
    assert seen(*args)[0] == args


def test_the_config_may_stand_anywhere_and_is_not_handed_on() -> None:
    argv, environment = seen("--x", launcher.CONFIG, '{"env": {"A": "1", "N": 7}}', "--y", B="2")
    assert argv == ["--x", "--y"]
    assert {key: environment[key] for key in ("A", "N", "B")} == {"A": "1", "N": "7", "B": "2"}


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_is_the_programs(code: int) -> None:
    assert launched(program=f"raise SystemExit({code})").returncode == code


def test_signals_reach_the_program() -> None:
    program = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(7)); print('up', flush=True); time.sleep(60)"
    )
    command = json.dumps(["python", "-c", program])
    process = subprocess.Popen([sys.executable, LAUNCHER, launcher.COMMAND, command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.terminate()
    assert process.wait(10) == 7


def test_a_program_that_a_signal_ends_ended_by_that_signal() -> None:
    done = launched(program="import os; os.kill(os.getpid(), 9)")
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("args", "message", "code"),
    [
        ([launcher.CONFIG, "[1]"], "--caliban_config takes a dict in JSON", 2),
        ([launcher.CONFIG], "--caliban_config takes a dict in JSON", 2),
        ([f"{launcher.COMMAND}=x"], "--caliban_command takes a list in JSON", 2),
        ([launcher.COMMAND, "[]"], "--caliban_command says what to start", 2),
        ([launcher.COMMAND, '["/no/such/program"]'], "/no/such/program: No such file or directory", 127),
    ],
)
def test_what_cannot_be_started_is_said_in_one_line(args: list[str], message: str, code: int) -> None:
    done = launched(*args)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"caliban_launcher: {message}\n")


def test_the_image_has_a_config_of_its_own_and_services(tmp_path: Path) -> None:
    file = tmp_path / "caliban_launcher.py"
    source = LAUNCHER.read_text(encoding="utf-8")
    file.write_text(source.replace("SECONDS_TO_START = 5", "SECONDS_TO_START = 0.2"))
    mark = tmp_path / "mark"
    service = ["python", "-c", f"import os, time; open({str(mark)!r}, 'w').write(os.environ['A']); time.sleep(2)"]
    config = {"services": [service], "env": {"A": "image", "B": "image"}}
    (tmp_path / "caliban_launcher_cfg.json").write_text(json.dumps(config))
    environment = seen(launcher.CONFIG, '{"env": {"A": "job"}}', file=file)[1]
    assert (environment["A"], environment["B"]) == ("job", "image")
    for _ in range(100):
        if mark.exists() and mark.read_text():
            break
        time.sleep(0.05)
    assert mark.read_text() == "job"


def test_a_service_that_fails_ends_the_job(tmp_path: Path) -> None:
    file = tmp_path / "caliban_launcher.py"
    # However long it takes to end here.
    source = LAUNCHER.read_text(encoding="utf-8")
    file.write_text(source.replace("time.sleep(SECONDS_TO_START)", "process.wait(60)"))
    (tmp_path / "caliban_launcher_cfg.json").write_text(
        json.dumps({"services": [["python", "-c", "raise SystemExit(4)"]]})
    )
    done = launched(file=file)
    assert (done.returncode, done.stderr) == (1, "caliban_launcher: python ended with code 4\n")


def test_the_password_is_put_into_the_uri_encoded() -> None:
    uri = "postgresql+pg8000://u:{password}@/d?unix_sock=/s"
    environment = seen(MLFLOW_TRACKING_URI=uri, MLFLOW_DB_PASSWORD="a/b@c%")[1]
    assert environment["MLFLOW_TRACKING_URI"] == "postgresql+pg8000://u:a%2Fb%40c%25@/d?unix_sock=/s"
    assert seen(MLFLOW_TRACKING_URI=uri)[1]["MLFLOW_TRACKING_URI"] == uri


@pytest.mark.parametrize("program", [launcher, cloud_sql_proxy])
def test_programs_of_the_image_run_with_python_3_7(program: Any) -> None:
    source = Path(program.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 7))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert imported <= sys.stdlib_module_names


def test_the_dockerfile_writes_the_launcher_as_it_is(tmp_path: Path) -> None:
    package = packaging.Package(("python",), ".", "train.py", None)
    [line] = [each for each in packaging.dockerfile_instructions(package, packaging.Contents()) if "printf" in each]
    script = line.removeprefix("RUN ").replace("/.resources/", f"{tmp_path}/")
    subprocess.run(["/bin/sh", "-c", script], check=True)
    written = (tmp_path / "caliban_launcher.py").read_text()
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(LAUNCHER.read_text(encoding="utf-8")))
    assert seen("--x", file=tmp_path / "caliban_launcher.py")[0] == ["--x"]


def test_the_proxy_takes_a_key_only_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(os, "execvp", lambda *argv: started.append(argv))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    key = tmp_path / "key.json"
    config = {"proxy": "/p", "path": str(tmp_path / "s"), "project": "a", "region": "b", "db": "c", "creds": str(key)}
    command = ["/p", "-dir", str(tmp_path / "s"), "-instances", "a:b:c", "-quiet"]
    cloud_sql_proxy.main([json.dumps(config)])
    assert started == [("/p", command)]
    assert "GOOGLE_APPLICATION_CREDENTIALS" not in os.environ
    key.touch()
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
    cloud_sql_proxy.main([json.dumps(config)])
    assert os.environ["GOOGLE_APPLICATION_CREDENTIALS"] == str(key)


def test_a_process_of_this_machine_starts_the_launcher_alone() -> None:
    program = "import sys; print(sorted(name for name in sys.modules if name.startswith('xmgen')))"
    argv = packaging.process_command(["python", "-c", program])
    done = subprocess.run([sys.executable, *argv[1:]], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
    # What the launcher itself imports delays every trial.
    watched = subprocess.run(
        [sys.executable, "-X", "importtime", *argv[1:]], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in watched.stderr.splitlines() if "xmgen" in line}
    assert {name for name in imported if name.startswith("xmgen")} == {
        "xmgen",
        "xmgen.frontends",
        "xmgen.frontends.caliban",
    }
