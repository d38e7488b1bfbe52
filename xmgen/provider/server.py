"""The provider's gRPC service, on Pulumi's own generated stubs.

The SDK's provider classes turn a failed `create` into a traceback and leave nothing in the state; here it is
answered as the protocol has it, so that a failed trial is in the state with its reasons.
"""

# The stubs' types name modules by the path they have in Pulumi's own repository, which type checkers cannot resolve.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUntypedBaseClass=false

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import grpc
import grpc.aio
from google.protobuf import empty_pb2
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    plugin_pb2,
    provider_pb2,
    provider_pb2_grpc,
    status_pb2,
)

from xmgen import __version__, resource_types
from xmgen.errors import InputError, Problem, XmgenError
from xmgen.provider import settings, wire
from xmgen.provider.attempt import undisturbed
from xmgen.provider.images import Images
from xmgen.provider.resource import Difference, Request, ResourceKind, State
from xmgen.provider.runs import Runs
from xmgen.urns import Urn

_MESSAGE_BYTES = 400 * 1024 * 1024
"""The engine's own limit for a message."""

OPTIONS = [("grpc.max_receive_message_length", _MESSAGE_BYTES), ("grpc.max_send_message_length", _MESSAGE_BYTES)]

_KINDS = {
    ("add", False): provider_pb2.PropertyDiff.ADD,
    ("add", True): provider_pb2.PropertyDiff.ADD_REPLACE,
    ("delete", False): provider_pb2.PropertyDiff.DELETE,
    ("delete", True): provider_pb2.PropertyDiff.DELETE_REPLACE,
    ("update", False): provider_pb2.PropertyDiff.UPDATE,
    ("update", True): provider_pb2.PropertyDiff.UPDATE_REPLACE,
}
"""By change, and whether it makes a replacement necessary."""

Context = grpc.aio.ServicerContext
T = TypeVar("T")


class Cancelled(Exception):
    """The engine asked to stop."""


class EngineLog:
    """Pulumi's log, for one resource."""

    def __init__(self, engine: engine_pb2_grpc.EngineStub | None, urn: str) -> None:
        self._engine = engine
        self._urn = urn

    async def debug(self, text: str) -> None:
        await self._log(engine_pb2.DEBUG, text)

    async def info(self, text: str) -> None:
        await self._log(engine_pb2.INFO, text)

    async def warning(self, text: str) -> None:
        await self._log(engine_pb2.WARNING, text)

    async def status(self, text: str) -> None:
        await self._log(engine_pb2.INFO, text, ephemeral=True)

    async def _log(self, severity: engine_pb2.LogSeverity.ValueType, text: str, *, ephemeral: bool = False) -> None:
        if self._engine is None:
            return
        # An engine that is gone cannot be told anything; that it is gone is noticed elsewhere.
        with contextlib.suppress(grpc.aio.AioRpcError):
            request = engine_pb2.LogRequest(severity=severity, message=text, urn=self._urn, ephemeral=ephemeral)
            await cast("Awaitable[object]", self._engine.Log(request))


def _answering(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Awaitable[Any]]:
    """Turns what a method raises into what the engine shows: never a traceback."""

    @functools.wraps(method)
    async def answer(self: Provider, request: Any, context: Context) -> Any:
        try:
            return await self.under_way(method(self, request, context))
        except Cancelled:
            await context.abort(grpc.StatusCode.ABORTED, "cancelled")
        except XmgenError as error:
            code = (
                grpc.StatusCode.INVALID_ARGUMENT
                if isinstance(error, InputError)
                else grpc.StatusCode.FAILED_PRECONDITION
            )
            await context.abort(code, str(error))
        except (grpc.aio.AbortError, asyncio.CancelledError):
            raise
        except OSError as error:
            # A full disk, a folder that may not be written: the machine's, not a defect.
            where = f"{error.filename}: " if error.filename else ""
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"{where}{error.strerror or error}")
        except Exception as error:  # noqa: BLE001 — the one place that answers for all of the provider
            log = self.log(getattr(request, "urn", ""))
            await log.debug(traceback.format_exc())
            # Not INTERNAL or UNKNOWN: those make the engine doubt the state of the resource.
            await context.abort(
                grpc.StatusCode.ABORTED,
                f"this is a defect of xmgen, not of your experiment: {type(error).__name__}: {error}\n"
                "  `pulumi up --logtostderr -v=9` shows where it comes from",
            )

    return answer


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """root: the project's folder. engine: the engine's address; None until it attaches."""

    def __init__(self, root: Path, engine: str | None = None) -> None:
        self._root = root
        self._engine: engine_pb2_grpc.EngineStub | None = None
        self._images = Images(root)
        self._settings = settings.Settings()
        self._resources: dict[str, ResourceKind] = {}
        self._under_way: set[asyncio.Task[Any]] = set()
        self._cancelled = False
        if engine:
            self._attach(engine)
        self._configure(self._settings)

    def _attach(self, address: str) -> None:
        channel = grpc.aio.insecure_channel(address, options=OPTIONS)
        self._engine = engine_pb2_grpc.EngineStub(cast("grpc.Channel", channel))

    def _configure(self, configured: settings.Settings) -> None:
        # Imported here for the sake of those who only want the schema or the version.
        from xmgen.provider.custom_job import CustomJobResource
        from xmgen.provider.executable import CodeResource, ExecutableResource
        from xmgen.provider.run import RunResource

        self._resources = {
            resource_types.CODE: CodeResource(self._root),
            resource_types.EXECUTABLE: ExecutableResource(self._root, configured, self._images),
            resource_types.RUN: RunResource(self._root, configured, Runs(self._root, configured, self._images)),
            resource_types.CUSTOM_JOB: CustomJobResource(configured),
        }

    def log(self, urn: str) -> EngineLog:
        return EngineLog(self._engine, urn)

    async def under_way(self, work: Coroutine[Any, Any, T]) -> T:
        """Does the work so that `stop` ends it. Raises Cancelled when that happens, after the work has cleaned up."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            return await task
        except asyncio.CancelledError:
            # When it is the engine that hung up on this request, the task has been cancelled with it.
            await undisturbed(asyncio.wait({task}))
            raise Cancelled from None

    async def stop(self) -> None:
        """Stops everything that is under way, at once, and waits until it has ended. Nothing new is begun."""
        self._cancelled = True
        others = self._under_way - {task for task in self._under_way if task is asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others)

    def _request(self, request: Any) -> Request:
        return Request(
            urn=Urn(request.urn),
            log=self.log(request.urn),
            preview=getattr(request, "preview", False),
            timeout=getattr(request, "timeout", 0) or None,
        )

    def _begin(self, request: Any) -> Request:
        """For what takes its time; raises Cancelled when the engine has asked to stop."""
        if self._cancelled:
            raise Cancelled
        return self._request(request)

    def _resource(self, request: Request) -> ResourceKind:
        if (resource := self._resources.get(request.urn.type)) is None:
            raise InputError(Problem(f"xmgen has no resource {request.urn.type}"))
        return resource

    # The provider itself

    @_answering
    async def Handshake(self, request: Any, context: Context) -> provider_pb2.ProviderHandshakeResponse:
        self._attach(request.engine_address)
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, accept_resources=False, accept_outputs=False)

    @_answering
    async def Attach(self, request: Any, context: Context) -> empty_pb2.Empty:
        self._attach(request.address)
        return empty_pb2.Empty()

    @_answering
    async def GetPluginInfo(self, request: Any, context: Context) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=__version__)

    @_answering
    async def GetSchema(self, request: Any, context: Context) -> provider_pb2.GetSchemaResponse:
        schema = json.loads(Path(__file__).with_name("schema.json").read_text(encoding="utf-8"))
        return provider_pb2.GetSchemaResponse(schema=json.dumps({**schema, "version": __version__}))

    @_answering
    async def CheckConfig(self, request: Any, context: Context) -> provider_pb2.CheckResponse:
        _, problems = settings.read(_plain(request.news))
        return provider_pb2.CheckResponse(inputs=request.news, failures=_failures(problems))

    @_answering
    async def DiffConfig(self, request: Any, context: Context) -> provider_pb2.DiffResponse:
        # Never a replacement: that would run every finished trial again.
        changed = _plain(request.old_inputs) != _plain(request.news)
        return _diff_response(Difference(changes={"settings": "update"} if changed else {}), detailed=False)

    @_answering
    async def Configure(self, request: Any, context: Context) -> provider_pb2.ConfigureResponse:
        self._settings, problems = settings.read(_plain(request.args))
        if problems:
            raise InputError(*problems.values())
        self._configure(self._settings)
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=False, acceptOutputs=False
        )

    @_answering
    async def Cancel(self, request: Any, context: Context) -> empty_pb2.Empty:
        await self.stop()
        return empty_pb2.Empty()

    # Resources

    @_answering
    async def Check(self, request: Any, context: Context) -> provider_pb2.CheckResponse:
        about = self._request(request)
        olds = wire.properties(request.olds) if request.HasField("olds") else None
        problems = await self._resource(about).check(about, wire.properties(request.news), olds)
        return provider_pb2.CheckResponse(inputs=request.news, failures=_failures(problems))

    @_answering
    async def Diff(self, request: Any, context: Context) -> provider_pb2.DiffResponse:
        about = self._request(request)
        news, olds, state = (wire.properties(part) for part in (request.news, request.old_inputs, request.olds))
        return _diff_response(await self._resource(about).diff(about, news, olds, state))

    @_answering
    async def Create(self, request: Any, context: Context) -> provider_pb2.CreateResponse:
        about = self._begin(request)
        state = await self._resource(about).create(about, wire.properties(request.properties))
        await _abort_if_failed(state, request.properties, context)
        return provider_pb2.CreateResponse(id=state.id, properties=wire.struct(state.outputs))

    @_answering
    async def Read(self, request: Any, context: Context) -> provider_pb2.ReadResponse:
        about = self._request(request)
        inputs, old = wire.properties(request.inputs), wire.properties(request.properties)
        state = await self._resource(about).read(about, request.id, inputs, old)
        if state is None:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(
            id=state.id, properties=wire.struct(state.outputs), inputs=wire.struct(state.inputs or {})
        )

    @_answering
    async def Update(self, request: Any, context: Context) -> provider_pb2.UpdateResponse:
        about = self._begin(request)
        news, olds, old = (wire.properties(part) for part in (request.news, request.old_inputs, request.olds))
        state = await self._resource(about).update(about, request.id, news, olds, old)
        await _abort_if_failed(state, request.news, context)
        return provider_pb2.UpdateResponse(properties=wire.struct(state.outputs))

    @_answering
    async def Delete(self, request: Any, context: Context) -> empty_pb2.Empty:
        about = self._request(request)
        inputs, state = wire.properties(request.old_inputs), wire.properties(request.properties)
        await self._resource(about).delete(about, request.id, inputs, state)
        return empty_pb2.Empty()


def _plain(struct: Any) -> wire.Properties:
    return cast("wire.Properties", wire.plain(wire.properties(struct)))


def _failures(problems: Mapping[str, Problem]) -> list[provider_pb2.CheckFailure]:
    return [provider_pb2.CheckFailure(property=path, reason=str(problem)) for path, problem in problems.items()]


def _diff_response(difference: Difference, *, detailed: bool = True) -> provider_pb2.DiffResponse:
    response = provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if difference.changes else provider_pb2.DiffResponse.DIFF_NONE,
        replaces=sorted(difference.replaces),
        diffs=sorted({path.partition(".")[0].partition("[")[0] for path in difference.changes}),
        deleteBeforeReplace=bool(difference.replaces),
        hasDetailedDiff=detailed,
    )
    if detailed:
        for path, change in difference.changes.items():
            kind = _KINDS[change, path in difference.replaces]
            detail = provider_pb2.PropertyDiff(kind=kind, inputDiff=not difference.of_outputs)
            response.detailedDiff[path].CopyFrom(detail)
    return response


async def _abort_if_failed(state: State, inputs: Any, context: Context) -> None:
    """A resource that exists and failed: the protocol's way to have it in the state all the same."""
    if not state.reasons:
        return
    detail = provider_pb2.ErrorResourceInitFailed(
        id=state.id, properties=wire.struct(state.outputs), inputs=inputs, reasons=state.reasons
    )
    message = state.reasons[0].partition("\n")[0]
    code = grpc.StatusCode.FAILED_PRECONDITION
    status = status_pb2.Status(code=cast("tuple[int, str]", code.value)[0], message=message)
    status.details.add().Pack(detail)
    await context.abort(code, message, trailing_metadata=(("grpc-status-details-bin", status.SerializeToString()),))


async def serve(engine: str | None, root: Path) -> None:
    """Serves until the engine closes us, or is gone."""
    # Threads wait for containers and files; there are as many as units run at a time.
    from concurrent.futures import ThreadPoolExecutor

    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(max_workers=1024))
    provider = Provider(root, engine)
    server = grpc.aio.server(options=OPTIONS)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, cast("grpc.Server", server))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)  # how the engine learns where to call
    await _closed()
    await provider.stop()
    await server.stop(0)


async def _closed() -> None:
    """Until the engine asks us to end. When it is gone without a word we end at once: the watchdog cleans up."""
    import signal

    loop = asyncio.get_running_loop()
    closed = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, closed.set)
    parent = os.getppid()
    try:
        engine = os.pidfd_open(parent)
    except (AttributeError, OSError):
        engine = None
    if engine is None:
        # No such file descriptors on this system.
        while not closed.is_set() and os.getppid() == parent:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(closed.wait(), timeout=1)
    else:
        loop.add_reader(engine, closed.set)
        if os.getppid() == parent:
            await closed.wait()
    if os.getppid() != parent:
        os._exit(1)
