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
from xmgen import project, setting_rules
from xmgen.cli import cli
from xmgen.commands import settings
from xmgen.errors import InputError
from xmgen.project import Project
from xmgen.stack import configuration, init
from xmgen.stack.configuration import Setting

RESOURCES = """
format: 1
runs: gke
configuration:
  bucket: {type: string}
  gcp:project: {type: string, required: true}
  wait: {type: boolean}
  wandbKey: {type: string, secret: true, required: true}
"""

READ = (
    Setting("bucket"),
    Setting("depth", kind="integer"),
    Setting("extra", kind="JSON"),
    Setting("gcp:project", needed=True),
    Setting("gcp:region"),
    Setting("location"),
    Setting("network"),
    Setting("rate", kind="number"),
    Setting("rounds", needed=True),
    Setting("subnetwork"),
    Setting("wait", kind="boolean"),
    Setting("wandbKey", secret=True, needed=True),
)


@pytest.fixture
def here(tmp_path: Path) -> Project:
    init.init(tmp_path)
    return project.read(tmp_path)


def test_the_list_of_resources_says_what_the_program_reads(here: Project) -> None:
    here.stack("llm").mkdir()
    (here.stack("llm") / "resources.yaml").write_text(RESOURCES)
    assert configuration.of_stack(here, "llm") == (
        Setting("bucket"),
        Setting("gcp:project", needed=True),
        Setting("wait", kind="boolean"),
        Setting("wandbKey", secret=True, needed=True),
    )


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
    assert configuration.defaulted(here) == setting_rules.NAMES


def test_the_docs_name_every_setting() -> None:
    table = (ROOT / "docs" / "gke.md").read_text().partition("## Configuration")[2].partition("<a id=")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    documented = {key: default.strip() for keys, default in rows for key in re.findall(r"`([A-Za-z]+)`", keys)}
    assert documented.keys() == setting_rules.NAMES
    for setting in setting_rules.SETTINGS:
        if isinstance(setting.default, bool) or setting.name == "location":
            assert documented[setting.name] == f"`{str(setting.default).lower()}`"


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
        (
            (*GIVEN, "owner=ada", "xmgen:cpus=3", "gcp:zone=us-east1-b", "gcp:computeCustomEndpoint=http://x"),
            ("wandbKey",),
        ),
        (
            (*GIVEN, "kubernetes:namespace=x", "gcp:region=", "deleteOutputs=true", "gcp:credentials=/keys/a.json"),
            ("wandbKey", "gcp:accessToken"),
        ),
        (
            (*GIVEN, "wait=false", "depth=-3", "rate=1e-3", 'extra={"a": [1]}', "authorizedNetworks=10.0.0.0/8, ::/0"),
            ("wandbKey",),
        ),
        ((*GIVEN, "gcp:userProjectOverride=true", 'gcp:batching={"sendAfter": "1s"}', "bucket="), ("wandbKey",)),
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
        (
            # What is given is kept no more than the command is run.
            ["gcp:project=p", "owner=ada"],
            ["wandbKey"],
            [
                "stacks/Pulumi.llm.yaml: llm cannot run without rounds\n"
                "  `xmgen up llm --set gcp:project=p --set owner=ada --secret wandbKey --set rounds=…` sets it for good"
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
        ("gcp:requestReason=\n", "gcp:requestReason must be text that can be printed, not '\\n'"),
        ("wait=maybe", "wait must be true or false, not 'maybe'"),
        ("wait=", "wait must be true or false, not ''"),
        ("depth=1.5", "depth must be a whole number, not '1.5'"),
        ("rate=fast", "rate must be a number, not 'fast'"),
        ("extra={a: 1}", 'extra must be JSON, such as {"key": "value"}, not \'{a: 1}\''),
        ("gcp:userProjectOverride=yes", "gcp:userProjectOverride must be true or false, not 'yes'"),
        ("gcp:batching=often", "gcp:batching must be JSON, such as"),
        ("gcp:computeCustomEndpoint=here", "gcp:computeCustomEndpoint must be an address, such as https://host, not"),
        ("gcp:region=us-central1-a", "gcp:region must be a region, such as us-central1, not 'us-central1-a'"),
        ("gcp:zone=us-central1", "gcp:zone must be a zone, such as us-central1-a, not 'us-central1'"),
        ("gcp:impersonateServiceAccount=me", "gcp:impersonateServiceAccount must be the address of a service account"),
        ("kubernetes:deleteUnreachable=1", "kubernetes:deleteUnreachable must be true or false, not '1'"),
        ("bucket=gs://ours", "bucket must be the name of a bucket without gs://, or empty for one of the stack's own"),
        ("authorizedNetworks=10.0.0.0/8, mine", "authorizedNetworks must be networks separated by commas, such as"),
        ("podsRange=", "podsRange must be the name of a secondary range, such as pods, not ''"),
        ("systemMachineType=E2 4", "systemMachineType must be a machine type, such as e2-standard-4, not 'E2 4'"),
        ("subnetwork=a b", "subnetwork must be the name of a subnetwork, or projects/"),
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


KEPT = "stacks/Pulumi.llm.yaml: "
ANOTHER = "sets another one"


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (
            "experiments:wait: maybe",
            f"wait must be true or false, not 'maybe'\n  `xmgen up llm --set wait=…` {ANOTHER}",
        ),
        ("depth: 1.5", f"depth must be a whole number, not '1.5'\n  `xmgen up llm --set depth=…` {ANOTHER}"),
        ("gcp:region: us-east1-b", "gcp:region must be a region, such as us-central1, not 'us-east1-b'\n"),
        ("xmgen:cpus: many", "xmgen:cpus must be a number above 0, not 'many'"),
        ("wandbKey: hush", "the secret 'wandbKey' is there in plain text\n  `--secret wandbKey` asks for its value"),
        ("gcp:accessToken: hush", "the secret 'gcp:accessToken' is there in plain text\n"),
        ('gcp:credentials: \'{"private_key": "hush"}\'', "the secret 'gcp:credentials' is there in plain text\n"),
    ],
)
def test_what_is_kept_already_and_will_not_do_is_told_before_anything_runs(
    here: Project, kept: str, expected: str
) -> None:
    secret = "" if kept.startswith("wandbKey") else "  wandbKey: {secure: v1:xyz}\n"
    here.settings("llm").write_text(f"config:\n  gcp:project: p\n  rounds: 3\n{secret}  {kept}\n")
    with pytest.raises(InputError) as refused:
        settings.refuse_wrong(here, "llm", READ, [], [])
    [problem] = refused.value.problems
    assert str(problem).startswith(f"{KEPT}{expected}")
    assert "hush" not in str(problem)
    # What the command line gives takes its place.
    key = kept.partition(": ")[0]
    if "plain text" in expected:
        settings.refuse_wrong(here, "llm", READ, [], [key])


def test_what_is_kept_and_will_do_or_is_not_ours_to_judge_is_left_alone(here: Project) -> None:
    kept = {"rounds": 3, "wait": True, "wandbKey": {"secure": "v1:xyz"}, "extra": {"a": 1}, "of:another": "hush"}
    here.settings("llm").write_text(yaml.safe_dump({"config": {"gcp:project": "p", "unread": "x", **kept}}))
    settings.refuse_wrong(here, "llm", READ, [], [])
    here.settings("llm").write_text(yaml.safe_dump({"config": {"gcp:project": "p", **kept, "wait": "maybe"}}))
    settings.refuse_wrong(here, "llm", READ, ["wait=true"], [])


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
    assert {"name": "wandbKey", "type": "text", "secret": True, "needed": True} in configuration
    assert {"name": "deleteOutputs", "type": "boolean", "secret": False, "needed": True} in configuration
    summary = (here.stack("llm") / "SUMMARY.md").read_text()
    assert "\nTo be set before `up`: `gcp:project`, the secret `wandbKey`.\n" in summary
    assert "| `gcp:container/nodePool:NodePool`, one for the cluster's own pods | 2 |" in summary
    here.settings("llm").write_text("config: {gcp:project: p, experiments:wandbKey: {secure: v1:xyz}}")
    assert said("compile", "llm.yaml").splitlines()[-1].endswith("`xmgen up llm` runs it.")
    assert "to be set" not in said("inspect", "llm")


KINDS = {"str": "text", "bool": "boolean"}
"""What Pulumi's SDKs say; JSON is a text to some of them, and has a type of its own in others."""


def kind(declared: str, ours: str) -> str:
    """Of a setting, as declared."""
    known = re.search(r"\b(str|bool)\b", declared)
    return KINDS[known[1]] if known and ours != "JSON" else "JSON"


@pytest.mark.gcp
def test_pulumi_gcps_settings() -> None:
    declared = (ROOT / ".tools" / "gcp-sdk" / "pulumi_gcp" / "config" / "__init__.pyi").read_text()
    found = dict(re.findall(r"^(\w+): (.*)$", declared, re.MULTILINE))
    own = {key: kind(text, setting_rules.GCP[key]) for key, text in found.items() if not key.endswith("Endpoint")}
    assert own == setting_rules.GCP


@pytest.mark.gcp
def test_pulumi_kubernetes_settings() -> None:
    declared = (ROOT / ".tools" / "gcp-sdk" / "pulumi_kubernetes" / "provider.py").read_text()
    found = dict(re.findall(r"^ {17}(\w+): (Optional\[pulumi\.Input\[.*\]\]) = None", declared, re.MULTILINE))
    names = {re.sub(r"_(\w)", lambda letter: letter[1].upper(), key): text for key, text in found.items()}
    assert {key: kind(text, setting_rules.KUBERNETES[key]) for key, text in names.items()} == setting_rules.KUBERNETES


@pytest.mark.gcp
def test_pulumi_docker_builds_settings() -> None:
    declared = (ROOT / ".tools" / "gcp-sdk" / "pulumi_docker_build" / "config" / "__init__.pyi").read_text()
    assert set(re.findall(r"^(\w+): ", declared, re.MULTILINE)) == set(setting_rules.DOCKER_BUILD)
