"""Which inputs of CustomJobs the provider takes, and what it says of others: those that Vertex AI's messages have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vertex import protos
from tests.vertex.job_service import JobService
from tests.vertex.requests import POOL, POOLS, gpu, inputs, problems
from xmgen import catalog
from xmgen.provider import custom_job_shape
from xmgen.provider.wire import SECRET, SIGNATURE, UNKNOWN

SECOND = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 3, "containerSpec": {"imageUri": "a"}}
V5E = {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "4x4"}
TPU_V3 = {"machineType": "cloud-tpu", "acceleratorType": "TPU_V3"}
T4 = "NVIDIA_TESLA_T4"
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
                return sorted(names)
            case custom_job_shape.Accelerator():
                return sorted(catalog.catalog().vertex.accelerator_types)

    def unordered(shape: Any) -> Any:
        if isinstance(shape, dict):
            return {name: unordered(each) for name, each in shape.items()}
        return sorted(shape) if isinstance(shape, list) else shape

    theirs = protos.shape()
    assert filled_in <= theirs.keys()
    assert ours(custom_job_shape.CUSTOM_JOB) == unordered({name: theirs[name] for name in theirs.keys() - filled_in})


@pytest.mark.parametrize("field", ["jobSpecs", "labels.x", "jobSpec.enableWebAccess"])
def test_the_service_of_the_tests_refuses_what_the_messages_refuse(service: JobService, field: str):
    body: dict[str, Any] = {"displayName": "x", "jobSpec": {}}
    name, _, below = field.partition(".")
    body[name] = {below: []} if below else 1
    with pytest.raises(protos.ParseError):
        protos.parsed(body)
