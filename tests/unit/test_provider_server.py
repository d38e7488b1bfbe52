"""The provider's answers, called as the engine calls it: over gRPC, without an engine."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2 as pb
from pulumi.runtime.proto import provider_pb2_grpc, status_pb2

from xmgen.provider import code, custom_job, executable, local, run, settings, vertex, wire
from xmgen.provider.__main__ import project_root
from xmgen.provider.attempt import undisturbed
from xmgen.provider.resource import Difference
from xmgen.provider.server import Provider
from xmgen.pulumi_values import camel

RUN = "urn:pulumi:dev::experiments::xmgen:local:Run::one"
EXECUTABLE = "urn:pulumi:dev::experiments::xmgen:local:Executable::train"
PACKAGED: wire.Properties = {"name": "train", "runner": "process", "command": ["./train"]}
INPUTS: wire.Properties = {"name": "one", "identity": "1", "jobs": [{"name": "a", "executable": PACKAGED}]}
COMMAND: wire.Properties = {"command": ["./train"]}

Call = Callable[[Any], Awaitable[Any]]


def ask(root: Path, call: Call, **config: wire.Value) -> Any:
    """What the provider, configured so, answers to one call."""

    async def play() -> Any:
        server = grpc.aio.server()
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(Provider(root), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = provider_pb2_grpc.ResourceProviderStub(channel)
            await stub.Configure(pb.ConfigureRequest(args=wire.struct({"runner": "process", **config})))
            try:
                return await call(stub)
            finally:
                await server.stop(None)

    return asyncio.run(play())


def refusal(root: Path, call: Call) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        ask(root, call)
    return caught.value


def test_it_takes_secrets_and_previews(tmp_path: Path):
    answer = ask(tmp_path, lambda stub: stub.Configure(pb.ConfigureRequest()))
    assert (answer.acceptSecrets, answer.supportsPreview, answer.acceptResources) == (True, True, False)


def test_the_schema_has_the_resources_with_what_they_take_and_give(tmp_path: Path):
    schema = json.loads(ask(tmp_path, lambda stub: stub.GetSchema(pb.GetSchemaRequest())).schema)
    resources = schema["resources"]
    local = ["xmgen:local:Executable", "xmgen:local:Run"]
    assert sorted(resources) == ["xmgen:index:Code", *local, "xmgen:vertex:CustomJob"]
    assert tuple(resources["xmgen:vertex:CustomJob"]["inputProperties"]) == custom_job.INPUTS
    assert tuple(resources["xmgen:vertex:CustomJob"]["properties"]) == custom_job.OUTPUTS
    assert tuple(resources["xmgen:local:Executable"]["inputProperties"]) == tuple(executable.INPUTS)
    assert tuple(schema["config"]["variables"]) == tuple(schema["provider"]["inputProperties"]) == settings.KEYS
    assert tuple(resources["xmgen:local:Run"]["properties"]) == run.OUTPUTS
    assert schema["version"] == ask(tmp_path, lambda stub: stub.GetPluginInfo(empty_pb2.Empty())).version


@pytest.mark.parametrize(
    ("declared", "inputs"),
    [
        (local.Executable, executable.INPUTS),
        (code.Code, ("directory", "digest", "exclude")),
        (vertex.CustomJob, custom_job.INPUTS),
    ],
)
def test_the_classes_of_programs_take_what_the_provider_takes(declared: type, inputs: Collection[str]):
    parameters = inspect.signature(declared).parameters.keys() - {"name", "opts"}
    assert {camel(name) for name in parameters} == set(inputs)


def test_other_settings_never_replace_the_provider(tmp_path: Path):
    request = pb.DiffRequest(old_inputs=wire.struct({"runner": "process"}), news=wire.struct({"runner": "auto"}))
    answer = ask(tmp_path, lambda stub: stub.DiffConfig(request))
    assert (answer.changes, list(answer.replaces)) == (pb.DiffResponse.DIFF_SOME, [])


def test_a_defect_is_said_to_be_one_without_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def broken(*_: object) -> Difference:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(run.RunResource, "diff", broken)
    error = refusal(tmp_path, lambda stub: stub.Diff(pb.DiffRequest(urn=RUN)))
    assert error.code() is grpc.StatusCode.ABORTED
    assert "this is a defect of xmgen, not of your experiment: ZeroDivisionError: division by zero" in error.details()
    assert "Traceback" not in error.details()


def test_what_the_machine_refuses_is_no_defect(tmp_path: Path):
    (tmp_path / ".xmgen").touch()
    error = refusal(tmp_path, lambda stub: stub.Create(pb.CreateRequest(urn=RUN, properties=wire.struct(INPUTS))))
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert error.details() == f"{tmp_path}/.xmgen/dev/runs/one: Not a directory"


def test_another_image_for_the_same_inputs_is_a_change_of_outputs(tmp_path: Path):
    (tmp_path / "Dockerfile").write_text("FROM base")
    inputs: wire.Properties = {**COMMAND, "directory": "code", "digest": "sha256:1", "dockerfile": "Dockerfile"}
    state: wire.Properties = {**inputs, "runner": "process", "imageId": ""}

    async def call(stub: Any) -> Any:
        preview = pb.CreateRequest(urn=EXECUTABLE, properties=wire.struct(inputs), preview=True)
        state["packaged"] = wire.properties((await stub.Create(preview)).properties)["packaged"]
        (tmp_path / "Dockerfile").write_text("FROM another")
        request = pb.DiffRequest(
            urn=EXECUTABLE, old_inputs=wire.struct(inputs), news=wire.struct(inputs), olds=wire.struct(state)
        )
        return await stub.Diff(request)

    answer = ask(tmp_path, call)
    assert {path: diff.inputDiff for path, diff in answer.detailedDiff.items()} == {"packaged.image": False}
    assert not answer.replaces


def test_an_unknown_resource_is_refused(tmp_path: Path):
    error = refusal(tmp_path, lambda stub: stub.Check(pb.CheckRequest(urn=RUN.replace("Run", "Runn"))))
    assert error.details() == "xmgen has no resource xmgen:local:Runn"


def test_after_a_cancel_nothing_starts(tmp_path: Path):
    async def call(stub: Any) -> None:
        await stub.Cancel(empty_pb2.Empty())
        await stub.Create(pb.CreateRequest(urn=RUN, properties=wire.struct(INPUTS)))

    assert refusal(tmp_path, call).details() == "cancelled"
    assert not (tmp_path / ".xmgen").exists()


def test_a_failed_run_is_answered_so_that_it_is_in_the_state(tmp_path: Path):
    inputs = {
        **INPUTS,
        "jobs": [{"name": "a", "executable": {**PACKAGED, "command": ["sh", "-c", "echo why; exit 3"]}}],
    }
    error = refusal(tmp_path, lambda stub: stub.Create(pb.CreateRequest(urn=RUN, properties=wire.struct(inputs))))
    status = status_pb2.Status()
    status.ParseFromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    detail = pb.ErrorResourceInitFailed()
    assert status.details[0].Unpack(detail)
    assert detail.id == "one"
    assert wire.properties(detail.inputs) == inputs
    assert wire.properties(detail.properties)["exitCodes"] == {"a": 3}
    assert list(detail.reasons) == ["job a ended with exit code 3; log: .xmgen/dev/runs/one/a.log\n  why"]


@pytest.mark.parametrize(
    ("urn", "news", "expected"),
    [
        (RUN, INPUTS, {}),
        (RUN, {"name": "one", "identity": "1", "jobs": wire.UNKNOWN}, {}),
        (RUN, {**INPUTS, "jobs": []}, {"jobs": "a work unit needs at least one job"}),
        (RUN, {**INPUTS, "extra": 1}, {"extra": "unknown key 'extra'\n  known: after, identity, jobs, name"}),
        (EXECUTABLE, COMMAND, {}),
        (EXECUTABLE, {"command": wire.UNKNOWN}, {}),
        (EXECUTABLE, {}, {"command": "needs a `command`, a `dockerfile` or an `image`"}),
        (EXECUTABLE, {"command": []}, {"command": "must be a list of texts that is not empty"}),
        (EXECUTABLE, {"comand": ["x"], **COMMAND}, {"comand": "unknown key 'comand'\n  did you mean 'command'?"}),
        (
            EXECUTABLE,
            {"image": "redis", "dockerfile": "Dockerfile", "directory": "code", "digest": "sha256:1"},
            {"image": "is prebuilt: neither `dockerfile` nor `directory` goes with it"},
        ),
        (
            EXECUTABLE,
            {"dockerfile": "Dockerfile"},
            {"directory": "`dockerfile` needs `directory`, its build context, and `digest`"},
        ),
        (
            EXECUTABLE,
            {**COMMAND, "directory": "gone", "digest": "sha256:1"},
            {"digest": "{root}/gone: no such file or folder"},
        ),
    ],
)
def test_inputs_are_checked(tmp_path: Path, urn: str, news: wire.Properties, expected: dict[str, str]):
    answer = ask(tmp_path, lambda stub: stub.Check(pb.CheckRequest(urn=urn, news=wire.struct(news))))
    assert {failure.property: failure.reason for failure in answer.failures} == {
        path: reason.format(root=tmp_path) for path, reason in expected.items()
    }
    assert wire.properties(answer.inputs) == news


def moved(**job: wire.Value) -> wire.Properties:
    return {**INPUTS, "jobs": [{"name": "a", "executable": PACKAGED, **job}]}


@pytest.mark.parametrize(
    ("news", "changes", "replaces"),
    [
        (INPUTS, [], []),
        (moved(executable={**PACKAGED, "runner": "container"}), [], []),
        (moved(hostname="1_2_a"), ["jobs[0].hostname"], []),
        ({**INPUTS, "identity": "2"}, ["identity"], ["identity"]),
        ({**INPUTS, "after": {"zero": wire.UNKNOWN}}, ["after"], ["after"]),
        ({**INPUTS, "jobs": wire.UNKNOWN}, ["jobs"], ["jobs"]),
        (
            moved(executable={**PACKAGED, "command": ["./other"]}, hostname="1_2_a"),
            ["jobs[0].executable.command[0]", "jobs[0].hostname"],
            ["jobs[0].executable.command[0]", "jobs[0].hostname"],
        ),
    ],
)
def test_what_a_change_of_a_run_means(tmp_path: Path, news: wire.Properties, changes: list[str], replaces: list[str]):
    request = pb.DiffRequest(urn=RUN, old_inputs=wire.struct(INPUTS), news=wire.struct(news))
    answer = ask(tmp_path, lambda stub: stub.Diff(request))
    assert sorted(answer.detailedDiff) == changes
    assert list(answer.replaces) == replaces
    assert answer.deleteBeforeReplace is bool(replaces)
    assert answer.changes == (pb.DiffResponse.DIFF_SOME if changes else pb.DiffResponse.DIFF_NONE)


def test_a_preview_says_what_it_knows(tmp_path: Path):
    request = pb.CreateRequest(urn=RUN, properties=wire.struct(INPUTS), preview=True)
    outputs = wire.properties(ask(tmp_path, lambda stub: stub.Create(request)).properties)
    assert {key: value for key, value in outputs.items() if value != wire.UNKNOWN} == {
        "logPath": ".xmgen/dev/runs/one/a.log",
        "outputPath": ".xmgen/dev/runs/one/output",
        "runner": "process",
    }
    assert sorted(outputs) == sorted(run.OUTPUTS)

    request = pb.CreateRequest(urn=EXECUTABLE, properties=wire.struct(COMMAND), preview=True)
    outputs = wire.properties(ask(tmp_path, lambda stub: stub.Create(request)).properties)
    assert outputs == {**COMMAND, "runner": "process", "imageId": "", "packaged": PACKAGED}


def test_reading_keeps_the_state(tmp_path: Path):
    request = pb.ReadRequest(
        id="one", urn=RUN, inputs=wire.struct(INPUTS), properties=wire.struct({"exitCode": 0, "attempt": "x"})
    )
    answer = ask(tmp_path, lambda stub: stub.Read(request))
    assert (answer.id, wire.properties(answer.properties)) == ("one", {"exitCode": 0, "attempt": "x"})
    assert wire.properties(answer.inputs) == INPUTS


@pytest.mark.parametrize(
    ("urn", "expected"),
    [(RUN, "no finished run one to import"), (EXECUTABLE, "an Executable cannot be imported")],
)
def test_what_cannot_be_imported_is_said_so(tmp_path: Path, urn: str, expected: str):
    error = refusal(tmp_path, lambda stub: stub.Read(pb.ReadRequest(id="one", urn=urn)))
    assert error.details().startswith(expected)


def test_deleting_what_is_gone_is_no_error(tmp_path: Path):
    ask(tmp_path, lambda stub: stub.Delete(pb.DeleteRequest(id="one", urn=RUN)))
    ask(tmp_path, lambda stub: stub.Delete(pb.DeleteRequest(id="train", urn=EXECUTABLE)))
    assert list(tmp_path.iterdir()) == []


STARTED = """
import asyncio, pathlib, sys
from xmgen.provider.server import Provider

async def start():
    Provider(pathlib.Path())

asyncio.run(start())
print(*sorted({"docker", "google.auth", "jinja2", "pydantic", "requests"} & sys.modules.keys()))
"""


def test_the_engine_does_not_wait_for_libraries_that_only_some_resources_need():
    done = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_project_is_the_folder_of_pulumi_yaml(tmp_path: Path):
    (tmp_path / "stacks" / "dev").mkdir(parents=True)
    assert project_root(tmp_path / "stacks") == tmp_path / "stacks"
    (tmp_path / "Pulumi.yaml").touch()
    assert project_root(tmp_path / "stacks" / "dev") == tmp_path


def test_what_must_be_done_is_done_before_a_cancellation_takes_effect():
    done: list[str] = []

    async def work() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        done.append("work")

    async def play() -> None:
        task = asyncio.create_task(undisturbed(work()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        done.append("cancelled")

    asyncio.run(play())
    assert done == ["work", "cancelled"]
