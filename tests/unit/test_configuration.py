"""What a stack reads of its configuration, what of it is missing, and what the command line may set."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tests.conftest import ROOT
from xmgen import configuration, init, project
from xmgen.cli import cli
from xmgen.commands import settings
from xmgen.configuration import Setting
from xmgen.errors import InputError
from xmgen.project import Project

PROGRAM = """
import pulumi
config = pulumi.Config()
project = pulumi.Config("gcp").require("project")
region = pulumi.Config("gcp").get("region") or config.require("location")
if config.get("subnetwork"):
    network = config.require("network")
TOKENS = {"a": config.require("rounds"), "b": config.require_secret("wandbKey")}
elsewhere = {}.get("nothing")
"""

READ = (
    Setting("gcp:project", needed=True),
    Setting("gcp:region"),
    Setting("location"),
    Setting("network"),
    Setting("rounds", needed=True),
    Setting("subnetwork"),
    Setting("wandbKey", secret=True, needed=True),
)


@pytest.fixture
def here(tmp_path: Path) -> Project:
    init.init(tmp_path)
    return project.read(tmp_path)


def test_the_program_says_what_it_reads() -> None:
    assert configuration.read_by([PROGRAM]) == READ


@pytest.mark.parametrize(
    ("kept", "missing"),
    [
        ("", ["gcp:project", "rounds", "wandbKey"]),
        ("config: {gcp:project: p, experiments:rounds: 3}", ["wandbKey"]),
        ("config: {gcp:project: p, rounds: 3, experiments:wandbKey: {secure: v1:xyz}}", []),
        # Anything may be in there.
        ("environment: [team/dev]", []),
    ],
)
def test_what_is_missing(here: Project, kept: str, missing: list[str]) -> None:
    here.settings("llm").write_text(kept)
    assert [each.name for each in configuration.missing(here, "llm", READ)] == missing


def test_what_pulumi_yaml_has_a_value_for_is_not_missing(here: Project) -> None:
    file = here.root / "Pulumi.yaml"
    config = {"rounds": {"type": "integer"}, "gcp:project": {"value": "p"}, "wandbKey": "x"}
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "config": config}))
    assert [each.name for each in configuration.missing(here, "llm", READ)] == ["rounds"]


def test_the_defaults_of_a_new_project(here: Project) -> None:
    assert configuration.defaulted(here) == configuration.DEFAULTED


def test_committed_stacks_on_google_cloud_need_their_project() -> None:
    here = Project(root=ROOT)
    needs = {stack: configuration.missing(here, stack, configuration.of_stack(here, stack)) for stack in here.stacks()}
    on_cloud = {stack for stack in here.stacks() if "pulumi_gcp" in texts(here, stack)}
    assert len(on_cloud) > 5
    assert needs == {
        stack: [Setting("gcp:project", needed=True)] if stack in on_cloud else [] for stack in here.stacks()
    }


def texts(here: Project, stack: str) -> str:
    return "".join(file.read_text() for file in here.stack(stack).glob("*.py"))


GIVEN = ("gcp:project=p", "rounds=3")


@pytest.mark.parametrize(
    ("given", "secrets"),
    [
        ((*GIVEN,), ("wandbKey",)),
        (("experiments:rounds=3", "gcp:project=p"), ("experiments:wandbKey",)),
        # Stacks of the project read it, if not this one.
        ((*GIVEN, "owner=ada", "xmgen:cpus=3", "gcp:zone=z", "gcp:computeCustomEndpoint=http://x"), ("wandbKey",)),
        ((*GIVEN, "kubernetes:anything=1", "gcp:credentials=/keys/a.json"), ("wandbKey", "gcp:accessToken")),
    ],
)
def test_settings_that_will_do(here: Project, given: tuple[str, ...], secrets: tuple[str, ...]) -> None:
    settings.refuse_malformed(given, secrets)
    settings.refuse_wrong(here, "llm", READ, given, secrets)


PLAIN = "which --set would keep in plain text"


@pytest.mark.parametrize(
    ("given", "secrets", "expected"),
    [
        (
            [],
            [],
            [
                "stacks/Pulumi.llm.yaml: llm cannot run without gcp:project, rounds, the secret wandbKey\n"
                "  `xmgen up llm --set gcp:project=… --set rounds=… --secret wandbKey` sets them for good"
            ],
        ),
        (["wandbKey=hush"], [], [f"--set: 'wandbKey' is a secret, {PLAIN}\n  `--secret wandbKey` {{ASKS}}"]),
        (
            ["experiments:wandbKey=hush"],
            [],
            [f"--set: 'wandbKey' is a secret, {PLAIN}\n  `--secret wandbKey` {{ASKS}}"],
        ),
        (
            ["gcp:accessToken=hush", 'gcp:credentials={"private_key": "hush"}'],
            [],
            [
                f"--set: 'gcp:accessToken' is a secret, {PLAIN}\n  `--secret gcp:accessToken` {{ASKS}}",
                f"--set: 'gcp:credentials' is a secret, {PLAIN}\n  `--secret gcp:credentials` {{ASKS}}",
            ],
        ),
        (
            ["gcp:projet=p", "project=p", "wandbkey=hush"],
            ["wandKey", "xmgen:accesToken"],
            [
                "--set: pulumi-gcp has no setting 'gcp:projet'\n  did you mean 'gcp:project'?",
                "--set: llm reads no setting 'project'\n  write gcp:project",
                "--set: llm reads no setting 'wandbkey'\n  did you mean 'wandbKey'?",
                "--secret: llm reads no setting 'wandKey'\n  did you mean 'wandbKey'?",
                "--secret: xmgen has no setting 'accesToken'\n  did you mean 'accessToken'?",
            ],
        ),
    ],
)
def test_settings_that_will_not_do(here: Project, given: list[str], secrets: list[str], expected: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        settings.refuse_wrong(here, "llm", READ, given, secrets)
    asks = "asks for its value, or reads it from standard input, and encrypts it"
    assert [str(problem) for problem in refused.value.problems] == [text.replace("{ASKS}", asks) for text in expected]
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(("given", "secrets"), [((), ("wandbKey=hush",)), (("accessToken=hush",), ())])
def test_what_may_be_a_secret_is_never_shown(given: tuple[str, ...], secrets: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as refused:
        settings.refuse_malformed(given, secrets)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("secrets", "typed", "values"),
    [
        ((), "", {}),
        (("a",), "one\n", {"a": "one"}),
        (("a",), "{\n  1\n}\n", {"a": "{\n  1\n}"}),
        (("a", "b"), "one\ntwo\n", {"a": "one", "b": "two"}),
    ],
)
def test_secrets_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, secrets: tuple[str, ...], typed: str, values: dict[str, str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert settings.ask(secrets) == values


@pytest.mark.parametrize("typed", ["", "\n", "one\n"])
def test_a_secret_without_a_value_is_refused(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    with pytest.raises(InputError, match="no value for b on standard input"):
        settings.ask(("a", "b"))


LLM = """\
title: LLM
executables:
  train: {kind: container, image_path: python}
work_units:
  train:
    job:
      executable: train
      executor: {kind: kubernetes, requirements: {t4: 1}}
      env_vars: {WANDB_API_KEY: {secret: wandbKey}}
"""


def test_every_command_says_what_is_to_be_set_before_up(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here.root)
    (here.root / "llm.yaml").write_text(LLM)

    def said(*arguments: str) -> str:
        done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    assert said("compile", "llm.yaml").splitlines()[-1] == (
        "Next: `xmgen inspect llm` shows it, `xmgen up llm --set gcp:project=… --secret wandbKey` runs it."
    )
    missing = [{"name": "gcp:project", "secret": False}, {"name": "wandbKey", "secret": True}]
    assert json.loads(said("compile", "llm.yaml", "--json"))["missing"] == missing
    assert "to be set before `up`: gcp:project, the secret wandbKey\n" in said("inspect", "llm")
    configuration = json.loads(said("inspect", "llm", "--json"))["configuration"]
    assert {"name": "wandbKey", "secret": True, "needed": True} in configuration
    summary = (here.stack("llm") / "SUMMARY.md").read_text()
    assert "\nTo be set before `up`: `gcp:project`, the secret `wandbKey`.\n" in summary
    assert "| `gcp:container/nodePool:NodePool`, one for the cluster's own pods | 2 |" in summary
    here.settings("llm").write_text("config: {gcp:project: p, experiments:wandbKey: {secure: v1:xyz}}")
    assert said("compile", "llm.yaml").splitlines()[-1].endswith("`xmgen up llm` runs it.")
    assert "to be set" not in said("inspect", "llm")


@pytest.mark.gcp
def test_pulumi_gcps_settings() -> None:
    declared = (ROOT / ".tools" / "gcp-sdk" / "pulumi_gcp" / "config" / "__init__.pyi").read_text()
    keys = re.findall(r"^(\w+): ", declared, re.MULTILINE)
    assert {key for key in keys if not key.endswith("CustomEndpoint")} == settings.GCP
