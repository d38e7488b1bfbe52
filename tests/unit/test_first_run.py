"""docs/first-run.md: its commands work in its order, and its messages are those of xmgen."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from tests.conftest import ROOT
from xmgen import project
from xmgen.cli import cli
from xmgen.commands import settings
from xmgen.stack import configuration

PAGE = (ROOT / "docs" / "first-run.md").read_text(encoding="utf-8")
COMMANDS = [line.strip() for line in re.findall(r"^    (\S.*)$", PAGE.split("## In pull requests")[0], re.MULTILINE)]
XMGEN = [command for command in COMMANDS if command.startswith("xmgen ")]
EXPERIMENT, WORKFLOW = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
[TRAIN] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
RATES, MORE_RATES, MOST_RATES = "[0.001, 0.01]", "[0.001, 0.01, 0.1]", "[0.001, 0.01, 0.1, 1.0]"
ROWS = re.findall(r"^\| (`.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
SOURCES = [*(ROOT / "xmgen").rglob("*.py"), *(ROOT / "templates" / "init").rglob("*.py")]
CODE = re.sub(r'"\n\s*f?"', "", "".join(path.read_text(encoding="utf-8") for path in SOURCES))
CODE = CODE.replace("{PULUMI_FILE}", "Pulumi.yaml")


def options(command: str) -> dict[str, object]:
    """What a command line says, after click has found nothing wrong with it."""
    words = shlex.split(command)[1:]
    found = cli.commands[words[0]]
    assert not isinstance(found, click.Group)
    return found.make_context(words[0], words[1:]).params


def shell(folder: Path, command: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI", "XMGEN", "GIT"))}
    author = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**kept, **author, "PATH": path, "GIT_CONFIG_GLOBAL": os.devnull, **environment}
    done = subprocess.run(["/bin/bash", "-ec", command], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """After the first four steps: all that comes before the cloud, but for what installs."""
    folder = tmp_path / "project"
    (folder / "llm").mkdir(parents=True)
    (folder / "llm" / "experiment.yaml").write_text(EXPERIMENT)
    (folder / "llm" / "train.py").write_text(TRAIN)
    said: dict[str, str] = {}
    for command in COMMANDS:
        if command.startswith(("git ", "xmgen init", "xmgen compile", "xmgen inspect", "xmgen check", "xmgen review")):
            said[command] = shell(folder, command)
        if command == "xmgen check":
            # What the page asks the reader to write.
            (folder / "llm" / "experiment.yaml").write_text(EXPERIMENT.replace(RATES, MORE_RATES))
    assert "--set gcp:project=… --secret wandbKey`" in said["xmgen compile llm/experiment.yaml"]
    assert "to be set before `up`: gcp:project, the secret wandbKey" in said["xmgen inspect llm"]
    assert said["xmgen check"] == "llm: up to date\n"
    assert "\n\nWork units: 1 added, 2 unchanged.\n\n" in said["xmgen review --base HEAD"]
    return folder


def test_the_code_takes_what_the_experiment_gives_it(folder: Path) -> None:
    assert shell(folder, "python llm/train.py --learning_rate=0.001") == "Training with 0.001\n"


def test_what_up_is_given_is_all_that_the_stack_needs(folder: Path) -> None:
    [up] = [options(command) for command in XMGEN if command.startswith("xmgen up")]
    here = project.find(folder)
    read = configuration.of_stack(here, "llm")
    given = up["settings"], up["secrets"]
    settings.refuse_malformed(*given)  # type: ignore[arg-type]
    settings.refuse_wrong(here, "llm", read, *given)  # type: ignore[arg-type]
    assert (up["target"], up["secrets"]) == ("llm", ("wandbKey",))


def test_the_steps_are_in_order() -> None:
    assert [command.split()[1] for command in XMGEN] == [
        *("init", "compile", "inspect", "check", "compile", "review", "rehearse", "up", "status", "logs", "destroy")
    ]
    for command in XMGEN:
        options(command)


def test_the_workflow_reviews_a_pull_request(folder: Path, tmp_path: Path) -> None:
    workflow = yaml.safe_load(WORKFLOW)
    # YAML reads the key `on` as true.
    assert (workflow[True], workflow["permissions"]) == ("pull_request", {"contents": "read"})
    steps = [step["run"] for step in workflow["jobs"]["review"]["steps"] if "xmgen " in step.get("run", "")]
    commands = [step for step in steps if step.startswith("xmgen ")]
    assert len(commands) == 2
    clone, summary = tmp_path / "clone", tmp_path / "summary.md"
    shell(tmp_path, "git clone --quiet project clone")
    source = clone / "llm" / "experiment.yaml"
    source.write_text(source.read_text().replace(MORE_RATES, MOST_RATES))
    shell(clone, "git checkout --quiet -b more && xmgen compile llm/experiment.yaml && git commit --quiet -am more")
    for command in commands:
        shell(clone, command, BASE="main", GITHUB_STEP_SUMMARY=str(summary))
    assert "learning_rate" in summary.read_text()
    source.write_text(EXPERIMENT)
    with pytest.raises(AssertionError, match=r"`xmgen compile llm/experiment.yaml` compiles it again"):
        shell(clone, commands[0])


@pytest.mark.parametrize(("message", "advice"), ROWS)
def test_messages_are_those_that_xmgen_says(message: str, advice: str) -> None:
    for quoted in re.findall(r"`([^`]+)`", message):
        for part in quoted.split("…"):
            assert part.strip() in CODE
    for command in re.findall(r"`(xmgen [^`]+)`", advice):
        options(command.replace("KEY", "key"))


def test_the_table_has_rows() -> None:
    assert len(ROWS) > 10
