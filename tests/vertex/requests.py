"""What is asked of the provider of CustomJobs, without an engine."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any

from tests.vertex.job_service import TOKEN, JobService
from tests.vertex.project import job as arguments
from xmgen.provider.custom_job import CustomJobResource
from xmgen.provider.resource import Request
from xmgen.provider.settings import Settings
from xmgen.urns import Urn

URN = Urn("urn:pulumi:dev::experiments::xmgen:vertex:CustomJob::a")
POOL = "jobSpec.workerPoolSpecs[0]"
POOLS = "jobSpec.workerPoolSpecs"
ENDED = [f"JOB_STATE_{state}" for state in ("CANCELLED", "EXPIRED", "FAILED", "PARTIALLY_SUCCEEDED", "SUCCEEDED")]


class Log:
    async def info(self, text: str) -> None: ...
    async def warning(self, text: str) -> None: ...
    async def status(self, text: str) -> None: ...


REQUEST = Request(urn=URN, log=Log())


def inputs(**changes: Any) -> dict[str, Any]:
    """A job's inputs. changes: of the inputs; `pool`: of the first worker pool; `machine`: its machine."""
    pool, machine = changes.pop("pool", {}), changes.pop("machine", {})
    result = copy.deepcopy(arguments(display_name="train"))
    first = result["job_spec"]["workerPoolSpecs"][0]
    first.update(pool)
    first["machineSpec"] = machine or first["machineSpec"]
    spec = {**result["job_spec"], **changes.pop("spec", {})}
    return {"displayName": "train", "jobSpec": spec, "project": "acme", "region": "us-central1", **changes}


def run(work: Callable[[CustomJobResource], Awaitable[Any]], service: JobService | None = None) -> Any:
    """What comes of it; of what asks no API, without a service."""
    settings = Settings(
        vertex_endpoint=service.address if service else "", access_token=TOKEN, vertex_poll_seconds=0.01
    )

    async def whole() -> Any:
        return await work(CustomJobResource(settings))

    return asyncio.run(whole())


def problems(values: dict[str, Any]) -> dict[str, str]:
    """What a preview finds wrong with inputs, by their paths."""
    found = run(lambda resource: resource.check(REQUEST, values, None))
    return {path: f"{problem.message} | {problem.hint}" for path, problem in found.items()}


def gpu(machine: str, kind: str, count: int) -> dict[str, Any]:
    return {"machineType": machine, "acceleratorType": kind, "acceleratorCount": count}
