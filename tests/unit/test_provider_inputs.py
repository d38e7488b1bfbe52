"""What the provider reads: values on the wire, settings, a Run's inputs."""

from __future__ import annotations

from typing import Any

import pytest

from xmgen.errors import Problem
from xmgen.provider import settings, wire
from xmgen.provider.resource import differences
from xmgen.provider.settings import Runner, Settings
from xmgen.provider.unit import Docker, Job, Packaged, Unit, fingerprint, parse
from xmgen.shell import ShellSafeArg
from xmgen.urns import Urn

SECRET = {wire.SIGNATURE: wire.SECRET, "value": "swordfish"}
EXECUTABLE = {"name": "train", "runner": "process", "directory": "code", "digest": "sha256:1", "command": ["./train"]}


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": None, "b": True, "c": 1, "d": 0.5, "e": "ü", "f": [1, [], {}], "g": {"h": {"i": ["j"]}}},
        {"large": 2.0**60, "whole": 2**53, "negative": -3},
    ],
)
def test_values_come_back_from_the_wire_as_they_were(value: wire.Properties):
    assert wire.properties(wire.struct(value)) == value


def test_secrets_and_unknowns_are_recognised_wherever_they_are():
    value: wire.Value = {"a": [SECRET, {"b": "public"}], "c": wire.UNKNOWN}
    assert wire.plain(value) == {"a": ["swordfish", {"b": "public"}], "c": wire.UNKNOWN}
    assert list(wire.secrets(value)) == ["swordfish"]
    assert wire.has_unknown(value)
    assert not wire.has_unknown(value["a"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the key swordfish!", "the key [secret]!"),
        ("swordfish-2", "[secret]-2"),
        ("a short one stays", "a short one stays"),
    ],
)
def test_secrets_are_blotted_out(text: str, expected: str):
    assert wire.masked(text, ["swordfish", "a"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("urn:pulumi:dev::experiments::xmgen:local:Run::one", ("dev", "xmgen:local:Run", "one")),
        ("urn:pulumi:dev::experiments::my:Parent$xmgen:local:Run::a::b", ("dev", "xmgen:local:Run", "a::b")),
    ],
)
def test_urns(text: str, expected: tuple[str, str, str]):
    urn = Urn(text)
    assert (urn.stack, urn.type, urn.name) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, Settings()),
        (
            {"runner": "process", "gpus": "2", "cpus": "1.5", "keepOutputs": "false"},
            Settings(runner="process", gpus=2, cpus=1.5, keep_outputs=False),
        ),
        ({"gpus": 2, "keepOutputs": True, "version": "0.1.0"}, Settings(gpus=2)),
        ({"runner": wire.UNKNOWN}, Settings()),
    ],
)
def test_settings_are_read_from_texts_and_values(values: wire.Properties, expected: Settings):
    assert settings.read(values) == (expected, {})


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("runner", "proces", "xmgen:runner must be one of auto, process, container, not 'proces'"),
        ("gpus", "-1", "xmgen:gpus must be a whole number, 0 or more, not '-1'"),
        ("gpus", "1.5", "xmgen:gpus must be a whole number, 0 or more, not '1.5'"),
        ("cpus", "0", "xmgen:cpus must be a number above 0, not '0'"),
        ("cpus", "inf", "xmgen:cpus must be a number above 0, not 'inf'"),
        ("keepOutputs", "yes", "xmgen:keepOutputs must be true or false, not 'yes'"),
        ("keepOutput", "true", "xmgen has no setting 'keepOutput'"),
    ],
)
def test_bad_settings(key: str, value: str, expected: str):
    _, problems = settings.read({key: value})
    assert [problem.message for problem in problems.values()] == [expected]


ADDRESS = "an https address (http on this machine only)"


@pytest.mark.parametrize(
    "address", ["https://vertex.example", "http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9"]
)
def test_access_tokens_go_over_tls_or_to_this_machine(monkeypatch: pytest.MonkeyPatch, address: str):
    expected = (Settings(vertex_endpoint=address), {})
    assert settings.read({"vertexEndpoint": address}) == expected
    monkeypatch.setenv(settings.ENDPOINT_VARIABLE, address)
    assert settings.read({}) == expected


@pytest.mark.parametrize(
    "address",
    [
        "http://vertex.example",
        "http://127.0.0.1@vertex.example",
        "http://127.0.0.1.vertex.example",
        "ftp://127.0.0.1",
        "127.0.0.1:9",
        "https://",
    ],
)
def test_access_tokens_go_nowhere_else(monkeypatch: pytest.MonkeyPatch, address: str):
    problem = Problem(f"xmgen:vertexEndpoint must be {ADDRESS}, not {address!r}")
    assert settings.read({"vertexEndpoint": address}) == (Settings(), {"vertexEndpoint": problem})
    monkeypatch.setenv(settings.ENDPOINT_VARIABLE, address)
    problem = Problem(f"{settings.ENDPOINT_VARIABLE} must be {ADDRESS}")
    assert settings.read({}) == (Settings(), {"vertexEndpoint": problem})


def test_a_run_with_everything():
    job: dict[str, Any] = {
        "name": "train",
        "hostname": "1_1_train",
        "executable": {**EXECUTABLE, "image": "xmgen/train:1", "dockerfile": "Dockerfile", "workingDirectory": "code"},
        "args": ["--a=1", {"shell": "$B"}],
        "env": {"A": "1"},
        "requirements": {"cpu": 0.5, "gpus": 2},
        "docker": {"ports": {"80": 8080}, "volumes": {"/a": "/b"}, "interactive": True, "mountGcsPath": False},
        "service": False,
        "streamOutput": False,
    }
    unit, problems = parse({"name": "one", "identity": "1", "jobs": [job], "after": {"zero": "x"}})
    assert problems == {}
    packaged = Packaged(
        name="train",
        runner="process",
        image="xmgen/train:1",
        directory="code",
        digest="sha256:1",
        command=("./train",),
        working_directory="code",
        dockerfile="Dockerfile",
    )
    assert unit == Unit(
        name="one",
        identity="1",
        after={"zero": "x"},
        jobs=(
            Job(
                name="train",
                hostname="1_1_train",
                executable=packaged,
                args=("--a=1", ShellSafeArg("$B")),
                env={"A": "1"},
                cpu=0.5,
                gpus=2,
                docker=Docker(ports={80: 8080}, volumes={"/a": "/b"}, interactive=True, mount_gcs_path=False),
                stream_output=False,
            ),
        ),
    )
    assert packaged.wire() == job["executable"]


def test_a_run_with_nothing_but_what_it_needs():
    unit, _ = parse({"name": "one", "identity": "1", "jobs": [{"name": "a", "executable": EXECUTABLE}]})
    assert unit is not None
    assert unit.jobs == (
        Job(
            name="a",
            executable=Packaged(
                name="train", runner="process", directory="code", digest="sha256:1", command=("./train",)
            ),
        ),
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"arg": []}, {"jobs[0].arg": "unknown key 'arg'"}),
        ({"args": "x"}, {"jobs[0].args": "must be a list"}),
        ({"args": [1]}, {"jobs[0].args[0]": "must be a text without NUL characters, or {shell: text}"}),
        ({"args": ["a\0"]}, {"jobs[0].args[0]": "must be a text without NUL characters, or {shell: text}"}),
        ({"env": {"A": 1}}, {"jobs[0].env.A": "must be a text"}),
        ({"env": {"A=B": "1"}}, {"jobs[0].env.A=B": "is not a name and a value that a process can be given"}),
        ({"requirements": {"cpu": -1}}, {"jobs[0].requirements.cpu": "must be a number, 0 or more"}),
        ({"docker": {"ports": {"http": 80}}}, {"jobs[0].docker.ports": "'http' is no port number"}),
        ({"service": "yes"}, {"jobs[0].service": "must be true or false"}),
        ({"service": True}, {"jobs": "a work unit needs a job that is no service: services end when the others do"}),
        ({"executable": "train"}, {"jobs[0].executable": "must be a mapping"}),
        (
            {"name": 1, "env": []},
            {"jobs[0].name": "must be a text without NUL characters", "jobs[0].env": "must be a mapping"},
        ),
    ],
)
def test_what_is_wrong_with_a_run_is_said_all_at_once(change: dict[str, Any], expected: dict[str, str]):
    unit, problems = parse(
        {"name": "one", "identity": "1", "jobs": [{"name": "a", "executable": EXECUTABLE, **change}]}
    )
    assert unit is None
    found = {path: problem.message for path, problem in problems.items() if not path.startswith("jobs[0].executable.")}
    assert found == expected


def test_two_jobs_of_one_name_are_refused():
    job = {"name": "a", "executable": EXECUTABLE}
    _, problems = parse({"name": "one", "identity": "1", "jobs": [job, job]})
    assert {path: problem.message for path, problem in problems.items()} == {"jobs": "two jobs are called 'a'"}


def run(identity: str = "1", after: dict[str, str] | None = None, args: tuple[str, ...] = (), **executable: Any) -> Any:
    job = {"name": "a", "args": list(args), "executable": {**EXECUTABLE, **executable}}
    return {"name": "one", "identity": identity, "jobs": [job], **({"after": after} if after else {})}


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (run(), True),
        (run(runner="container"), True),
        (run(args=("123_2",)), True),
        (run(exclude=["launcher.py"]), True),
        (run(identity="2"), False),
        (run(after={"zero": "x"}), False),
        (run(digest="sha256:2"), False),
        (run(command=["./other"]), False),
        (run(image="xmgen/train:2"), False),
        ({**run(), "jobs": wire.UNKNOWN}, False),
    ],
)
def test_what_makes_a_run_another_run(changed: Any, same: bool):
    assert (fingerprint(changed) == fingerprint(run())) is same


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1, "b": 2}, {"a": 2, "c": 3}, {"a": "update", "b": "delete", "c": "add"}),
        ({"a": [{"b": 1}, 2]}, {"a": [{"b": 2}, 2]}, {"a[0].b": "update"}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": "update"}),
        ({"a": {"b": 1}}, {"a": 1}, {"a": "update"}),
        ({"a": {'b.c"[0]': 1, "d-e": 1}}, {"a": {}}, {'a["b.c\\"[0]"]': "delete", "a.d-e": "delete"}),
    ],
)
def test_differences_are_named_by_path(old: wire.Value, new: wire.Value, expected: dict[str, str]):
    assert differences(old, new) == expected


@pytest.mark.parametrize(
    ("worker", "ps", "args", "expected"),
    [
        ("process", "process", ("--ps=ps:1", ShellSafeArg("$X,ps:22")), ["ps:1", "ps:22", "ps:3"]),
        ("process", "container", ("--ps=ps:1",), ["ps:1", "ps:3"]),
        ("container", "process", ("--ps=ps:1",), ["ps:1", "ps:3"]),
        ("container", "container", ("--ps=ps:1",), []),
        ("process", "process", ("worker:1", "tops:1", "ps", "ps:", "ps:1x", "db.ps:1"), ["ps:3"]),
    ],
)
def test_names_of_jobs_resolve_between_containers_only(
    worker: Runner, ps: Runner, args: tuple[str | ShellSafeArg, ...], expected: list[str]
) -> None:
    jobs = (
        Job(name="worker", executable=Packaged(name="a", runner=worker), args=args, env={"PS": "ps:3"}),
        Job(name="ps", executable=Packaged(name="b", runner=ps)),
    )
    assert Unit(name="u", identity="i", jobs=jobs).unresolved() == expected
