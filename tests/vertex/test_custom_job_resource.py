"""What the provider makes of CustomJobs, and how it talks to the API: without an engine."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.vertex import protos
from tests.vertex.job_service import TOKEN, Fault, JobService
from tests.vertex.project import job as arguments
from xmgen.errors import OperationError
from xmgen.provider import custom_job, custom_job_api, custom_job_shape
from xmgen.provider.custom_job import CustomJobResource
from xmgen.provider.resource import Difference, Request, Urn
from xmgen.provider.settings import Settings
from xmgen.provider.wire import UNKNOWN

URN = Urn("urn:pulumi:dev::experiments::xmgen:vertex:CustomJob::a")


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
    settings = Settings(
        vertex_endpoint=service.address if service else "", access_token=TOKEN, vertex_poll_seconds=0.01
    )

    async def whole() -> Any:
        return await work(CustomJobResource(settings))

    return asyncio.run(whole())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(custom_job_api, "_FIRST_DELAY", 0.01)


def problems(values: dict[str, Any]) -> dict[str, str]:
    found = run(lambda resource: resource.check(REQUEST, values, None))
    return {path: f"{problem.message} | {problem.hint}" for path, problem in found.items()}


POOL = "jobSpec.workerPoolSpecs[0]"
POOLS = "jobSpec.workerPoolSpecs"
SECOND = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 3, "containerSpec": {"imageUri": "a"}}
V5E = {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "4x4"}
TPU_V3 = {"machineType": "cloud-tpu", "acceleratorType": "TPU_V3"}
T4 = "NVIDIA_TESLA_T4"


def gpu(machine: str, kind: str, count: int) -> dict[str, Any]:
    return {"machineType": machine, "acceleratorType": kind, "acceleratorCount": count}


@pytest.mark.parametrize(
    "values",
    [
        inputs(),
        inputs(wait=True, labels={"team": "vision-2", "x": ""}),
        inputs(spec={"workerPoolSpecs": [inputs()["jobSpec"]["workerPoolSpecs"][0], {}, SECOND]}),
        inputs(pool={"replicaCount": "1", "diskSpec": {"bootDiskSizeGb": 64000}}),
        inputs(machine=gpu("n1-highmem-8", T4, 4)),
        inputs(machine=gpu("a2-highgpu-4g", "NVIDIA_TESLA_A100", 4)),
        inputs(machine=gpu("g2-standard-24", "NVIDIA_L4", 2)),
        inputs(machine=V5E),
        inputs(machine={**TPU_V3, "acceleratorCount": 64}),
        inputs(machine={"machineType": "e2-standard-4"}),  # not in the catalog: the API decides
        inputs(machine={"machineType": UNKNOWN}, displayName=UNKNOWN, project=UNKNOWN),
        inputs(spec={"baseOutputDirectory": {"outputUriPrefix": UNKNOWN}}),
        inputs(jobSpec=UNKNOWN),
        inputs(spec={"scheduling": {"strategy": "FLEX_START", "maxWaitDuration": "0s", "timeout": "3.5s"}}),
        inputs(spec={"serviceAccount": "a@b.iam", "tensorboard": "projects/1/locations/us-central1/tensorboards/2"}),
    ],
)
def test_what_the_api_takes_is_taken(values: dict[str, Any]):
    assert problems(values) == {}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (inputs(displayname="x"), {"displayname": "unknown field 'displayname' | did you mean 'displayName'?"}),
        (
            inputs(spec={"scheduling": {"strategie": "SPOT"}}),
            {"jobSpec.scheduling.strategie": "unknown field 'strategie' | did you mean 'strategy'?"},
        ),
        (
            inputs(spec={"scheduling": {"strategy": "SPOTT"}}),
            {
                "jobSpec.scheduling.strategy": "must be one of the names that the API knows, not 'SPOTT' | "
                "did you mean 'SPOT'?"
            },
        ),
        (
            inputs(spec={"scheduling": {"timeout": "1h"}}),
            {"jobSpec.scheduling.timeout": "must be seconds with an `s`, such as '3600s', not '1h' | "},
        ),
        (inputs(spec={"enableWebAccess": "yes"}), {"jobSpec.enableWebAccess": "must be true or false, not 'yes' | "}),
        (
            inputs(pool={"containerSpec": {"imageUri": "a", "args": "--x"}}),
            {f"{POOL}.containerSpec.args": "must be a list, not '--x' | "},
        ),
        (
            inputs(pool={"containerSpec": {"imageUri": "a", "args": [1]}}),
            {f"{POOL}.containerSpec.args[0]": "must be a text, not 1 | "},
        ),
        (
            inputs(pool={"containerSpec": {"imageUri": "a", "env": [{"name": "A-B", "value": ""}]}}),
            {f"{POOL}.containerSpec.env[0].name": "must be a C identifier, not 'A-B' | "},
        ),
        (
            inputs(labels={"Team": "x"}),
            {
                "labels.Team": "'Team' is no name of a label | "
                "a lower-case letter, then lower-case letters, digits, `-`, `_`"
            },
        ),
        (inputs(region=""), {"region": "is missing | pulumi config set gcp:region"}),
        (inputs(region="us-central1-a"), {"region": "'us-central1-a' is no region of Google Cloud | "}),
        (inputs(displayName=""), {"displayName": "must be 1 to 128 characters, not '' | "}),
        (inputs(spec={"workerPoolSpecs": []}), {POOLS: "a CustomJob needs at least one worker pool | "}),
        (
            inputs(spec={"workerPoolSpecs": [inputs()["jobSpec"]["workerPoolSpecs"][0], *[SECOND] * 4]}),
            {POOLS: "5 worker pools are too many | at most 4"},
        ),
        (
            inputs(pool={"replicaCount": 2}),
            {f"{POOL}.replicaCount": "the first worker pool has one replica, not 2 | put the others into a second"},
        ),
        (
            inputs(pool={"pythonPackageSpec": {"pythonModule": "a"}}),
            {POOL: "a worker pool has either a containerSpec or a pythonPackageSpec | "},
        ),
        (
            inputs(pool={"diskSpec": {"bootDiskSizeGb": 99}}),
            {f"{POOL}.diskSpec.bootDiskSizeGb": "a boot disk of 99 GB cannot be had | 100 to 64000"},
        ),
        (
            inputs(machine=gpu("n1-standard-32", T4, 1)),
            {f"{POOL}.machineSpec.acceleratorCount": f"n1-standard-32 does not take 1 x {T4} | allowed: 2, 4"},
        ),
        (
            inputs(machine=gpu("n1-standard-4", "NVIDIA_A100_80GB", 1)),
            {
                f"{POOL}.machineSpec.machineType": "n1-standard-4 takes no NVIDIA_A100_80GB | "
                "allowed: a2-ultragpu-1g, a2-ultragpu-2g, a2-ultragpu-4g, a2-ultragpu-8g"
            },
        ),
        (
            inputs(machine=gpu("a2-highgpu-4g", "NVIDIA_TESLA_A100", 3)),
            {
                f"{POOL}.machineSpec.acceleratorType": "a2-highgpu-4g does not come with 3 x NVIDIA_TESLA_A100 | "
                "acceleratorType: NVIDIA_TESLA_A100, acceleratorCount: 4"
            },
        ),
        (
            inputs(machine={**V5E, "tpuTopology": "3x3"}),
            {
                f"{POOL}.machineSpec.tpuTopology": "ct5lp-hightpu-4t has no topology 3x3 | "
                "allowed: 1x1, 2x2, 2x4, 4x4, 4x8, 8x8, 8x16, 16x16"
            },
        ),
        (
            inputs(machine={**TPU_V3, "acceleratorCount": 16}),
            {f"{POOL}.machineSpec.acceleratorCount": "TPU_V3 has no slice of 16 cores | allowed: 8, multiples of 32"},
        ),
        (
            inputs(
                spec={
                    "workerPoolSpecs": [
                        {**inputs()["jobSpec"]["workerPoolSpecs"][0], "machineSpec": V5E},
                        {**SECOND, "replicaCount": 1},
                    ]
                }
            ),
            {POOLS: "a job on TPUs has one worker pool | make the other jobs work units of their own"},
        ),
        (
            inputs(spec={"tensorboard": "projects/1/locations/us-central1/tensorboards/2"}),
            {"jobSpec.serviceAccount": "a job that writes to a TensorBoard needs a service account of its own | "},
        ),
        (
            inputs(
                machine={
                    **gpu("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1),
                    "reservationAffinity": {"reservationAffinityType": "SPECIFIC_RESERVATION"},
                }
            ),
            {f"{POOL}.machineSpec.reservationAffinity": "a specific reservation needs `key` and `values` | "},
        ),
    ],
)
def test_what_the_api_refuses_is_refused_with_what_is_right(values: dict[str, Any], found: dict[str, str]):
    assert problems(values) == found


def test_the_shape_is_that_of_the_official_messages(service: JobService):
    """Field by field: names, types and the enums' names. What the API fills in is no input."""
    filled_in = {"name", "state", "createTime", "startTime", "endTime", "updateTime", "error", "webAccessUris"}
    filled_in |= {"satisfiesPzs", "satisfiesPzi"}

    def ours(known: custom_job_shape.Shape) -> Any:
        match known:
            case custom_job_shape.Message(fields):
                return {name: ours(each) for name, each in fields.items()}
            case custom_job_shape.Many(each):
                return {"many": ours(each)}
            case custom_job_shape.Text():
                return "text"
            case custom_job_shape.Whole(bits):
                return bits
            case custom_job_shape.Flag():
                return "flag"
            case custom_job_shape.Labels():
                return "labels"
            case custom_job_shape.Choice(names):
                return list(names)

    theirs = protos.shape()
    assert filled_in <= theirs.keys()
    assert ours(custom_job_shape.CUSTOM_JOB) == {name: theirs[name] for name in theirs.keys() - filled_in}


@pytest.mark.parametrize("field", ["jobSpecs", "labels.x", "jobSpec.enableWebAccess"])
def test_the_service_of_the_tests_refuses_what_the_messages_refuse(service: JobService, field: str):
    body: dict[str, Any] = {"displayName": "x", "jobSpec": {}}
    name, _, below = field.partition(".")
    body[name] = {below: []} if below else 1
    with pytest.raises(protos.ParseError):
        protos.parsed(body)


def diff(before: dict[str, Any], after: dict[str, Any], **state: Any) -> Difference:
    return run(lambda resource: resource.diff(REQUEST, after, before, {"state": "JOB_STATE_RUNNING", **state}))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"displayName": "other"}, "displayName"),
        ({"labels": {"a": "b"}}, "labels"),
        ({"region": "europe-west4"}, "region"),
        ({"project": "other"}, "project"),
        ({"encryptionSpec": {"kmsKeyName": "k"}}, "encryptionSpec"),
        ({"spec": {"scheduling": {"timeout": "60s"}}}, "jobSpec.scheduling"),
        ({"pool": {"diskSpec": {"bootDiskSizeGb": 200}}}, f"{POOL}.diskSpec"),
    ],
)
def test_every_change_replaces(change: dict[str, Any], path: str):
    found = diff(inputs(), inputs(**change))
    assert (set(found.changes), found.replaces) == ({path}, {path})


@pytest.mark.parametrize(
    "change",
    [
        {"wait": False},
        {"labels": {}},
        {"spec": {"scheduling": {"strategy": "STANDARD", "timeout": "604800s", "restartJobOnWorkerRestart": False}}},
        {"pool": {"replicaCount": "1", "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}}},
    ],
)
def test_the_apis_own_defaults_are_no_change(change: dict[str, Any]):
    assert diff(inputs(), inputs(**change)) == Difference()


AGAIN = Difference(changes={"state": "update"}, replaces=frozenset({"state"}), of_outputs=True)


@pytest.mark.parametrize(
    ("wait", "state", "found"),
    [
        (False, "JOB_STATE_FAILED", Difference()),
        (True, "JOB_STATE_FAILED", AGAIN),
        (True, "JOB_STATE_CANCELLED", AGAIN),
        (True, "JOB_STATE_SUCCEEDED", Difference()),
        (True, "JOB_STATE_RUNNING", Difference()),
        (False, custom_job.LOST, AGAIN),
    ],
)
def test_when_an_unchanged_job_is_run_again(wait: bool, state: str, found: Difference):
    assert diff(inputs(wait=wait), inputs(wait=wait), state=state) == found


@pytest.mark.parametrize(
    "fault",
    [
        *(Fault(method="POST", status=status, times=3) for status in (429, 502, 503, 504)),
        Fault(method="POST", lost=True, times=1),
        Fault(method="GET", status=503, times=7),
        Fault(method="GET", lost=True, times=2),
    ],
    ids=lambda fault: f"{fault.method} {fault.status or 'lost'}",
)
def test_what_may_go_better_is_tried_again_and_submitted_once(service: JobService, fault: Fault):
    service.faults.append(copy.copy(fault))
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert (list(service.jobs), len(service.bodies), service.faults[0].times) == ([state.id], 1, 0)


@pytest.mark.parametrize("status", [400, 403, 404, 409, 500])
def test_what_is_refused_is_asked_once(service: JobService, status: int):
    service.faults.append(Fault(method="POST", status=status, times=9))
    with pytest.raises(OperationError, match=f"Vertex AI answers {status}: as the test wants it"):
        run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert (service.faults[0].times, service.jobs) == (8, {})


def test_what_does_not_go_better_ends_with_what_was_said_last(service: JobService):
    service.faults.append(Fault(method="POST", status=429, times=99))
    with pytest.raises(OperationError, match="asked 8 times: as the test wants it"):
        run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert service.faults[0].times == 99 - custom_job_api.ATTEMPTS


def test_the_label_is_the_same_for_the_same_job_only(service: JobService):
    place = custom_job_api.Place("acme", "us-central1")
    labels = {
        custom_job_api.submission(urn, where, body)
        for urn, where, body in [
            (URN.text, place, {"displayName": "a"}),
            (URN.text, place, {"displayName": "a"}),
            (f"{URN.text}-2", place, {"displayName": "a"}),
            (URN.text, place, {"displayName": "b"}),
            (URN.text, custom_job_api.Place("other", "us-central1"), {"displayName": "a"}),
        ]
    }
    assert len(labels) == 4
    assert problems(inputs(labels={custom_job_api.LABEL: next(iter(labels))})) == {}


def test_a_job_that_ends_while_it_is_cancelled_is_deleted_all_the_same(service: JobService):
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.become("JOB_STATE_RUNNING")
    service.faults.append(Fault(method="POST", ends=":cancel", status=400))
    service.coming = ("JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED")
    run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert service.jobs == {}
