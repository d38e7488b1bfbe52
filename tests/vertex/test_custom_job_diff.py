"""Which changes replace a CustomJob, and when one that is unchanged is run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vertex.requests import POOL, POOLS, REQUEST, gpu, inputs, run
from xmgen.provider import custom_job_states
from xmgen.provider.resource import Difference


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
        (custom_job_states.LOST, AGAIN),
        ("JOB_STATE_SUCCEEDED", Difference()),
        ("JOB_STATE_PENDING", Difference()),
        ("JOB_STATE_RUNNING", Difference()),
        ("JOB_STATE_CANCELLING", Difference()),
    ],
)
@pytest.mark.parametrize("wait", [False, True])
def test_when_an_unchanged_job_is_run_again(wait: bool, state: str, found: Difference):
    assert diff(inputs(wait=wait), inputs(wait=wait), state=state) == found
