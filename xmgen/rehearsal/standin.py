"""Stand-ins for the plugins of pulumi-gcp and pulumi-docker-build: `python -m xmgen.rehearsal.standin gcp ADDRESS`.

They speak Pulumi's protocol as xmgen's own provider does, and pass every request on to the rehearsal that started the
engine. Without one they refuse everything: a real `pulumi up` can never meet them.
"""

# The stubs' types name modules by the path they have in Pulumi's own repository, which type checkers cannot resolve.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from xmgen.errors import InputError, OperationError, Problem
from xmgen.provider import wire
from xmgen.provider.resource import Change as Way
from xmgen.provider.resource import Difference, Request, ResourceKind, State
from xmgen.provider.server import OPTIONS, Context, Provider
from xmgen.provider.wire import Properties
from xmgen.rehearsal.cloud import kinds
from xmgen.rehearsal.cloud.server import VARIABLE
from xmgen.rehearsal.images import ImageResource
from xmgen.resource_types import CLUSTER, NODE_POOL
from xmgen.resource_types.effect import effect, old_goes_first
from xmgen.resource_types.model import Inputs

_LINE = 64 * 1024 * 1024


class Rehearsal:
    """The one that the environment names."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.project = ""
        self.region = ""

    async def ask(self, operation: str, **about: Any) -> dict[str, Any]:
        """Raises OperationError with Google's words when it is refused, or when there is no rehearsal."""
        socket = os.environ.get(VARIABLE, "")
        try:
            reader, writer = await asyncio.open_unix_connection(socket, limit=_LINE)
        except OSError:
            raise OperationError(
                Problem(
                    f"this is no provider for {self._name} but a stand-in that answers only to a rehearsal of xmgen",
                    hint="its folder must not be used as PULUMI_HOME of anything else",
                )
            ) from None
        request = {"operation": operation, "project": self.project, **about}
        try:
            writer.write(json.dumps(request).encode() + b"\n")
            line = await reader.readline()
        finally:
            writer.close()
        if not line:
            raise OperationError(Problem("googleapi: got HTTP response code 502: the response was lost"))
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise OperationError(Problem(str(answer["error"])))
        return answer


class CloudResource:
    """Any resource of Google's."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal

    async def check(self, request: Request, news: Properties, olds: Properties | None) -> dict[str, Problem]:
        raise NotImplementedError  # `StandIn.Check` answers, as it adds inputs

    async def diff(self, request: Request, news: Properties, olds: Properties, state: Properties) -> Difference:
        old, new = cast("Inputs", wire.plain(olds)), cast("Inputs", wire.plain(news))
        outcome = effect(request.urn.type, old, new)
        if outcome.forced_by and request.urn.type == CLUSTER:
            # Both would have the rehearsal's one control plane: what goes with the old one would go from the new one.
            what = ", ".join(sorted(outcome.forced_by))
            message = f"a rehearsal cannot replace a cluster, as a change of {what} would"
            raise OperationError(Problem(message, hint=kinds.ELSEWHERE))
        changes: dict[str, Way] = {}
        for change in outcome.changes:
            if change.effect != "none":
                changes[change.path] = "add" if change.old is None else "delete" if change.new is None else "update"
        return Difference(changes=changes, replaces=frozenset(outcome.forced_by))

    async def create(self, request: Request, news: Properties) -> State:
        if request.preview:
            return State(id="", outputs=news)
        answer = await self._ask("create", request, news)
        await self._without_default_pool(request, answer["id"], news, {})
        return State(id=answer["id"], outputs={**news, **answer["outputs"]}, reasons=tuple(answer.get("reasons", ())))

    async def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> State | None:
        known = bool(state)
        answer = await self._rehearsal.ask("read", type=request.urn.type, urn=request.urn.text, id=id, state=known)
        if "id" not in answer:
            return None
        if not known:
            # The project is the provider's where the resource does not name one.
            found = {key: value for key, value in answer["inputs"].items() if key != "project" or key in inputs}
            return State(id=answer["id"], outputs={**found, **answer["outputs"]}, inputs=found)
        return State(id=answer["id"], outputs={**state, **answer["outputs"]}, inputs=inputs or answer["inputs"])

    async def update(self, request: Request, id: str, news: Properties, olds: Properties, state: Properties) -> State:
        if request.preview:
            return State(id=id, outputs={**state, **news})
        answer = await self._ask("update", request, news, id=id)
        await self._without_default_pool(request, id, news, olds)
        return State(id=id, outputs={**news, **answer["outputs"]}, reasons=tuple(answer.get("reasons", ())))

    async def delete(self, request: Request, id: str, inputs: Properties, state: Properties) -> None:
        await self._ask("delete", request, inputs, id=id)

    async def _without_default_pool(self, request: Request, id: str, news: Properties, olds: Properties) -> None:
        """GKE makes a cluster with a pool, and pulumi-gcp removes it, when it begins to be asked for that."""
        wanted = cast("dict[str, Any]", wire.plain(news)).get(kinds.WITHOUT_DEFAULT_POOL)
        had = cast("dict[str, Any]", wire.plain(olds)).get(kinds.WITHOUT_DEFAULT_POOL)
        if request.urn.type == CLUSTER and wanted and not had:
            pool = kinds.default_pool(id)
            await self._rehearsal.ask("delete", type=NODE_POOL, urn=request.urn.text, id=pool, inputs={})

    async def _ask(self, operation: str, request: Request, inputs: Properties, **more: str) -> dict[str, Any]:
        plain = wire.plain(inputs)
        return await self._rehearsal.ask(operation, type=request.urn.type, urn=request.urn.text, inputs=plain, **more)


class _All(dict[str, ResourceKind]):
    """One resource for every type."""

    def __init__(self, resource: ResourceKind) -> None:
        super().__init__()
        self._resource = resource

    def get(self, key: str, default: Any = None) -> ResourceKind:
        return self._resource


class StandIn(Provider):
    """name: of the plugin that it stands in for."""

    def __init__(self, name: str, engine: str | None) -> None:
        self._rehearsal = Rehearsal(name)
        super().__init__(Path.cwd(), engine)
        resource = ImageResource if name == "docker-build" else CloudResource
        self._resources = _All(resource(self._rehearsal))

    async def GetPluginInfo(self, request: Any, context: Context) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=os.environ.get("XMGEN_STANDIN_VERSION", "0.0.0"))

    async def CheckConfig(self, request: Any, context: Context) -> provider_pb2.CheckResponse:
        return provider_pb2.CheckResponse(inputs=request.news)

    async def DiffConfig(self, request: Any, context: Context) -> provider_pb2.DiffResponse:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    async def Configure(self, request: Any, context: Context) -> provider_pb2.ConfigureResponse:
        config = cast("dict[str, Any]", wire.plain(wire.properties(request.args)))
        self._rehearsal.project = str(config.get("project", ""))
        self._rehearsal.region = str(config.get("region", ""))
        async with _refusing(context):
            await self._rehearsal.ask("ping")
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=False, acceptOutputs=False
        )

    async def Check(self, request: Any, context: Context) -> provider_pb2.CheckResponse:
        about = self._request(request)
        news = wire.properties(request.news)
        olds = wire.properties(request.olds) if request.HasField("olds") else {}
        async with _refusing(context):
            answer = await self._rehearsal.ask(
                "check",
                type=about.urn.type,
                urn=about.urn.text,
                name=about.urn.name,
                inputs=wire.plain(news),
                old=wire.plain(olds),
                seed=bytes(request.randomSeed).hex(),
            )
            failures = [provider_pb2.CheckFailure(property=path, reason=reason) for path, reason in answer["failures"]]
            return provider_pb2.CheckResponse(inputs=wire.struct({**news, **answer["added"]}), failures=failures)
        raise AssertionError

    async def Diff(self, request: Any, context: Context) -> provider_pb2.DiffResponse:
        """Pulumi's provider compares with what Google has filled in, too, unless the program ignores that."""
        response = await super().Diff(request, context)
        about = self._request(request)
        news = cast("dict[str, Any]", wire.plain(wire.properties(request.news)))
        for path in kinds.kind(about.urn.type).filled(news):
            if path not in request.ignoreChanges:
                response.changes = provider_pb2.DiffResponse.DIFF_SOME
                response.replaces.append(path)
                response.detailedDiff[path].kind = provider_pb2.PropertyDiff.DELETE_REPLACE
        first = old_goes_first(about.urn.type, about.urn.name, news)
        response.deleteBeforeReplace = bool(response.replaces) and first
        return response

    async def Invoke(self, request: Any, context: Context) -> provider_pb2.InvokeResponse:
        inputs = cast("dict[str, Any]", wire.plain(wire.properties(request.args)))
        complete = {"project": self._rehearsal.project, **inputs}
        async with _refusing(context):
            answer = await self._rehearsal.ask("invoke", type=request.tok, inputs=complete)
            response = provider_pb2.InvokeResponse()
            getattr(response, "return").CopyFrom(wire.struct(answer["outputs"]))
            return response
        raise AssertionError


class _refusing:
    """Turns a refusal into an answer of the protocol."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError | OperationError):
            await self._context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))


async def serve(name: str, engine: str | None) -> None:
    """Until the engine asks us to end, or is gone."""
    server = grpc.aio.server(options=OPTIONS)
    standin = StandIn(name, engine)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(standin, cast("grpc.Server", server))
    port = server.add_insecure_port("127.0.0.1:0")
    await cast("Awaitable[None]", server.start())
    print(port, flush=True)
    closed = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, closed.set)
    parent = os.getppid()
    while not closed.is_set() and os.getppid() == parent:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(closed.wait(), timeout=1)
    await server.stop(0)
    # A thread may still wait for an image that is being built, and asyncio would wait for it.
    sys.stdout.flush()
    os._exit(0)


def _addresses(arguments: list[str]) -> Iterator[str]:
    return (argument for argument in arguments if not argument.startswith("-"))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], next(_addresses(sys.argv[2:]), None)))
