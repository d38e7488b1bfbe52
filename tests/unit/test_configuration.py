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
        (
            (*GIVEN, "kubernetes:namespace=x", "gcp:region=", "deleteOutputs=true", "gcp:credentials=/keys/a.json"),
            ("wandbKey", "gcp:accessToken"),
        ),
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


NEEDED = ["gcp:project=p", "rounds=3"]
OTHERS = "  known: docker-build, experiments, gcp, kubernetes, xmgen"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("experiment:wandbKey=hush", "llm reads no setting 'experiment:wandbKey'\n  write wandbKey"),
        ("experiment:other=hush", "nothing reads a setting of 'experiment'\n  did you mean 'experiments'?"),
        ("WANDB:key=hush", f"nothing reads a setting of 'WANDB'\n{OTHERS}"),
        ("foo:bar=hush", f"nothing reads a setting of 'foo'\n{OTHERS}"),
        (":bar=hush", f"nothing reads a setting of ''\n{OTHERS}"),
        ("experiments:experiments:x=hush", "nothing reads a setting of 'experiments:experiments'\n"),
        ("experiments:gcp:project=hush", "nothing reads a setting of 'experiments:gcp'\n"),
        ("gcp:gcp:project=hush", "nothing reads a setting of 'gcp:gcp'\n"),
        ("kubernetes:token=hush", "pulumi-kubernetes has no setting 'kubernetes:token'\n"),
        ("docker-build:hots=hush", "pulumi-docker-build has no setting 'docker-build:hots'\n  did you mean"),
        ('gcp:externalCredentials={"identityToken": "hush"}', f"'gcp:externalCredentials' is a secret, {PLAIN}\n"),
        ("docker-build:registries=hush", f"'docker-build:registries' is a secret, {PLAIN}\n"),
        ("kubernetes:kubeconfig=a:\n  hush", f"'kubernetes:kubeconfig' is a secret, {PLAIN}\n"),
        ("deleteOutputs=maybe", "deleteOutputs must be true or false, not 'maybe'"),
        ("experiments:deleteOutputs=True", "deleteOutputs must be true or false, not 'True'"),
        ("layers=many", "layers must be a whole number, not 'many'"),
        ("layers=", "layers must be a whole number, not ''"),
        ("hosts=[a]", "hosts must be a list: `pulumi config set --path` makes one, not '[a]'"),
        ("gcp:project=", "gcp:project must be the id of a project, such as my-project, not ''"),
        ("gcp:project=p\nq", "gcp:project must be the id of a project, such as my-project, not 'p\\nq'"),
        ("gcp:userProjectOverride=\n", "gcp:userProjectOverride must be text that can be printed, not '\\n'"),
        ("location=", "location must be a zone or region, such as us-central1-a, not ''"),
        ("owner=ADA", "owner must be a label's value: at most 63 lower-case letters, digits, - and _, not 'ADA'"),
    ],
)
def test_what_nothing_reads_or_could_use_is_never_kept(here: Project, given: str, expected: str) -> None:
    file = here.root / "Pulumi.yaml"
    content = yaml.safe_load(file.read_text())
    content["config"] |= {"layers": {"type": "integer", "default": 2}, "hosts": {"type": "array", "default": []}}
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(InputError) as refused:
        settings.refuse_wrong(here, "llm", READ, [*NEEDED, given], ["wandbKey"])
    [problem] = refused.value.problems
    assert str(problem).startswith(f"--set: {expected}")
    assert "hush" not in str(problem)


@pytest.mark.parametrize(
    "key", ["version", "pluginDownloadURL", "pluginChecksums", "parameterization", "__internal", "__defaults", "cpu"]
)
def test_what_pulumi_tells_a_provider_is_not_the_users_to_set(key: str) -> None:
    with pytest.raises(InputError, match=f"--set: xmgen has no setting '{key}'"):
        settings.refuse_malformed([f"xmgen:{key}=99"])


def test_a_secret_has_one_value(here: Project) -> None:
    with pytest.raises(InputError, match="--secret: 'wandbKey' is given twice"):
        settings.refuse_wrong(here, "llm", READ, NEEDED, ["wandbKey", "experiments:wandbKey"])


@pytest.mark.parametrize(("given", "secrets"), [((), ("wandbKey=hush",)), (("accessToken=hush",), ())])
def test_what_may_be_a_secret_is_never_shown(given: tuple[str, ...], secrets: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as refused:
        settings.refuse_malformed(given, secrets)
    assert "hush" not in str(refused.value)


def typed_in(monkeypatch: pytest.MonkeyPatch, typed: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed)))


@pytest.mark.parametrize(
    ("secrets", "typed", "values"),
    [
        ((), b"", {}),
        (("a",), b"one\n", {"a": "one"}),
        (("a",), b"one", {"a": "one"}),
        (("a",), b"one\n\n", {"a": "one\n"}),
        (("a",), b"{\n  1\n}\n", {"a": "{\n  1\n}"}),
        (("a",), b"{\r\n  1\r\n}\r\n", {"a": "{\r\n  1\r\n}"}),
        (("a", "b"), b"one\ntwo\n", {"a": "one", "b": "two"}),
        (("a", "b"), b"one\r\ntwo", {"a": "one", "b": "two"}),
        # What Python also takes for the end of a line.
        (("a", "b"), "o\x0bn\u2028e\ntwo\n".encode(), {"a": "o\x0bn\u2028e", "b": "two"}),
    ],
)
def test_secrets_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, secrets: tuple[str, ...], typed: bytes, values: dict[str, str]
) -> None:
    typed_in(monkeypatch, typed)
    assert settings.ask(secrets) == values


@pytest.mark.parametrize(
    ("secrets", "typed", "message"),
    [
        (("a", "b"), b"", "no value for b on standard input"),
        (("a", "b"), b"\n", "no value for b on standard input"),
        (("a", "b"), b"one\n", "no value for b on standard input"),
        (("a", "b"), b"one\n\n", "no value for b on standard input"),
        (("a", "b"), b"-----BEGIN\nKEY\ntwo\n", "3 lines on standard input for 2 secrets"),
        (("a", "b"), b"one\ntwo\n\n", "3 lines on standard input for 2 secrets"),
        (("a",), b"\xff\xfe\n", "the value of a secret is no text"),
        (("a",), b"one\0\n", "the value of a secret is no text"),
        (("a", "b"), b"one\n\xff\n", "the value of a secret is no text"),
    ],
)
def test_secrets_that_would_be_cut_or_garbled_are_refused(
    monkeypatch: pytest.MonkeyPatch, secrets: tuple[str, ...], typed: bytes, message: str
) -> None:
    typed_in(monkeypatch, typed)
    with pytest.raises(InputError, match=message):
        settings.ask(secrets)


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


@pytest.mark.gcp
def test_pulumi_kubernetes_settings() -> None:
    declared = (ROOT / ".tools" / "gcp-sdk" / "pulumi_kubernetes" / "provider.py").read_text()
    keys = re.findall(r'__props__\.__dict__\["(\w+)"\]', declared)
    assert {re.sub(r"_(\w)", lambda found: found[1].upper(), key) for key in keys} == settings.KUBERNETES


@pytest.mark.gcp
def test_pulumi_docker_builds_settings() -> None:
    declared = (ROOT / ".tools" / "gcp-sdk" / "pulumi_docker_build" / "config" / "__init__.pyi").read_text()
    assert set(re.findall(r"^(\w+): ", declared, re.MULTILINE)) == settings.DOCKER_BUILD
