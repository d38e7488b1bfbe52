"""What the provider makes of CustomJobs, and how it talks to the API: without an engine."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.harness import until
from tests.vertex import protos
from tests.vertex.job_service import TOKEN, Fault, JobService
from tests.vertex.project import job as arguments
from xmgen.errors import OperationError, Problem
from xmgen.provider import custom_job, custom_job_api, custom_job_shape
from xmgen.provider.custom_job import CustomJobResource
from xmgen.provider.resource import Difference, Request
from xmgen.provider.settings import Settings
from xmgen.provider.wire import SECRET, SIGNATURE, UNKNOWN
from xmgen.urns import Urn

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


A100 = gpu("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1)
FLEX = {"scheduling": {"strategy": "FLEX_START", "maxWaitDuration": "0s", "timeout": "604800s"}}
SPOT = {"scheduling": {"strategy": "SPOT"}}
BOARD = "projects/1/locations/us-central1/tensorboards/2"


def pool(machine: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"machineSpec": machine, "replicaCount": 1, "containerSpec": {"imageUri": "a"}, **changes}


def reserved(zone: str) -> dict[str, Any]:
    affinity = {"reservationAffinityType": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name"}
    return {**A100, "reservationAffinity": {**affinity, "values": [f"projects/p/zones/{zone}/reservations/r"]}}


def variables(count: int) -> list[dict[str, str]]:
    return [{"name": f"A{number}", "value": ""} for number in range(count)]


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
        inputs(spec=FLEX, machine=A100),
        inputs(spec={**FLEX, "workerPoolSpecs": [pool(A100), {}, pool(A100, replicaCount=3)]}),
        inputs(spec=FLEX, machine={"machineType": "new-machine-1g"}),
        inputs(spec=SPOT, machine={**V5E, "tpuTopology": "2x2"}),
        inputs(region=UNKNOWN, spec={"tensorboard": BOARD, "serviceAccount": "a@b.iam"}),
        inputs(wait=UNKNOWN, after={"a": UNKNOWN}, labels={"owner": f"OF-{UNKNOWN}"}),
        inputs(after=UNKNOWN),
        inputs(machine=gpu("n1-standard-64", T4, 1)),  # a row of Vertex AI's table that cannot be read with certainty
        inputs(machine=V5E, spec={"tensorboard": BOARD}),
        inputs(machine=reserved("us-central1-b")),
        inputs(pool={"containerSpec": {"imageUri": "a", "env": variables(100)}}),
        inputs(labels={f"label-{number}": "x" for number in range(63)}),
        inputs(spec={"network": "projects/123/global/networks/ours"}),
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
        (
            inputs(region=""),
            {
                "region": "is missing | "
                "`xmgen up dev --set gcp:region=…`, or `pulumi config set gcp:region … --stack dev`"
            },
        ),
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
        (inputs(wait="yes"), {"wait": "must be true or false | "}),
        (inputs(after=["a"]), {"after": "must be a mapping of resources' names to jobs' names | "}),
        (
            inputs(spec={"workerPoolSpecs": [{}, SECOND]}),
            {POOL: "the first worker pool must not be empty | "},
        ),
        (
            inputs(spec={"workerPoolSpecs": [pool(A100), {**SECOND, "replicaCount": 0}]}),
            {f"{POOLS}[1].replicaCount": "a worker pool has at least one replica | "},
        ),
        (
            inputs(spec={"workerPoolSpecs": [pool(A100), pool(V5E, replicaCount=2)]}),
            {
                f"{POOLS}[1].replicaCount": "a job on TPUs has one replica, not 2 | ",
                POOLS: "a job on TPUs has one worker pool | make the other jobs work units of their own",
            },
        ),
        (inputs(pool={"containerSpec": {}}), {f"{POOL}.containerSpec.imageUri": "is missing | "}),
        (
            inputs(pool={"containerSpec": {"imageUri": "a", "env": variables(101)}}),
            {f"{POOL}.containerSpec.env": "101 variables are too many | at most 100"},
        ),
        (
            inputs(pool={"containerSpec": {"imageUri": "a", "env": [*variables(1), *variables(1)]}}),
            {f"{POOL}.containerSpec.env": "two variables are called A0 | "},
        ),
        (
            inputs(spec={"workerPoolSpecs": [{"replicaCount": 1, "containerSpec": {"imageUri": "a"}}]}),
            {f"{POOL}.machineSpec": "is missing | "},
        ),
        (inputs(machine={"machineType": ""}), {f"{POOL}.machineSpec.machineType": "is missing | "}),
        (
            inputs(machine={"machineType": "n1-standard-4", "acceleratorType": T4}),
            {f"{POOL}.machineSpec.acceleratorCount": "acceleratorType and acceleratorCount go together | "},
        ),
        (
            inputs(machine={"machineType": "a4x-maxgpu-4g-metal"}),
            {f"{POOL}.machineSpec.machineType": "Vertex AI has no custom jobs on a4x-maxgpu-4g-metal | "},
        ),
        (
            inputs(machine={"machineType": "a2-highgpu-1g"}),
            {
                f"{POOL}.machineSpec.acceleratorType": "a2-highgpu-1g comes with GPUs | "
                "acceleratorType: NVIDIA_TESLA_A100, acceleratorCount: 1"
            },
        ),
        (
            inputs(machine=gpu("n1-standart-4", T4, 1)),
            {f"{POOL}.machineSpec.machineType": f"n1-standart-4 takes no {T4} | did you mean 'n1-standard-4'?"},
        ),
        (
            inputs(machine={**V5E, "acceleratorType": "TPU_V5_LITEPOD", "acceleratorCount": 4}),
            {
                f"{POOL}.machineSpec.acceleratorType": "ct5lp-hightpu-4t takes no acceleratorType | "
                "tpuTopology says how many chips"
            },
        ),
        (
            inputs(machine={"machineType": "cloud-tpu"}),
            {f"{POOL}.machineSpec.acceleratorType": "cloud-tpu needs an accelerator | one of TPU_V2, TPU_V3"},
        ),
        (
            inputs(labels={f"label-{number}": "x" for number in range(64)}),
            {"labels": "64 labels are too many | at most 63; xmgen adds one of its own"},
        ),
        (
            inputs(labels={"team": "Vision"}),
            {"labels.team": "'Vision' is no value of a label | at most 63 lower-case letters, digits, `-` and `_`"},
        ),
        (
            inputs(pool={"replicaCount": 2**63}),
            {f"{POOL}.replicaCount": f"must be a whole number of 64 bits, not {2**63} | "},
        ),
        (inputs(pool={"replicaCount": True}), {f"{POOL}.replicaCount": "must be a whole number, not True | "}),
        (
            inputs(spec={"network": "projects/acme/global/networks/ours"}),
            {
                "jobSpec.network": "must be projects/<project number>/global/networks/<network>, "
                "not 'projects/acme/global/networks/ours' | "
            },
        ),
        (
            inputs(spec={"tensorboard": BOARD, "serviceAccount": "a@b.iam"}, region="europe-west4"),
            {
                "jobSpec.tensorboard": "is in us-central1, but the job runs in europe-west4 | "
                "a TensorBoard of the same region"
            },
        ),
        (
            inputs(machine=reserved("us-east1-b")),
            {
                f"{POOL}.machineSpec.reservationAffinity.values": "the reservation is in us-east1-b, but the job runs "
                "in us-central1 | a reservation in a zone of the same region"
            },
        ),
        (
            inputs(spec=FLEX),
            {"jobSpec.scheduling.strategy": "Vertex AI has no n1-standard-4 with FLEX_START | "},
        ),
        (
            inputs(spec=FLEX, machine=V5E),
            {"jobSpec.scheduling.strategy": "Vertex AI has no ct5lp-hightpu-4t 4x4 with FLEX_START | "},
        ),
        (
            inputs(spec={"scheduling": {**FLEX["scheduling"], "timeout": "604801s"}}, machine=A100),
            {"jobSpec.scheduling.timeout": "a job with FLEX_START runs for at most 604800s | "},
        ),
        (
            inputs(spec={**FLEX, "workerPoolSpecs": [pool(A100), pool(gpu("a2-highgpu-2g", "NVIDIA_TESLA_A100", 2))]}),
            {"jobSpec.scheduling.strategy": "FLEX_START takes worker pools of the same machines only | "},
        ),
        (
            inputs(spec=SPOT, machine=V5E),
            {"jobSpec.scheduling.strategy": "Vertex AI has no ct5lp-hightpu-4t 4x4 with SPOT | "},
        ),
    ],
)
def test_what_the_api_refuses_is_refused_with_what_is_right(values: dict[str, Any], found: dict[str, str]):
    assert problems(values) == found


def test_a_secret_is_not_told_when_it_is_wrong():
    values = inputs(labels={"key": {SIGNATURE: SECRET, "value": "Hunter2!"}})
    assert problems(values) == {
        "labels.key": "'[secret]' is no value of a label | at most 63 lower-case letters, digits, `-` and `_`"
    }


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
        ({"pool": {"diskSpec": {"bootDiskType": "hyperdisk-balanced"}}}, f"{POOL}.diskSpec"),
        ({"after": {"b": "projects/1/locations/us-central1/customJobs/2"}}, "after"),
        ({"spec": {"workerPoolSpecs": [inputs()["jobSpec"]["workerPoolSpecs"][0], {}]}}, POOLS),
        (
            {"pool": {"containerSpec": {**inputs()["jobSpec"]["workerPoolSpecs"][0]["containerSpec"], "args": [""]}}},
            f"{POOL}.containerSpec.args[0]",
        ),
    ],
)
def test_every_change_replaces(change: dict[str, Any], path: str):
    found = diff(inputs(), inputs(**change))
    assert (set(found.changes), found.replaces) == ({path}, {path})


def test_the_only_disk_that_a_machine_boots_from_is_no_change():
    machine = gpu("a3-ultragpu-8g", "NVIDIA_H200_141GB", 8)
    read = {"bootDiskType": "hyperdisk-balanced", "bootDiskSizeGb": 100}
    assert diff(inputs(machine=machine, pool={"diskSpec": read}), inputs(machine=machine)) == Difference()


@pytest.mark.parametrize(
    "change",
    [
        {"wait": False},
        {"labels": {}},
        {"spec": {"scheduling": {"strategy": "STANDARD", "timeout": "604800s", "restartJobOnWorkerRestart": False}}},
        {"spec": {"scheduling": {"maxWaitDuration": "86400s"}}},
        {"pool": {"replicaCount": "1", "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}}},
        {"spec": {"network": ""}},
    ],
)
def test_the_apis_own_defaults_are_no_change(change: dict[str, Any]):
    assert diff(inputs(), inputs(**change)) == Difference()


AGAIN = Difference(changes={"state": "update"}, replaces=frozenset({"state"}), of_outputs=True)


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("JOB_STATE_FAILED", AGAIN),
        ("JOB_STATE_EXPIRED", AGAIN),
        ("JOB_STATE_PARTIALLY_SUCCEEDED", AGAIN),
        # Whoever cancelled it: what was stopped goes on with the next `up` wherever it runs.
        ("JOB_STATE_CANCELLED", AGAIN),
        (custom_job.LOST, AGAIN),
        ("JOB_STATE_SUCCEEDED", Difference()),
        ("JOB_STATE_PENDING", Difference()),
        ("JOB_STATE_RUNNING", Difference()),
        ("JOB_STATE_CANCELLING", Difference()),
    ],
)
@pytest.mark.parametrize("wait", [False, True])
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
            (URN.text, place, {"labels": {"a": "b"}, "displayName": "a"}),
            (URN.text, place, {"displayName": "a", "labels": {"a": "b"}}),
            (f"{URN.text}-2", place, {"displayName": "a"}),
            (URN.text, place, {"displayName": "b"}),
            (URN.text, custom_job_api.Place("other", "us-central1"), {"displayName": "a"}),
        ]
    }
    assert len(labels) == 5
    assert problems(inputs(labels={custom_job_api.LABEL: next(iter(labels))})) == {}


def test_a_job_that_ends_while_it_is_cancelled_is_deleted_all_the_same(service: JobService):
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.become("JOB_STATE_RUNNING")
    service.faults.append(Fault(method="POST", ends=":cancel", status=400))
    service.coming = ("JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED")
    run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert service.jobs == {}


@pytest.mark.parametrize(
    "fault",
    [Fault(method="POST", ends=":cancel", evicts=True), Fault(method="DELETE", evicts=True)],
    ids=["cancelled", "deleted"],
)
def test_a_job_that_vanishes_while_it_is_deleted_is_deleted(service: JobService, fault: Fault):
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.faults.append(copy.copy(fault))
    run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert (service.jobs, service.faults[0].times) == ({}, 0)


def test_a_job_that_cannot_be_cancelled_is_told_of(service: JobService):
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.faults.append(Fault(method="POST", ends=":cancel", status=400, times=99))
    with pytest.raises(OperationError, match="Vertex AI answers 400: as the test wants it"):
        run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert service.states() == ["JOB_STATE_RUNNING"]


def test_a_cancellation_that_was_accepted_is_waited_for_whatever_is_said_to_the_next():
    class Slow:
        """Says for a while that a job runs that it is about to cancel."""

        looks = iter([*(["JOB_STATE_RUNNING"] * 6), "JOB_STATE_CANCELLED"])
        answers = iter([None, *(custom_job_api.Refused(400, Problem("cancelled already")) for _ in range(5))])

        async def get(self, name: str) -> dict[str, Any]:
            return {"state": next(self.looks)}

        async def cancel(self, name: str) -> custom_job_api.Refused | None:
            return next(self.answers)

        async def delete(self, name: str) -> None: ...

    async def delete(resource: CustomJobResource) -> None:
        resource._service = Slow()  # type: ignore[assignment]
        await resource.delete(REQUEST, "a job", {}, {})

    run(delete)


def test_looks_at_what_is_soon_over_come_less_and_less_often(service: JobService, monkeypatch: pytest.MonkeyPatch):
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async def delete() -> None:
        resource = CustomJobResource(Settings(vertex_endpoint=service.address, access_token=TOKEN))
        state = await resource.create(REQUEST, inputs())
        monkeypatch.setattr(custom_job.asyncio, "sleep", sleep)
        await resource.delete(REQUEST, state.id, inputs(), state.outputs)

    service.cancelling = 5
    asyncio.run(delete())
    assert waited == [1, 2, 4, 8, 15, 15, 15]


def test_a_cancellation_that_takes_its_time_is_asked_for_once(service: JobService):
    service.cancelling = 4
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert (service.jobs, service.count("POST", "customJobs:cancel")) == ({}, 1)


def test_deleting_no_longer_than_the_timeout(service: JobService):
    service.cancelling = 10**6
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    hurried = replace(REQUEST, timeout=0.1)
    with pytest.raises(OperationError, match=r"0\.1 s are over, and the job is not deleted yet"):
        run(lambda resource: resource.delete(hurried, state.id, inputs(), state.outputs), service)


def test_a_deletion_is_followed_to_its_end(service: JobService):
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.operations = [{"done": False}, {"done": False}, {"done": True, "error": {"message": "it is locked"}}]
    with pytest.raises(OperationError, match="Vertex AI cannot delete the job: it is locked"):
        run(lambda resource: resource.delete(REQUEST, state.id, inputs(), state.outputs), service)
    assert service.operations == []


ENDED = [f"JOB_STATE_{state}" for state in ("CANCELLED", "EXPIRED", "FAILED", "PARTIALLY_SUCCEEDED", "SUCCEEDED")]


@pytest.mark.parametrize("state", ENDED)
def test_a_job_that_has_ended_is_deleted_without_a_cancellation(service: JobService, state: str):
    made = run(lambda resource: resource.create(REQUEST, inputs()), service)
    service.become(state)
    run(lambda resource: resource.delete(REQUEST, made.id, inputs(), made.outputs), service)
    assert (service.jobs, service.count("POST", "customJobs:cancel")) == ({}, 0)


# The end of a wait


@pytest.mark.parametrize("state", ENDED)
def test_a_wait_ends_with_the_job(service: JobService, state: str):
    service.coming = ("JOB_STATE_RUNNING", state)
    made = run(lambda resource: resource.create(REQUEST, inputs(wait=True)), service)
    assert made.outputs["state"] == state
    assert bool(made.reasons) == (state != custom_job.SUCCEEDED)


def test_an_api_that_does_not_answer_any_more_ends_the_wait_and_not_the_job(service: JobService):
    service.faults.append(Fault(method="GET", ends="/1", status=403, times=99))
    made = run(lambda resource: resource.create(REQUEST, inputs(wait=True)), service)
    assert made.id == next(iter(service.jobs))
    [reason] = made.reasons
    assert reason.splitlines() == [
        "not waited for to the end: Vertex AI answers 403: as the test wants it. "
        "The job goes on, and the next `pulumi up` waits for it",
        "  docs/vertex.md#roles says which roles it takes, of whoever runs `up` and of the jobs' account",
        f"  {made.outputs['consoleUrl']}",
    ]


def test_who_does_not_wait_does_not_begin_to(service: JobService):
    service.coming = ("JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED")
    made = run(lambda resource: resource.create(REQUEST, inputs()), service)
    looked = run(lambda resource: resource.update(REQUEST, made.id, inputs(), inputs(), made.outputs), service)
    assert looked.outputs["state"] == "JOB_STATE_RUNNING"


def test_a_job_that_has_ended_need_not_be_there_any_more(service: JobService):
    known = {"state": "JOB_STATE_SUCCEEDED", "error": ""}
    name = "projects/1/locations/us-central1/customJobs/2"
    waited = run(lambda resource: resource.update(REQUEST, name, inputs(wait=True), inputs(), known), service)
    assert (waited.outputs, waited.reasons) == (known, ())


# Imports


def test_an_import_has_what_would_have_made_the_job(service: JobService):
    made = run(lambda resource: resource.create(REQUEST, inputs(labels={"team": "vision"})), service)
    found = run(lambda resource: resource.read(REQUEST, made.id, {}, {}), service)
    assert found.inputs == inputs(labels={"team": "vision"}, project="123456789012")
    assert found.outputs["state"] == "JOB_STATE_PENDING"
    by_id = run(lambda resource: resource.read(REQUEST, made.id.replace("123456789012", "acme"), {}, {}), service)
    assert by_id.inputs == inputs(labels={"team": "vision"})


def test_there_is_nothing_to_import(service: JobService):
    name = "projects/1/locations/us-central1/customJobs/2"
    assert run(lambda resource: resource.read(REQUEST, name, {}, {}), service) is None


# Requests


def test_a_sweep_gets_through_although_only_so_many_are_taken_at_a_time(
    service: JobService, monkeypatch: pytest.MonkeyPatch
):
    """With eight attempts each there would be too few for all."""
    monkeypatch.setattr(custom_job_api, "_LONGEST_DELAY", 0.02)
    service.one_in = 7
    requests = [replace(REQUEST, urn=Urn(f"{URN.text}-{number}")) for number in range(20)]

    async def sweep(resource: CustomJobResource) -> list[Any]:
        return await asyncio.gather(*(resource.create(request, inputs()) for request in requests))

    made = run(sweep, service)
    assert sorted(state.id for state in made) == sorted(service.jobs)
    assert len(service.bodies) == 20


def test_between_attempts_it_waits_longer_and_longer_or_as_long_as_it_is_told(
    service: JobService, monkeypatch: pytest.MonkeyPatch
):
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(custom_job_api, "_FIRST_DELAY", 1.0)
    monkeypatch.setattr(custom_job_api.random, "uniform", lambda least, most: most)
    monkeypatch.setattr(custom_job_api.asyncio, "sleep", sleep)
    service.faults.append(Fault(method="POST", status=429, times=4))
    service.faults.append(Fault(method="POST", status=429, retry_after="25"))
    service.faults.append(Fault(method="POST", status=429, retry_after="9999"))
    service.faults.append(Fault(method="POST", status=429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"))
    run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert waited == [1, 2, 4, 8, 25, 60, 32]


def test_an_answer_that_takes_too_long_is_no_answer(service: JobService, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(custom_job_api, "_TIMEOUT", (5.0, 0.2))
    service.faults.append(Fault(method="POST", delay=1.0))
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert service.jobs[state.id]["displayName"] == "train"


class Answer:
    def __init__(self, text: str) -> None:
        self.text, self.reason = text, "Bad Request"

    def json(self) -> Any:
        return json.loads(self.text)


VIOLATION = {"field": "job_spec", "description": "is too long"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"error": {"message": "no"}}', "no"),
        ('{"error": {"status": "INVALID_ARGUMENT"}}', "INVALID_ARGUMENT"),
        (
            json.dumps({"error": {"message": "no", "details": [{"fieldViolations": [VIOLATION]}]}}),
            "no\n  job_spec: is too long",
        ),
        ("<html>\n<body>Log in", "<html>"),
        ("[]", "[]"),
        ("", "Bad Request"),
    ],
)
def test_what_an_answer_says(text: str, message: str):
    assert custom_job_api._message(Answer(text)) == message


@pytest.mark.parametrize(
    ("status", "says"),
    [(200, "asked 8 times: an answer that is not the API's: <html>"), (302, "Vertex AI answers 302: <html>")],
)
def test_an_answer_of_somebody_else_is_no_defect(service: JobService, status: int, says: str):
    service.faults.append(Fault(method="GET", status=status, text="<html>\nLog in", times=99))
    with pytest.raises(OperationError, match=says):
        run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert service.bodies == []


async def interrupted(resource: CustomJobResource, service: JobService, *requests: Request) -> list[Any]:
    """What creates end with that are cancelled when the first submission has been sent."""
    tasks = [asyncio.ensure_future(resource.create(request, inputs())) for request in requests]
    await asyncio.to_thread(until, lambda: service.faults[0].times == 0, "it is being submitted")
    for task in tasks:
        task.cancel()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_ctrl_c_sends_nothing_that_was_not_sent_yet(service: JobService):
    service.faults.append(Fault(method="POST", delay=0.5))
    settings = Settings(vertex_endpoint=service.address, access_token=TOKEN, vertex_concurrency=1)
    others = (replace(REQUEST, urn=Urn(f"{URN.text}-{number}")) for number in range(3))

    async def whole() -> list[Any]:
        return await interrupted(CustomJobResource(settings), service, REQUEST, *others)

    first, *rest = asyncio.run(whole())
    assert [first.id] == list(service.jobs)
    assert [type(each) for each in rest] == [asyncio.CancelledError] * 3


def test_ctrl_c_and_a_lost_answer_leave_a_job_that_is_found_again(service: JobService):
    service.faults.append(Fault(method="POST", delay=0.3, lost=True))
    [ended] = run(lambda resource: interrupted(resource, service, REQUEST), service)
    assert isinstance(ended, asyncio.CancelledError)
    state = run(lambda resource: resource.create(REQUEST, inputs()), service)
    assert ([state.id], len(service.bodies)) == (list(service.jobs), 1)
