"""Runs generated programs of stacks on GKE under Pulumi's mocks, in a process of their own.

The SDKs of pulumi_gcp, pulumi_kubernetes and pulumi_docker_build are in .tools/gcp-sdk: the engine would ask for the
plugin of every SDK that is installed in its own environment, on every command.

`python -m tests.gcp_programs` reads the folders and their configuration from its standard input, as JSON, and prints
what each program declares.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import runpy
import subprocess
import sys
import typing
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from tests import type_checks

ROOT = Path(__file__).resolve().parents[1]
SDK = ROOT / ".tools" / "gcp-sdk"

DECLARED: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "Pulumi.yaml").read_text(encoding="utf-8"))["config"]
CONFIG = {
    # Pulumi fills in what its settings leave out.
    **{f"experiments:{key}": json.dumps(each["default"]).strip('"') for key, each in DECLARED.items()},
    "experiments:location": "europe-west4-a",
    "experiments:owner": "ada",
    "gcp:project": "acme",
}


@dataclass(frozen=True)
class Declared:
    """inputs: as on the wire. options: those that are set; resources by name. problems: inputs that pulumi_gcp's own
    types do not have."""

    type: str
    name: str
    inputs: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Program:
    """calls: tokens of the functions it calls. error: what stopped it, if anything did."""

    resources: list[Declared]
    outputs: dict[str, Any]
    calls: list[dict[str, Any]]
    error: str = ""

    def of(self, type: str) -> list[Declared]:
        return [resource for resource in self.resources if resource.type == type]

    def get(self, type: str, name: str) -> Declared:
        [found] = [resource for resource in self.of(type) if resource.name == name]
        return found


@dataclass(frozen=True)
class Play:
    """A run of the program in a folder, which is called as its stack. config: what is set beside CONFIG."""

    folder: Path
    config: Mapping[str, str] = field(default_factory=dict[str, str])


def run(plays: Mapping[str, Play]) -> dict[str, Program]:
    """What the programs declare, by the names of the plays. All run in one process: the SDKs take a while to import."""
    wanted = {name: {"folder": str(play.folder), "config": {**CONFIG, **play.config}} for name, play in plays.items()}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SDK), str(ROOT)])}
    command = [sys.executable, "-m", "tests.gcp_programs"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, input=json.dumps(wanted), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {
        name: Program(**{**each, "resources": [Declared(**resource) for resource in each["resources"]]})
        for name, each in json.loads(done.stdout).items()
    }


def type_problems(folders: Sequence[Path]) -> list[str]:
    """What pyright says of the programs in folders that lie beside each other."""
    return type_checks.problems(folders, [SDK])


# In the process of their own


def _play(folder: Path, config: Mapping[str, str]) -> Program:
    import pulumi
    from pulumi.runtime import mocks, settings

    declared: list[Declared] = []
    calls: list[dict[str, Any]] = []
    options: dict[tuple[str, str], dict[str, Any]] = {}

    class Recorder(mocks.Mocks):
        def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
            calls.append({"token": args.token, "args": dict(args.args)})
            return _answer(args.token, dict(args.args))

        def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
            inputs = cast("dict[str, Any]", _plain(args.inputs))
            problems = list(input_problems(args.typ, inputs)) if args.typ.startswith("gcp:") else []
            declared.append(Declared(args.typ, args.name, inputs, problems=problems))
            return f"{args.name}-id", _outputs(args.typ, args.name, inputs)

    def note(args: pulumi.ResourceTransformationArgs) -> None:
        options[args.type_, args.name] = _options(args.opts)

    pulumi.runtime.set_all_config(dict(config))
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    mocks.set_mocks(Recorder(), project="experiments", stack=folder.name, preview=False)
    before, outputs, error = sys.path[:], cast("dict[str, Any]", {}), ""
    sys.path.insert(0, str(folder))

    def program() -> None:
        pulumi.runtime.register_stack_transformation(note)
        runpy.run_path(str(folder / "__main__.py"), run_name="__main__")

    exported: dict[str, Any] = {}
    real = pulumi.export
    pulumi.export = lambda name, value: exported.update({name: value})  # type: ignore[assignment]
    try:
        pulumi.runtime.test(program)()
        outputs = loop.run_until_complete(_resolved(exported))
    except pulumi.RunError as failure:
        error = str(failure)
    finally:
        pulumi.export = real
        sys.path[:] = before
        for name in {module.stem for module in folder.glob("*.py")} - {"__main__"}:
            sys.modules.pop(name, None)
        settings.get_root_resource()
        loop.close()
    with_options = [
        Declared(each.type, each.name, each.inputs, options.get((each.type, each.name), {}), each.problems)
        for each in declared
        if each.type != "pulumi:pulumi:Stack"
    ]
    # The mocks hear of them in any order; the program makes them in its own.
    order = {key: position for position, key in enumerate(options)}
    with_options.sort(key=lambda each: order[each.type, each.name])
    return Program(with_options, outputs, calls, error)


def _plain(value: Any) -> Any:
    """The value with every secret in it unwrapped."""
    match value:
        case {"4dabf18193072939515e22adb298388d": _, "value": inner}:
            return _plain(inner)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


async def _resolved(values: dict[str, Any]) -> dict[str, Any]:
    import pulumi

    async def value(output: Any) -> Any:
        return await pulumi.Output.from_input(output).future()

    return {name: await value(output) for name, output in values.items()}


def _options(opts: Any) -> dict[str, Any]:
    def names(value: Any) -> Any:
        listed = value if isinstance(value, list | tuple) else [value]
        return sorted(f"{type(each).__name__}:{each._name}" for each in listed)

    found: dict[str, Any] = {}
    if opts.depends_on:
        found["depends_on"] = names(opts.depends_on)
    if opts.parent is not None:
        found["parent"] = opts.parent._name
    if opts.provider is not None:
        found["provider"] = opts.provider._name
    for key in ("delete_before_replace", "retain_on_delete", "protect"):
        if getattr(opts, key):
            found[key] = True
    if opts.ignore_changes:
        found["ignore_changes"] = list(opts.ignore_changes)
    if opts.custom_timeouts is not None:
        found["create_timeout"] = opts.custom_timeouts.create
    return found


def _outputs(type: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    match type:
        case "gcp:container/cluster:Cluster":
            return {
                "name": f"{name}-real",
                **inputs,
                "endpoint": "192.0.2.1",
                "masterAuth": {"clusterCaCertificate": "certificate"},
            }
        case "gcp:serviceaccount/account:Account":
            email = f"{inputs['accountId']}@acme.iam.gserviceaccount.com"
            return {**inputs, "email": email, "member": f"serviceAccount:{email}", "name": f"accounts/{email}"}
        case "gcp:storage/bucket:Bucket":
            return {**inputs, "name": f"{name}-1234", "url": f"gs://{name}-1234"}
        case "gcp:vertex/aiTensorboard:AiTensorboard":
            return {**inputs, "name": f"projects/1/locations/{inputs['region']}/tensorboards/{name}"}
        case "docker-build:index:Image":
            return {**inputs, "ref": f"{inputs['tags'][0]}@sha256:{'0' * 64}"}
        case "pulumi:pulumi:StackReference":
            cluster = {
                "id": "shared-id",
                "name": "shared-real",
                "location": "europe-west4-a",
                "region": "europe-west4",
                "endpoint": "192.0.2.2",
                "caCertificate": "certificate",
                "nodesEmail": "nodes@acme.iam.gserviceaccount.com",
                "filestoreNetwork": {"network": "shared-network", "connect-mode": "DIRECT_PEERING"},
            }
            return {**inputs, "outputs": {"cluster": cluster}}
        case _:
            return {"name": f"{name}-real", **inputs}


# The SDK's class has a field for every addon, and none has a default.
_ADDONS = """
cloudrunConfigs configConnectorConfigs dnsCacheConfigs gcePersistentDiskCsiDriverConfigs gcpFilestoreCsiDriverConfigs
gkeBackupAgentConfigs horizontalPodAutoscalings httpLoadBalancings istioConfigs kalmConfigs networkPolicyConfigs
"""
_WITH_FUSE: dict[str, Any] = {
    **{name: [] for name in _ADDONS.split()},
    "gcsFuseCsiDriverConfigs": [{"enabled": True}],
}


def _addons(cluster: str) -> dict[str, Any]:
    """Those of an existing cluster."""
    return {**_WITH_FUSE, "gcpFilestoreCsiDriverConfigs": [{"enabled": cluster == "with-filestore"}]}


def _answer(token: str, args: dict[str, Any]) -> dict[str, Any]:
    match token:
        case "gcp:container/getCluster:getCluster":
            return {
                **args,
                "id": "existing-id",
                "endpoint": "192.0.2.3",
                "masterAuths": [
                    {
                        "clusterCaCertificate": "certificate",
                        "clientCertificate": "",
                        "clientKey": "",
                        "clientCertificateConfigs": [],
                    }
                ],
                "workloadIdentityConfigs": [{"workloadPool": "acme.svc.id.goog"}] if args["name"] != "bare" else [],
                "addonsConfigs": [] if args["name"] == "without-fuse" else [_addons(args["name"])],
            }
        case _:
            return args


def input_problems(token: str, inputs: Mapping[str, Any]) -> typing.Iterator[str]:
    """Inputs of a pulumi_gcp resource, nested objects included, that its own argument types do not have."""
    module, _, name = token.split(":")[1].partition("/")[0], "", token.rpartition(":")[2]
    found = importlib.import_module(f"pulumi_gcp.{module}")
    yield from _object_problems(name, inputs, getattr(found, f"{name}Args"))


def _object_problems(where: str, value: Any, cls: Any) -> typing.Iterator[str]:
    from pulumi import _types

    if not isinstance(value, Mapping):
        yield f"{where}: {value!r} is no {cls.__name__}"
        return
    names = _types.input_type_py_to_pulumi_names(cls)
    types = _types.input_type_types(cls)
    for key, item in value.items():
        if key not in types:
            yield f"{where}: there is no {key}"
        else:
            yield from _value_problems(f"{where}.{key}", item, types[key])
    parameters = inspect.signature(cls.__init__).parameters
    for key, parameter in parameters.items():
        required = key not in ("self", "__self__") and parameter.default is inspect.Parameter.empty
        if required and names.get(key, key) not in value:
            yield f"{where}: {key} is missing"


def _value_problems(where: str, value: Any, type: Any) -> typing.Iterator[str]:
    from pulumi import _types

    # The types of inputs hold awaitables and outputs as well; what is left are those of the wire.
    plain = _types.unwrap_type(type)
    origin = typing.get_origin(plain)
    if origin is not None and issubclass(origin, Sequence) and not isinstance(value, str | Mapping):
        for index, item in enumerate(value):
            yield from _value_problems(f"{where}[{index}]", item, typing.get_args(plain)[0])
    elif origin is not None and issubclass(origin, Mapping):
        for key, item in value.items():
            yield from _value_problems(f"{where}.{key}", item, typing.get_args(plain)[1])
    elif _types.is_input_type(plain):
        yield from _object_problems(where, value, plain)
    elif plain is int or plain is float:
        if isinstance(value, bool) or not isinstance(value, int | float) or (plain is int and value != int(value)):
            yield f"{where}: {value!r} is no number"
    elif plain in (str, bool) and not isinstance(value, plain):
        yield f"{where}: {value!r} is no {plain.__name__}"


if __name__ == "__main__":
    print(
        json.dumps(
            {name: asdict(_play(Path(play["folder"]), play["config"])) for name, play in json.load(sys.stdin).items()}
        )
    )
