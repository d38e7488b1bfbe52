"""up, status, logs, preview and destroy, as a user types them, on the real engine."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import ROOT, until
from xmgen.stack import init

pytestmark = pytest.mark.engine

TRAIN = """\
import argparse, json, os, sys, time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=int)
args = parser.parse_args()

here = Path(os.environ["XMGEN_OUTPUT_DIR"])
project = Path(__file__).parents[1]
print(f"training with {args.rate}", flush=True)
with (project / "marks").open("a") as marks:
    marks.write(f"{args.rate}\\n")
while (project / f"hold-{args.rate}").exists():
    time.sleep(0.02)
if (project / f"fail-{args.rate}").exists():
    print("it went wrong")
    sys.exit(3)
(here / "metrics.json").write_text(json.dumps({"loss": args.rate / 10}))
"""

EXPERIMENT = """\
title: Rates
executables:
  train: {kind: python_container, path: ., entrypoint: {module_name: train}}
work_units:
  train:
    job: {executable: train, executor: {kind: local}}
    sweep: {grid: {args: {rate: [1, 2, 3]}}}
"""


class User:
    """Types commands in a project of their own; is logged in nowhere."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        init.init(self.root)
        (self.root / "rates").mkdir()
        (self.root / "rates" / "train.py").write_text(TRAIN)
        (self.root / "rates" / "experiment.yaml").write_text(EXPERIMENT)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI", "XMGEN"))}
        self.env = {
            **kept,
            "HOME": str(folder / "home"),
            "PULUMI_HOME": str(folder / "home" / ".pulumi"),
            "XDG_RUNTIME_DIR": str(folder / "runtime"),
            "PATH": f"{Path(sys.executable).parent}:{ROOT / '.tools' / 'bin'}:{os.environ['PATH']}",
        }
        (folder / "runtime").mkdir(mode=0o700)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [Path(sys.executable).parent / "xmgen", *arguments],
            cwd=self.root,
            env=self.env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str, code: int = 0) -> str:
        """Standard output."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, out + err
        self.errors = err
        return out

    def events(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*arguments, "--json", code=code).splitlines()]

    def up(self, code: int = 0) -> dict[str, str]:
        """Status by rate."""
        result = self.events("up", "rates", "--runner", "process", "--set", "xmgen:cpus=3", code=code)[-1]
        return {unit["arguments"]["rate"]: unit["status"] for unit in result["units"]}

    def marks(self) -> list[str]:
        """The rates of the trials that ran, in order."""
        file = self.root / "marks"
        return file.read_text().split() if file.exists() else []

    def log(self, rate: int) -> str:
        """What the log of a trial has so far."""
        folders = (self.root / ".xmgen" / "rates" / "runs").glob(f"train-rate-{rate}-*")
        return "".join(log.read_text() for folder in folders for log in folder.glob("*.log"))

    def lock(self) -> dict[str, Any]:
        """The lock of the engine that is at work."""
        locks = self.root / ".xmgen" / "backend" / ".pulumi" / "locks" / "organization" / "experiments" / "rates"
        until(lambda: list(locks.glob("*.json")), "the stack is locked")
        return json.loads(next(locks.glob("*.json")).read_text())

    def under_way(self) -> list[object]:
        """The operations that the stack's state says have begun and not ended."""
        file = self.root / ".xmgen" / "backend" / ".pulumi" / "stacks" / "experiments" / "rates.json"
        state = json.loads(file.read_text()) if file.exists() else {}
        latest = state.get("checkpoint", {}).get("latest") or {}
        return latest.get("pending_operations") or []

    def hold(self, rate: int) -> Path:
        """Makes a trial run until the file is removed."""
        file = self.root / f"hold-{rate}"
        file.touch()
        return file

    def trials(self) -> list[bytes]:
        """The command lines of the trials that run."""
        found: list[bytes] = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                line = (entry / "cmdline").read_bytes()
                if b"--rate=" in line and str(self.root).encode() in (entry / "environ").read_bytes():
                    found.append(line)
            except OSError:
                continue
        return found


def read_until(process: subprocess.Popen[str], **counts: int) -> None:
    """Reads what `up` prints until so many lines have begun with each of these words."""
    assert process.stdout is not None
    for line in process.stdout:
        word = line.partition(" ")[0]
        if word in counts:
            counts[word] -= 1
        if max(counts.values()) <= 0:
            return
    pytest.fail("it ended before")


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


ALL_FINISHED = {"1": "finished", "2": "finished", "3": "finished"}


def test_from_a_source_to_results_and_back_to_nothing(user: User) -> None:
    text = user.run("up", "rates/experiment.yaml", "--runner", "process")
    assert "\x1b" not in text
    lines = [line.split() for line in text.splitlines()]
    assert ["#", "unit", "rate", "status", "loss", "seconds"] in lines
    rows = [line for line in lines if line and line[0] in ("1", "2", "3")]
    assert [(row[2], row[3], row[4]) for row in rows] == [
        ("1", "finished", "0.1"),
        ("2", "finished", "0.2"),
        ("3", "finished", "0.3"),
    ]
    assert sorted(user.marks()) == ["1", "2", "3"]

    status = json.loads(user.run("status", "rates", "--json"))
    assert status["active"] is False
    first, _, last = status["units"]
    assert {key: first[key] for key in ("arguments", "status", "exitCode", "metrics", "reasons")} == {
        "arguments": {"rate": "1"},
        "status": "finished",
        "exitCode": 0,
        "metrics": {"loss": 0.1},
        "reasons": [],
    }
    assert (user.root / first["outputPath"] / "metrics.json").is_file()
    assert user.run("logs", "rates", "2") == "training with 2\n"
    assert user.run("logs", "rates", first["unit"]) == "training with 1\n"
    assert (
        user.run("logs", "rates", "1", "3") == f"{first['unit']} | training with 1\n{last['unit']} | training with 3\n"
    )
    assert len(user.run("logs", "rates").splitlines()) == 3

    # The command that is printed does the same, here: nothing.
    command = next(line for line in text.splitlines() if "pulumi up" in line)
    plain = subprocess.run(
        ["/bin/sh", "-c", command], cwd=user.root, env=user.env, capture_output=True, text=True, check=True
    )
    assert "5 unchanged" in plain.stdout
    assert user.up() == ALL_FINISHED
    assert sorted(user.marks()) == ["1", "2", "3"]

    text = user.run("destroy", "rates")
    lines = [line for line in text.splitlines() if line.startswith(("deleted ", "removed "))]
    assert len(lines) == 4
    assert "rates: 4 resources removed." in text
    assert "rates is not up; `xmgen up rates` runs it." in user.run("status", "rates")
    assert "Kept: what 3 trials wrote, below .xmgen/rates/runs." in text
    assert (user.root / first["outputPath"] / "metrics.json").is_file()
    result = user.events("destroy", "rates", "--no-keep-outputs", "--remove")[-1]
    assert (result["removed"], result["keptOutputs"]) == (True, [])
    assert not (user.root / ".xmgen" / "rates").exists()
    user.run("destroy", "rates", code=2)
    assert "the backend has no stack 'rates'" in user.errors


def test_trials_that_an_up_never_came_to_are_as_they_were(user: User) -> None:
    """Code that was edited after the compile is refused before any trial."""
    user.run("compile", "rates/experiment.yaml")
    (user.root / "fail-2").touch()
    before = user.up(code=1)
    assert before == {"1": "finished", "2": "failed", "3": "finished"}
    with (user.root / "rates" / "train.py").open("a") as code:
        code.write("# edited\n")
    assert user.up(code=1) == before
    assert "rates: 2 finished, 1 failed." in user.run("up", "rates", code=1)


def test_a_failed_trial_is_reported_and_it_alone_runs_again(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    (user.root / "fail-2").touch()
    text = user.run("up", "rates", "--runner", "process", code=1)
    assert "rates: 2 finished, 1 failed. `xmgen up rates` runs again what did not finish." in text
    report = text[text.index(" failed\n") :]
    assert "exit code 3" in report
    assert "    training with 2\n    it went wrong\n" in report
    assert "train.log" in report

    status = json.loads(user.run("status", "rates", "--json"))
    assert [unit["status"] for unit in status["units"]] == ["finished", "failed", "finished"]
    (user.root / "fail-2").unlink()
    assert user.up() == ALL_FINISHED
    assert sorted(user.marks()) == ["1", "2", "2", "3"]


def test_preview_says_what_up_would_do_and_runs_nothing(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    result = user.events("preview", "rates")[-1]
    assert (result["result"], result["changes"]) == ("succeeded", {"create": 5})
    assert [step["operation"] for step in result["steps"]] == ["create"] * 5
    assert user.marks() == []
    user.up()
    assert "nothing to do; 5 unchanged" in user.run("preview", "rates")
    (user.root / "rates" / "train.py").write_text(TRAIN + "print('done')\n")
    text = user.run("preview", "rates", code=1)
    assert "error: train: digest: rates: code of train changed after the compile\n  run `xmgen compile" in text
    text = user.run("preview", "rates/experiment.yaml")
    assert sum(line.startswith("replace ") for line in text.splitlines()) == 3
    assert "jobs[0].executable.digest" in text
    assert "create-replacement" not in text


def test_logs_are_followed_until_the_trials_end(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    user.run("logs", "rates", "2", code=1)
    assert user.errors.startswith("error: .xmgen/rates/runs/train-rate-2-")
    assert user.errors.endswith(": no log yet\n  `xmgen status rates` says how the trials stand\n")
    user.run("logs", "rates", "--since", "10m", code=2)
    assert user.errors == "error: --since: what trials on this machine print has no times\n  use --tail\n"

    (user.root / "fail-2").touch()
    hold = user.hold(2)
    process = user.start("up", "rates", "--runner", "process", "--set", "xmgen:cpus=3")
    until(lambda: len(user.marks()) == 3, "all trials have begun")
    follow = user.start("logs", "rates", "2", "--follow")
    assert follow.stdout is not None
    assert follow.stdout.readline() == "training with 2\n"
    hold.unlink()
    assert follow.communicate(timeout=60) == ("it went wrong\n", "")
    assert follow.returncode == 0
    process.communicate(timeout=60)
    assert user.run("logs", "rates", "2", "--tail", "1", "--follow") == "it went wrong\n"


def test_logs_of_a_trial_that_was_killed_are_not_followed_for_ever(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    user.hold(2)
    process = user.start("up", "rates", "--runner", "process", "--set", "xmgen:cpus=3")
    until(lambda: user.log(2) == "training with 2\n", "its log has what it printed")
    os.kill(user.lock()["pid"], signal.SIGKILL)
    process.communicate(timeout=60)
    assert user.run("logs", "rates", "2", "--follow") == "training with 2\n"
    assert user.errors == "Nothing is at work on rates; `xmgen up rates` runs what has not ended.\n"


def test_ctrl_c_stops_the_trials_and_the_next_up_goes_on(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    hold = user.hold(2)
    process = user.start("up", "rates", "--runner", "process", "--set", "xmgen:cpus=3")
    read_until(process, finished=2)
    until(lambda: len(user.marks()) == 3, "all trials have begun")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopping: " in out
    assert "rates: interrupted; 2 finished, 1 stopped. " in out
    assert "failed" not in out
    assert user.trials() == []
    status = json.loads(user.run("status", "rates", "--json"))
    assert [unit["status"] for unit in status["units"]] == ["finished", "stopped", "finished"]
    assert user.run("status", "rates").endswith("\n1 of 3 trials have not finished; `xmgen up rates` runs them.\n")

    hold.unlink()
    assert user.up() == ALL_FINISHED
    assert sorted(user.marks()) == ["1", "2", "2", "3"]


def test_when_nobody_reads_any_more_it_ends_in_order(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    hold, last = user.hold(2), user.hold(3)
    process = user.start("up", "rates", "--runner", "process", "--set", "xmgen:cpus=3")
    read_until(process, running=3, finished=1)
    until(lambda: len(user.marks()) == 3, "all trials have begun")
    assert process.stdout is not None
    process.stdout.close()
    # Its end is the next thing that there is to say.
    last.unlink()
    process.wait(timeout=60)
    assert user.trials() == []
    hold.unlink()
    # Nothing was killed, so there is nothing to clear up.
    assert user.events("up", "rates")[0]["event"] == "operation"
    assert user.errors == ""
    assert sorted(user.marks()) == ["1", "2", "2", "3"]


def test_inputs_that_the_provider_refuses_are_reported_with_their_unit(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    manifest = user.root / "stacks" / "rates" / "manifests" / "local.yaml"
    manifest.write_text(manifest.read_text().replace("- --rate=2", "- 5"))
    text = user.run("up", "rates", "--runner", "process", code=1)
    assert "must be a text without NUL characters" in text
    assert user.events("up", "rates", code=1)[-1]["units"][1]["status"] == "failed"


def test_after_a_kill_the_next_up_needs_nobody(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    hold = user.hold(2)
    process = user.start("up", "rates", "--runner", "process", "--set", "xmgen:cpus=3")
    until(lambda: len(user.marks()) == 3 and len(user.trials()) == 1, "only the held trial is left")
    until(lambda: len(user.under_way()) == 1, "the state says so, too")
    status = json.loads(user.run("status", "rates", "--json"))
    assert (status["active"], status["units"][1]["status"]) == (True, "running")
    # Somebody else's `up` does not disturb it.
    user.run("up", "rates", code=1)
    assert f"process {user.lock()['pid']} is working on the stack" in user.errors

    os.kill(user.lock()["pid"], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == 1
    until(lambda: not user.trials(), "the trial is stopped")
    status = json.loads(user.run("status", "rates", "--json"))
    assert (status["active"], status["units"][1]["status"]) == (False, "stopped")

    # The worst moment for a kill: while the engine saves the state.
    state = user.root / ".xmgen" / "backend" / ".pulumi" / "stacks" / "experiments" / "rates.json.attrs"
    state.write_text("")

    hold.unlink()
    out = user.run("up", "rates")
    assert "Removed the lock of an operation that was killed." in out
    assert "Took up 1 operation that a kill had interrupted." in out
    assert "3 finished" in out
    assert sorted(user.marks()) == ["1", "2", "2", "3"]
    assert "Took up" not in user.run("up", "rates")


def test_destroy_after_a_kill_leaves_nothing(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    user.hold(2)
    process = user.start("up", "rates", "--runner", "process", "--set", "xmgen:cpus=3")
    until(lambda: len(user.marks()) == 3 and len(user.trials()) == 1, "only the held trial is left")
    os.kill(user.lock()["pid"], signal.SIGKILL)
    process.communicate(timeout=60)
    until(lambda: not user.trials(), "the trial is stopped")
    user.run("destroy", "rates", "--no-keep-outputs")
    assert not (user.root / ".xmgen" / "rates").exists()


def test_secrets_need_a_passphrase(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    state = (user.root / ".xmgen" / "backend").as_uri()
    (user.root / ".xmgen" / "backend").mkdir(parents=True)
    env = {**user.env, "PULUMI_BACKEND_URL": state, "PULUMI_CONFIG_PASSPHRASE": "correct horse"}
    for command in ("stack init rates", "config set --stack rates --secret experiments:key value"):
        subprocess.run(["pulumi", *command.split()], cwd=user.root, env=env, check=True, capture_output=True)
    user.run("up", "rates", code=2)
    assert "stacks/Pulumi.rates.yaml: the stack's settings hold secrets" in user.errors
    assert user.marks() == []
    user.env["PULUMI_CONFIG_PASSPHRASE"] = "wrong"
    user.run("up", "rates", code=1)
    assert "incorrect passphrase" in user.errors
    user.env["PULUMI_CONFIG_PASSPHRASE"] = "correct horse"
    assert user.up() == ALL_FINISHED


def reads_a_secret(user: User) -> None:
    """The stack's program reads a secret of its configuration."""
    user.run("compile", "rates/experiment.yaml")
    main = user.root / "stacks" / "rates" / "__main__.py"
    text = 'config = pulumi.Config()\npulumi.export("length", config.require_secret("key").apply(len))\n'
    main.write_text(f"{main.read_text()}\nimport pulumi\n{text}")
    declared = main.with_name("resources.yaml")
    key = "configuration:\n  key: {type: string, secret: true, required: true}\n"
    declared.write_text(declared.read_text().replace("resources:\n", f"{key}resources:\n", 1))


def with_secret(user: User, *arguments: str, value: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "xmgen", "up", "rates", "--runner", "process", "--secret", "key", *arguments],
        cwd=user.root,
        env={**user.env, **environment},
        input=value,
        capture_output=True,
        text=True,
    )


def texts(user: User) -> str:
    files = [path for path in user.root.rglob("*") if path.is_file()]
    return "".join(path.read_bytes().decode(errors="replace") for path in files)


def test_a_secret_is_asked_for_and_kept_encrypted(user: User) -> None:
    reads_a_secret(user)
    user.run("up", "rates", code=2)
    assert user.errors == (
        "error: stacks/Pulumi.rates.yaml: rates cannot run without the secret key\n"
        "  `xmgen up rates --secret key` sets it for good\n"
    )
    files = {"strong": "correct horse\n", "blank": "\n"}
    for name, content in files.items():
        (user.root / name).write_text(content)
    file, empty = "PULUMI_CONFIG_PASSPHRASE_FILE", {"PULUMI_CONFIG_PASSPHRASE": ""}
    # Pulumi prefers a variable that is set to nothing to the file.
    for environment in ({}, empty, {**empty, file: "strong"}, {**empty, file: "none"}, {file: "blank"}, {file: "none"}):
        refused = with_secret(user, value="tell nobody", **environment)
        expected = "cannot be read" if environment == {file: "none"} else "no passphrase protects the secrets"
        assert (refused.returncode, expected in refused.stderr) == (2, True)
    assert user.marks() == []
    assert not (user.root / "stacks" / "Pulumi.rates.yaml").exists()
    user.env[file] = "strong"
    done = with_secret(user, value="tell nobody\n")
    assert done.returncode == 0, done.stderr
    assert "Kept the secret key, encrypted." in done.stdout
    assert "tell nobody" not in done.stdout + done.stderr + texts(user)
    settings = (user.root / "stacks" / "Pulumi.rates.yaml").read_text()
    assert "experiments:key:\n    secure: v1:" in settings
    env = {**user.env, "PULUMI_BACKEND_URL": (user.root / ".xmgen" / "backend").as_uri()}
    command = ["pulumi", "stack", "output", "--show-secrets", "--json", "--stack", "rates"]
    shown = subprocess.run(command, cwd=user.root, env=env, check=True, capture_output=True, text=True).stdout
    assert json.loads(shown)["length"] == len("tell nobody")
    # It stays set.
    user.run("up", "rates")


def test_a_stack_that_was_made_without_a_passphrase_gets_one(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    user.up()
    reads_a_secret(user)
    user.env["PULUMI_CONFIG_PASSPHRASE"] = "correct horse"
    done = with_secret(user, value="tell nobody")
    assert done.returncode == 0, done.stderr
    assert "The stack had an empty passphrase; now it has yours." in done.stdout
    user.env["PULUMI_CONFIG_PASSPHRASE"] = "battery staple"
    refused = with_secret(user, value="tell nobody")
    assert (refused.returncode, "incorrect passphrase" in refused.stderr) == (1, True)
    del user.env["PULUMI_CONFIG_PASSPHRASE"]
    user.run("status", "rates", code=2)
    assert "`xmgen up rates --secret KEY` with the new one encrypts all secrets anew" in user.errors


@pytest.mark.parametrize("passphrase", [" correct horse", "correct\nhorse"])
def test_a_passphrase_of_which_pulumi_reads_a_part_replaces_none(user: User, passphrase: str) -> None:
    user.run("compile", "rates/experiment.yaml")
    user.up()
    reads_a_secret(user)
    refused = with_secret(user, value="tell nobody", PULUMI_CONFIG_PASSPHRASE=passphrase)
    assert (refused.returncode, "choose one of a single line, without blanks around it" in refused.stderr) == (1, True)
    user.env["PULUMI_CONFIG_PASSPHRASE"] = "correct horse"
    assert "The stack had an empty passphrase; now it has yours." in with_secret(user, value="tell nobody").stdout


def test_on_a_terminal_it_asks_first_and_shows_what_runs(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    code, shown = terminal(user, "n\n")
    assert (code, "Nothing was run, created or removed." in shown) == (1, True)
    assert user.marks() == []
    code, shown = terminal(user, "y\n")
    assert code == 0
    assert "Run 3 work units of rates?" in shown
    assert "finished" in shown
    assert "\x1b[" in shown


def test_what_was_compiled_after_the_question_is_not_run(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")

    def compile_another() -> None:
        source = user.root / "rates" / "experiment.yaml"
        source.write_text(source.read_text().replace("[1, 2, 3]", "[1, 2, 3, 4]"))
        user.run("compile", "rates/experiment.yaml")

    code, shown = terminal(user, "y\n", compile_another)
    assert "Run 3 work units of rates?" in shown
    assert "it was compiled again meanwhile" in shown
    assert (code, user.marks()) == (1, [])
    assert user.run("status", "rates").endswith("rates is not up; `xmgen up rates` runs it.\n")


def terminal(user: User, answer: str, meanwhile: Callable[[], None] = lambda: None) -> tuple[int, str]:
    """Exit code and output of `xmgen up` on a terminal, where the answer is typed; meanwhile: before that."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(user.root)
        xmgen = Path(sys.executable).parent / "xmgen"
        os.execve(xmgen, ["xmgen", "up", "rates", "--runner", "process"], {**user.env, "TERM": "xterm"})
    shown = b""
    asked = False
    while True:
        try:
            shown += os.read(master, 4096)
        except OSError:
            break
        if not asked and b"[y/N]" in shown:
            asked = True
            meanwhile()
            os.write(master, answer.encode())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


def test_a_stack_that_is_not_compiled_is_a_clear_error_of_the_program(user: User) -> None:
    user.run("compile", "rates/experiment.yaml")
    state = (user.root / ".xmgen" / "backend").as_uri()
    (user.root / ".xmgen" / "backend").mkdir(parents=True)
    env = {**user.env, "PULUMI_BACKEND_URL": state, "PULUMI_CONFIG_PASSPHRASE": ""}
    subprocess.run(["pulumi", "stack", "init", "other"], cwd=user.root, env=env, check=True, capture_output=True)
    done = subprocess.run(["pulumi", "preview"], cwd=user.root, env=env, capture_output=True, text=True)
    assert "no experiment is compiled for the stack 'other'" in done.stdout
    assert "compiled are rates" in done.stdout
    assert "Traceback" not in done.stdout
