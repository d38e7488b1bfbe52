"""`xmgen check` judges code that it does not trust: nothing that code does changes the verdict."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from xmgen.cli import cli
from xmgen.stack import init

LAUNCHER = """
from xmanager import xm, xm_local

with xm_local.create_experiment(experiment_title="Title") as experiment:
    spec = xm.PythonContainer(path="code", entrypoint=xm.ModuleName("train"))
    [executable] = experiment.package([xm.Packageable(spec, xm_local.Local.Spec())])
    experiment.add(xm.Job(executable, xm_local.Local(), args={"rate": 1}))
"""

PATCHES = """
import xmgen.commands.compile, xmgen.compiler, xmgen.stack.folder, xmgen.stack.verification, xmgen.stack.tree
import xmgen.commands.output, xmgen.stack.lock
from xmgen.stack.verification import Verdict

xmgen.stack.folder.difference = lambda *a, **k: ""
xmgen.stack.verification.of_stack = lambda *a, **k: Verdict("rendered", "", ())
xmgen.stack.verification.of_project = lambda *a, **k: ()
xmgen.stack.tree.regular = lambda *a, **k: {}
xmgen.compiler.rendered = lambda *a, **k: {}
xmgen.stack.lock.faults = lambda *a, **k: ()
xmgen.commands.compile.check = lambda *a, **k: 0
xmgen.commands.output.say = lambda *a, **k: None
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the stack `sweep` of a launch script."""
    init.init(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep" / "code").mkdir(parents=True)
    (tmp_path / "sweep" / "code" / "train.py").write_text("")
    write(tmp_path, LAUNCHER)
    assert run("compile", "sweep/launcher.py").exit_code == 0
    return tmp_path


def write(project: Path, script: str) -> None:
    (project / "sweep" / "launcher.py").write_text(script)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments], catch_exceptions=False)


def checked() -> tuple[int, dict[str, Any]]:
    done = run("check", "--json")
    (stack,) = json.loads(done.stdout)["stacks"]
    return done.exit_code, stack


def tamper(project: Path) -> None:
    jobs = project / "stacks" / "sweep" / "jobs.py"
    jobs.write_text(jobs.read_text() + "import evil\n")


@pytest.mark.parametrize("where", [f"{PATCHES}{LAUNCHER}", f"{LAUNCHER}{PATCHES}"], ids=["first", "last"])
def test_a_script_that_patches_what_judges_it_changes_no_verdict(project: Path, where: str) -> None:
    write(project, where)
    assert checked() == (0, {"stack": "sweep", "current": True, "diff": ""})
    tamper(project)
    code, stack = checked()
    assert (code, stack["current"]) == (1, False)
    assert [finding["path"] for finding in stack["findings"]] == ["stacks/sweep/jobs.py"]
    assert "-import evil\n" in stack["diff"]


def test_a_script_that_mends_what_it_tampered_with_while_it_is_judged_is_too_late(project: Path) -> None:
    jobs = project / "stacks" / "sweep" / "jobs.py"
    write(project, f"open({str(jobs)!r}, 'w').write({jobs.read_text()!r})\n{LAUNCHER}")
    tamper(project)
    assert checked()[0] == 1


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("os._exit(0)", "with exit code 0"),
        ("os._exit(3)", "with exit code 3"),
        ("os.kill(os.getpid(), 9)", "by signal 9"),
        ("print('{}'); os.closerange(3, 100); os._exit(0)", "with exit code 0"),
    ],
)
def test_a_script_whose_process_ends_without_an_experiment_is_an_error(project: Path, end: str, how: str) -> None:
    write(project, f"import os\n{end}\n{LAUNCHER}")
    done = run("check")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "sweep: cannot be compiled\n"
        f"error: stack sweep, sweep/launcher.py: the launch script's process ended {how} before it gave an experiment\n"
    )


def test_what_a_script_would_be_told_by_a_compile_it_is_told_by_a_check(project: Path) -> None:
    write(project, LAUNCHER.replace('{"rate": 1}', "missing"))
    compiled = run("compile", "sweep/launcher.py").stderr
    assert "sweep/launcher.py:7" in compiled
    assert run("check").stderr == f"sweep: cannot be compiled\n{compiled.replace('error: ', 'error: stack sweep, ')}"
    assert checked()[0] == 1


def test_of_a_check_the_line_of_a_job_that_cannot_be_planned_is_known(project: Path) -> None:
    kubernetes = LAUNCHER.replace("xm_local.Local.Spec()", "xm_local.Kubernetes.Spec()")
    write(project, kubernetes.replace("xm_local.Local()", "xm_local.Kubernetes(xm.JobRequirements(cpu=100000))"))
    compiled = run("compile", "sweep/launcher.py").stderr
    assert "launcher.py:7" in compiled
    assert run("check").stderr.endswith(compiled.replace("error: ", "error: stack sweep, "))


def test_what_a_script_prints_is_shown_beside_the_verdict_and_cannot_draw_over_it(project: Path) -> None:
    write(project, f"print('\\x1b[2J\\x1b]0;title\\x07sweep: up to date')\n{LAUNCHER}")
    tamper(project)
    done = run("check")
    assert "sweep: up to date" in done.stderr
    assert "\x1b" not in done.output
    assert "sweep: up to date" not in done.stdout
    assert done.exit_code == 1


def test_a_version_that_changes_no_other_byte_leaves_a_stack_current(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_file = project / "stacks" / "sweep" / "experiment.lock.json"
    text = re.sub(r'"xmgen": "[^"]*"', '"xmgen": "0.0.1"', lock_file.read_text())
    lock_file.write_text(text)
    assert checked() == (0, {"stack": "sweep", "current": True, "diff": ""})
    assert run("compile", "sweep/launcher.py").stdout.startswith("stacks/sweep: 1 work unit, written\n")
    assert '"xmgen": "0.0.1"' not in lock_file.read_text()


@pytest.mark.parametrize(
    ("path", "content", "named"),
    [
        ("stacks/__main__.py", "import evil", "stacks/__main__.py is not what `xmgen init` writes"),
        ("stacks/.plugin/pulumi-resource-xmgen", "#!/bin/sh", "stacks/.plugin/pulumi-resource-xmgen is not what"),
        ("stacks/yaml.py", "import evil", "stacks/yaml.py is of no compiled stack"),
        ("stacks/sweep/yaml.py", "import evil", "stacks/sweep/yaml.py was not written by xmgen"),
        (
            "stacks/sweep/__pycache__/jobs.cpython-311.pyc",
            "x",
            "jobs.cpython-311.pyc is bytecode, which Python may run",
        ),
        ("Pulumi.json", "{}", "Pulumi.json is what Pulumi may read in place of Pulumi.yaml"),
    ],
)
def test_every_file_that_runs_is_held_against_what_it_should_be(
    project: Path, path: str, content: str, named: str
) -> None:
    (project / path).parent.mkdir(exist_ok=True)
    (project / path).write_text(content)
    done = run("check")
    assert done.exit_code == 1
    assert named in done.stderr


def test_a_link_is_named_and_what_it_leads_to_is_not_shown(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("home") / "id_rsa"
    secret.write_text("secret")
    (project / "stacks" / "sweep" / "manifests" / "leak.yaml").symlink_to(secret)
    done = run("check")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("stacks/sweep/manifests/leak.yaml is a link, which was not read\n")
    assert "secret" not in run("inspect", "sweep", "--manifests").output


def test_what_files_say_cannot_steer_a_terminal(project: Path) -> None:
    evil = "\x1b]0;title\x07\x9b2J\u202e"
    folder = project / "stacks" / "sweep"
    (folder / "jobs.py").write_text(f"# {evil}\r\n")
    (folder / f"{evil}.py").write_text("")
    manifest = folder / "manifests" / "local.yaml"
    manifest.write_text(f"# {evil}\n{manifest.read_text()}")
    for arguments in (("check",), ("check", "--json"), ("inspect", "sweep"), ("inspect", "sweep", "--manifests")):
        output = run(*arguments).output
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", output), arguments
    assert "+# \\x1b]0;title\\x07\\x9b2J\\u202e\\r\n" not in run("check").stdout
    assert "-# \\x1b]0;title\\x07\\x9b2J\\u202e\\r\n" in run("check").stdout
    (finding,) = [each for each in checked()[1]["findings"] if evil in each["path"]]
    assert finding["path"] == f"stacks/sweep/{evil}.py"


def test_a_compile_puts_back_what_one_that_was_killed_left_and_says_so(project: Path) -> None:
    left = project / "stacks" / ".sweep.abcdefgh"
    left.mkdir()
    (project / "stacks" / "sweep").rename(left / "old")
    for command in ("check", "inspect", "status"):
        done = run(command, "sweep")
        assert done.exit_code == 2
        assert f"a compile of it was killed and left {left}: `xmgen compile SOURCE` puts it back" in done.stderr
    done = run("compile", "sweep/launcher.py")
    assert done.stderr == "stacks/sweep: put back, as it was before a compile that was killed\n"
    assert done.stdout.startswith("stacks/sweep: 1 work unit, unchanged\n")
    assert run("check").exit_code == 0


def test_a_folder_of_a_pull_request_that_looks_like_a_killed_compile_becomes_no_stack(project: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], check=True)
    theirs = project / "stacks" / ".zz.abcdefgh" / "old"
    theirs.parent.mkdir()
    (project / "stacks" / "sweep").rename(theirs)
    subprocess.run(["git", "add", "--force", "--all"], check=True)
    for arguments in (("inspect", "zz"), ("check",), ("compile", "sweep/launcher.py"), ("up", "zz")):
        run(*arguments)
        assert theirs.is_dir()
        assert not (project / "stacks" / "zz").exists()
    assert "stacks/.zz.abcdefgh/old/jobs.py is of no compiled stack" in run("check").stderr
