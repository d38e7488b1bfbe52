"""compile, check, expand, inspect and schema, on the first experiment that `xmgen init` writes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.conftest import ROOT
from xmgen.cli import cli
from xmgen.commands import target
from xmgen.project import find
from xmgen.stack import init

SOURCE = "first/experiment.yaml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    init.init(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(cli, [*arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def parsed(*arguments: str, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code).stdout)


def test_compile_writes_a_stack_and_a_second_time_changes_nothing(project: Path) -> None:
    expected = {"stack": "first", "folder": "stacks/first", "changed": True, "units": 6, "notes": [], "missing": []}
    assert parsed("compile", SOURCE) == expected
    assert parsed("compile", SOURCE) == {**expected, "changed": False}
    assert run("compile", SOURCE).stdout.startswith("stacks/first: 6 work units, unchanged\n")


def test_a_folder_is_answered_with_what_may_be_meant_in_it(project: Path) -> None:
    assert run("compile", "first", code=2).stderr == (
        "error: first: is a folder\n"
        "  did you mean first/experiment.yaml? A Caliban project is compiled with `xmgen caliban run …` in its folder\n"
    )


@pytest.mark.parametrize("command", ["up", "preview", "status", "inspect", "check"])
def test_so_is_one_where_a_stack_is_asked_for(project: Path, command: str) -> None:
    assert run(command, "first", code=2).stderr == (
        "error: no stack 'first' is compiled\n  did you mean first/experiment.yaml?\n"
    )


def test_an_experiment_beside_pulumi_yaml_is_not_changed_by_its_own_stack(project: Path) -> None:
    for file in (project / "first").iterdir():
        file.rename(project / file.name)
    run("compile", "experiment.yaml")
    assert not parsed("compile", "experiment.yaml")["changed"]


def test_one_source_makes_any_number_of_stacks(project: Path) -> None:
    run("compile", SOURCE, "--stack", "dev")
    run("compile", SOURCE, "--stack", "prod")
    assert sorted(path.name for path in (project / "stacks").iterdir() if not path.name.startswith((".", "_"))) == [
        "dev",
        "prod",
    ]


def test_check_is_green_until_the_source_changes(project: Path) -> None:
    run("compile", SOURCE)
    run("compile", SOURCE, "--stack", "other")
    assert parsed("check") == {
        "stacks": [{"stack": "first", "current": True, "diff": ""}, {"stack": "other", "current": True, "diff": ""}]
    }
    source = project / SOURCE
    source.write_text(source.read_text().replace("[100, 400]", "[100]"))
    done = run("check", "first", code=1)
    assert "--- a/stacks/first/manifests/local.yaml\n+++ b/stacks/first/manifests/local.yaml\n" in done.stdout
    assert "\n-  - --steps=400\n" in done.stdout
    assert done.stderr == f"first: stale; `xmgen compile {SOURCE}` compiles it again\n"
    assert "other: stale; `xmgen compile first/experiment.yaml --stack other` compiles" in run("check", code=1).stderr
    run("compile", SOURCE)
    run("check", "first")


def test_a_trial_more_is_no_changed_code(project: Path) -> None:
    run("compile", SOURCE)
    lock = project / "stacks" / "first" / "experiment.lock.json"
    before = lock.read_text().splitlines()
    source = project / SOURCE
    source.write_text(source.read_text().replace("[100, 400]", "[100, 400, 900]"))
    run("compile", SOURCE)
    executable = next(line for line in before if '"digest"' in line)
    assert executable in lock.read_text().splitlines()


def test_an_experiment_that_the_code_reads_is_code(project: Path) -> None:
    (project / "first" / "train.py").write_text("open('experiment.yaml')\n")
    run("compile", SOURCE)
    assert '"exclude":[]' in (project / "stacks" / "first" / "experiment.lock.json").read_text()


def test_changed_code_is_stale_too(project: Path) -> None:
    run("compile", SOURCE)
    (project / "first" / "train.py").write_text("print()\n")
    assert "experiment.lock.json" in run("check", code=1).stdout


def test_a_stack_whose_source_is_gone_is_stale_with_its_reason(project: Path) -> None:
    run("compile", SOURCE)
    (project / SOURCE).unlink()
    done = run("check", code=1)
    assert done.stderr == (
        "first: cannot be compiled\n"
        "error: stack first: its source first/experiment.yaml is not there any more\n"
        "  if it has another name now, `xmgen compile NEW --stack first` compiles it from there; "
        "`xmgen destroy first` and deleting stacks/first give it up\n"
    )


@pytest.mark.parametrize("command", ["inspect", "status", "logs"])
def test_of_a_source_its_stack_is_named(project: Path, command: str) -> None:
    run("compile", SOURCE)
    said = f"error: no stack '{SOURCE}' is compiled\n  it was compiled to first\n"
    assert run(command, SOURCE, code=2).stderr == said
    (project / SOURCE).rename(project / "first" / "other.yaml")
    assert run(command, "first/other.yaml", code=2).stderr.endswith("\n  known: first\n")


def test_a_source_that_was_renamed_makes_another_stack_or_keeps_its_own(project: Path) -> None:
    run("compile", SOURCE)
    (project / SOURCE).rename(project / "first" / "second.yaml")
    assert run("compile", "first/second.yaml").stdout.splitlines() == [
        "stacks/second: 6 work units, written",
        "  the stack first: its source first/experiment.yaml is not there any more; if it has another name now, "
        "`xmgen compile NEW --stack first` compiles it from there; "
        "`xmgen destroy first` and deleting stacks/first give it up",
        "Next: `xmgen inspect second` shows it, `xmgen up second` runs it.",
    ]
    assert run("compile", "first/second.yaml").stdout.startswith("stacks/second: 6 work units, unchanged\nNext: ")
    run("compile", "first/second.yaml", "--stack", "first")
    run("check", "first")


def test_expand_lists_every_job_and_writes_nothing(project: Path) -> None:
    jobs = parsed("expand", SOURCE)
    assert (jobs["title"], jobs["stack"], len(jobs["jobs"])) == ("First experiment", "first", 6)
    assert jobs["jobs"][0] == {
        "unit": 1,
        "role": "work_unit",
        "label": "",
        "after": [],
        "job": "fit",
        "executable": "fit",
        "executor": "local",
        "args": ["--learning_rate=0.03", "--steps=100"],
        "env": {},
        "requirements": {},
    }
    lines = run("expand", SOURCE).stdout.splitlines()
    assert lines[0].split() == ["unit", "job", "executor", "args", "env", "requirements"]
    assert lines[1].split() == ["1", "fit", "local", "--learning_rate=0.03", "--steps=100"]
    assert not (project / "stacks" / "first").exists()


def test_inspect_shows_resources_and_what_varies(project: Path) -> None:
    run("compile", SOURCE)
    plan = parsed("inspect", "first")
    assert plan["resources"][0] == {"step": 1, "type": "xmgen:local:Executable", "name": "fit", "dependsOn": []}
    assert [resource["step"] for resource in plan["resources"][1:]] == [2] * 6
    assert plan["units"][0]["varying"] == {"learning_rate": "0.03", "steps": "100"}
    text = run("inspect", "first").stdout
    assert plan["units"][5]["unit"] in text
    assert "\x1b" not in text


def test_inspect_shows_all_that_a_stack_in_the_cloud_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = parsed("inspect", "gke-train")["resources"]
    steps = {resource["type"].rpartition(":")[2]: resource["step"] for resource in shown}
    assert steps["Service"] < steps["Network"] < steps["Cluster"] < steps["NodePool"]
    assert steps["Namespace"] < steps["ServiceAccount"] < steps["Job"]
    assert steps["Code"] < steps["Image"] < steps["Job"]
    assert [resource["step"] for resource in shown] == sorted(resource["step"] for resource in shown)


def test_inspect_prints_the_manifests_as_they_are(project: Path) -> None:
    run("compile", SOURCE)
    manifest = (project / "stacks" / "first" / "manifests" / "local.yaml").read_text()
    assert run("inspect", "first", "--manifests").stdout == manifest


def test_schema_is_a_json_schema() -> None:
    assert json.loads(run("schema").stdout)["title"] == "xmgen experiment"


LONG = "x" * 300


def test_tables_are_never_cut(project: Path) -> None:
    source = project / SOURCE
    source.write_text(source.read_text().replace("[100, 400]", f'[100, "{LONG}"]'))
    assert f"--steps={LONG}" in run("expand", SOURCE).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "nothing.py"], "nothing.py: no such file"),
        (["compile", "x" * 300 + ".py"], "cannot be read: File name too long"),
        (["compile", "../outside.py"], "../outside.py: lies outside the project"),
        (["compile", "Pulumi.toml"], "no such file"),
        (["compile", "loop.py"], "loop.py: cannot be read: Too many levels of symbolic links"),
        (["up", "loop.py"], "loop.py: cannot be read: Too many levels of symbolic links"),
        (["compile", "g/\udcff.py"], "'g/\\udcff.py': an argument is text in UTF-8"),
        (["compile", SOURCE, "--stack", "\udcff"], "'\\udcff': an argument is text in UTF-8"),
        (["destroy", ""], "an empty text is the name of no stack"),
        (["destroy", "first", "--stack", "other"], "'first' is a stack: only a source takes --stack"),
        (["rehearse", "first"], "first: only stacks whose jobs run on GKE can be rehearsed"),
        (["compile", "first/train.txt"], "is no XManager launch script, experiment in YAML or Caliban project"),
        (["compile", SOURCE, "--stack", "No Stack"], "'No Stack' cannot be the name of a stack"),
        (["compile", SOURCE, "--", "--flag=1"], "takes no flags: --flag=1"),
        (["compile", SOURCE, "--stack", "a" * 41], "it has 41 characters, and at most 40 will do, such as 'aaa"),
        (["inspect", "frist"], "did you mean 'first'?"),
        (["inspect", "../stacks/first"], "no stack '../stacks/first' is compiled"),
        (["check", "frist"], "did you mean 'first'?"),
        (["status", "frist"], "did you mean 'first'?"),
        (["logs", "first", "9"], "no work unit '9'"),
        (["logs", "first", "fit-"], "begins the names of 6 work units"),
        (["up", "frist"], "did you mean 'first'?"),
        (["up", "stacks/frist"], "did you mean 'first'?"),
        (["destroy", "elsewhere/first.py"], "elsewhere/first.py: no such file\n  name the stack itself: first"),
        (["up", "first", "--", "--flag=1"], "only a source takes --stack or flags"),
        (["up", "first", "--set", "cpus"], "'cpus' is no setting"),
        (["preview", "first", "--set", "=1"], "'=1' is no setting"),
        (["up", "first", "--set", "cpus=1"], "--set: 'cpus' is a setting of xmgen's\n  write xmgen:cpus=…"),
        (["up", "first", "--set", "xmgen:cpus=many"], "--set: xmgen:cpus must be a number above 0, not 'many'"),
        (["preview", "first", "--set", "xmgen:cpu=1"], "--set: xmgen has no setting 'cpu'\n  did you mean 'cpus'?"),
    ],
)
def test_bad_input_is_a_clear_error(project: Path, arguments: list[str], message: str) -> None:
    run("compile", SOURCE)
    (project / "first" / "train.txt").touch()
    (project.parent / "outside.py").touch()
    (project / "loop.py").symlink_to("loop.py")
    before = sorted((project / "stacks").rglob("*"))
    done = run(*arguments, code=2)
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert sorted((project / "stacks").rglob("*")) == before


@pytest.mark.parametrize("settings", ["config: 5", "config: [gcp:project]", "- config", "config"])
@pytest.mark.parametrize("command", [["inspect", "first"], ["compile", SOURCE], ["up", "first"]])
def test_settings_of_another_form_are_bad_input(project: Path, settings: str, command: list[str]) -> None:
    run("compile", SOURCE)
    (project / "stacks" / "Pulumi.first.yaml").write_text(settings)
    assert "must be a mapping" in run(*command, code=2).stderr


def test_what_an_experiment_is_called_does_not_speak_to_a_terminal(project: Path) -> None:
    text = (project / SOURCE).read_text()
    (project / SOURCE).write_text(re.sub("^title: .*", r'title: "\\e[31mX\\r\\nY"', text, flags=re.MULTILINE))
    run("compile", SOURCE)
    assert run("inspect", "first").stdout.splitlines()[0] == r"\x1b[31mX\r\nY"


def test_a_defect_is_said_to_be_one_and_shows_its_traceback_on_request(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("no such thing")

    monkeypatch.setattr("xmgen.commands.inspect.inspect", broken)
    done = run("inspect", "first", code=70)
    assert "a defect in xmgen: ZeroDivisionError: no such thing" in done.stderr
    assert "XMGEN_DEBUG=1" in done.stderr
    monkeypatch.setenv("XMGEN_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("inspect", "first")


def test_help_names_every_command_and_cuts_none() -> None:
    text = run("--help").stdout
    for command in cli.commands:
        assert f"\n  {command} " in text
    assert "..." not in text.split("Commands:")[1]


LAUNCHER = """\
from absl import app, flags
from xmanager import xm, xm_local

RATES = flags.DEFINE_list("rates", ["1"], "Rates to try.")


def main(_):
    print("printed by the script")
    with xm_local.create_experiment(experiment_title="Flags") as experiment:
        spec = xm.PythonContainer(path="code", entrypoint=xm.ModuleName("train"))
        [executable] = experiment.package([xm.Packageable(spec, xm_local.Local.Spec())])
        for rate in RATES.value:
            experiment.add(xm.Job(executable, xm_local.Local(), args={"rate": rate}))


if __name__ == "__main__":
    app.run(main)
"""


@pytest.fixture
def launcher(project: Path) -> str:
    (project / "flags" / "code").mkdir(parents=True)
    (project / "flags" / "code" / "train.py").write_text("")
    (project / "flags" / "launcher.py").write_text(LAUNCHER)
    return "flags/launcher.py"


@pytest.mark.parametrize("command", ["compile", "expand", "preview", "up"])
def test_a_flag_of_the_launch_script_before_the_dashes(project: Path, launcher: str, command: str) -> None:
    said = run(command, launcher, "--rates=1,2,3", code=2).stderr
    assert "SOURCE [-- FLAGS...]" in said
    assert "'--rates'. A flag of the launch script's comes after `--`, as in `-- --rates=…`." in said
    assert "launch script" not in run("check", "--rates=1", code=2).stderr


def test_flags_that_a_compile_leaves_out_are_named(project: Path, launcher: str) -> None:
    run("compile", launcher, "--", "--rates=1,2,3")
    assert run("compile", launcher).stdout.startswith(
        "stacks/flags: 1 work unit, written\n  without the flags of the last compile: --rates=1,2,3\n"
    )
    assert "without the flags" not in run("compile", launcher).stdout


def test_the_flags_of_a_source_that_has_another_name_now(project: Path, launcher: str) -> None:
    run("compile", launcher, "--", "--rates=1,2,3")
    (project / launcher).rename(project / "flags" / "sweep.py")
    plan = target.compiled_stack(find(), "flags/sweep.py", "flags", (), lambda _: None)
    assert (len(plan.units), plan.experiment.flags) == (3, ("--rates=1,2,3",))
    assert run("compile", "flags/sweep.py", "--stack", "flags").stdout.startswith(
        "stacks/flags: 1 work unit, written\n  without the flags of the last compile: --rates=1,2,3\n"
    )


def test_a_source_is_compiled_for_up_with_the_flags_that_it_had(project: Path, launcher: str) -> None:
    run("compile", launcher, "--", "--rates=1,2,3")
    here = find()

    def compiled(*flags: str, stack: str | None = None) -> tuple[int, list[str]]:
        said: list[str] = []
        return len(target.compiled_stack(here, launcher, stack, flags, said.append).units), said

    assert compiled() == (
        3,
        [
            "With the flags of the last compile: --rates=1,2,3. `xmgen compile flags/launcher.py` compiles without "
            "them.",
        ],
    )
    assert compiled("--rates=4,5") == (2, ["stacks/flags: 2 work units, written"])
    assert compiled(stack="other") == (1, ["stacks/other: 1 work unit, written"])
    assert compiled("--rates=6", stack="other") == (1, ["stacks/other: 1 work unit, written"])
    assert compiled(stack="other") == (
        1,
        [
            "With the flags of the last compile: --rates=6. `xmgen compile flags/launcher.py --stack other` compiles "
            "without them.",
        ],
    )


def test_a_source_that_was_edited_and_not_compiled_is_said(project: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=project, check=True, capture_output=True)

    def said() -> list[str]:
        lines: list[str] = []
        target.compiled_stack(find(), "first", None, (), lines.append)
        return lines

    edited = (project / SOURCE).read_text() + "# edited\n"
    run("compile", SOURCE)
    # Without Git or a commit nobody can tell.
    assert said() == []
    git("init", "--quiet")
    (project / ".gitignore").write_text("")
    git("add", SOURCE)
    git("commit", "--quiet", "--message", "source alone")
    (project / SOURCE).write_text(edited)
    assert said() == []
    git("add", "--all")
    git("commit", "--quiet", "--message", "and stack")
    assert said() == []
    (project / SOURCE).write_text(edited.replace("title: ", "title: New "))
    assert said() == [
        f"{SOURCE} differs from its last commit, and what is compiled of it does not: this is the stack as it is "
        f"compiled. With {SOURCE} in place of first it is compiled first."
    ]
    run("compile", SOURCE)
    assert said() == []


def test_flags_reach_the_launch_script_and_check_repeats_them(project: Path, launcher: str) -> None:
    assert parsed("compile", launcher)["units"] == 1
    assert json.loads(run("compile", "--json", launcher, "--", "--rates=1,2,3").stdout)["units"] == 3
    assert parsed("check", "flags") == {"stacks": [{"stack": "flags", "current": True, "diff": ""}]}
    assert parsed("inspect", "flags")["flags"] == ["--rates=1,2,3"]


def test_what_a_launch_script_prints_is_no_part_of_the_result(project: Path, launcher: str) -> None:
    done = run("expand", launcher, "--json")
    assert [job["args"] for job in json.loads(done.stdout)["jobs"]] == [["--rate=1"]]
    assert "printed by the script" in done.stderr


def test_a_source_does_not_replace_the_stack_of_another_of_its_name(project: Path) -> None:
    run("compile", SOURCE)
    other = project / "elsewhere" / "first.yaml"
    shutil.copytree(project / "first", other.parent)
    (other.parent / "experiment.yaml").rename(other)
    done = run("compile", str(other), code=2)
    assert "the stack 'first' is that of first/experiment.yaml" in done.stderr
    assert parsed("inspect", "first")["source"] == SOURCE
    run("compile", str(other), "--replace")
    assert parsed("inspect", "first")["source"] == "elsewhere/first.yaml"


def test_a_name_for_the_stack_is_no_leave_to_replace_anothers(project: Path, launcher: str) -> None:
    run("compile", launcher, "--stack", "llm")
    for command in ("compile", "up", "preview"):
        done = run(command, SOURCE, "--stack", "llm", code=2)
        assert done.stderr == (
            f"error: {SOURCE}: the stack 'llm' is that of {launcher}, all of which the next `up` would remove\n"
            f"  name another with --stack, or give this one to {SOURCE} with "
            f"`xmgen compile {SOURCE} --stack llm --replace`\n"
        )
    assert parsed("inspect", "llm")["source"] == launcher
    run("compile", SOURCE, "--stack", "llm", "--replace")
    assert parsed("inspect", "llm")["source"] == SOURCE


def test_a_stack_that_no_source_made_cannot_be_checked(project: Path) -> None:
    run("compile", SOURCE)
    done = run("check", "frist", "first", "scond", code=2)
    assert done.stdout == ""
    assert done.stderr == (
        "error: no stack 'frist' is compiled\n  did you mean 'first'?\n"
        "error: no stack 'scond' is compiled\n  known: first\n"
    )


@pytest.mark.parametrize("command", ["status", "logs", "inspect", "check", "up", "preview"])
def test_a_stack_whose_folder_is_gone_may_be_up_still(project: Path, command: str) -> None:
    run("compile", SOURCE, "--stack", "llm")
    (project / "stacks" / "Pulumi.llm.yaml").write_text("encryptionsalt: v1:x\n")
    shutil.rmtree(project / "stacks" / "llm")
    assert run(command, "llm", code=2).stderr == (
        "error: no stack 'llm' is compiled\n"
        "  `xmgen compile SOURCE --stack llm` makes it; where it is up, `xmgen destroy llm` removes it\n"
    )


@pytest.mark.parametrize("command", ["inspect", "check"])
def test_a_stack_may_be_named_by_its_folder(project: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("compile", SOURCE)
    expected = run(command, "first").stdout
    assert run(command, "stacks/first").stdout == expected
    monkeypatch.chdir(project / "stacks")
    assert run(command, "./first/").stdout == expected


def test_a_source_that_has_moved_keeps_its_stack(project: Path) -> None:
    run("compile", SOURCE)
    (project / "first").rename(project / "moved")
    (project / "moved" / "experiment.yaml").rename(project / "moved" / "first.yaml")
    assert parsed("compile", "moved/first.yaml")["changed"]


def test_a_copied_stack_is_not_taken_for_the_one_it_was(project: Path) -> None:
    run("compile", SOURCE)
    shutil.copytree(project / "stacks" / "first", project / "stacks" / "second")
    assert "is the lock file of the stack 'first', in the folder of 'second'" in run("inspect", "second", code=2).stderr


def test_a_check_runs_nothing_that_is_not_in_the_project(project: Path) -> None:
    run("compile", SOURCE)
    (project.parent / "launcher.py").write_text("open('ran', 'w')")
    lock = project / "stacks" / "first" / "experiment.lock.json"
    lock.write_text(lock.read_text().replace(SOURCE, "../launcher.py"))
    assert "'../launcher.py' lies outside the project" in run("check", code=1).stderr
    assert not (project / "ran").exists()


def test_ctrl_c_is_no_error_of_the_scripts(project: Path) -> None:
    (project / "launcher.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    assert run("compile", "launcher.py", code=130).stderr == "Interrupted.\n"


def test_what_the_machine_refuses_is_an_error_and_no_defect(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("compile", SOURCE)

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    done = run("inspect", "first", "--manifests", code=1)
    assert done.stderr.endswith(": Permission denied\n")
