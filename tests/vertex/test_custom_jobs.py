"""CustomJobs through the real engine and the real provider, against a JobService on this machine."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import kill, until
from tests.vertex.job_service import Fault, JobService
from tests.vertex.project import Vertex, job

pytestmark = pytest.mark.engine

SUCCESS = ("JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED")
FAILURE = ("JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_FAILED")


def outputs(vertex: Vertex, name: str = "a") -> dict[str, Any]:
    return vertex.state()[name]["outputs"]


def test_a_preview_asks_nothing(vertex: Vertex, service: JobService):
    vertex.declares(a=job(), b=job(wait=True))
    outcome = vertex.preview()
    assert outcome.ok, outcome.output
    assert service.log == []


def test_a_job_is_accepted_left_alone_and_deleted(vertex: Vertex, service: JobService):
    labels = {"team": "vision"}
    vertex.declares(a=job(labels=labels))
    assert vertex.up().ok
    [body] = service.bodies
    submitted = body["labels"].pop("xmgen_submission")
    assert body == {"displayName": "train", "jobSpec": job()["job_spec"], "labels": labels}
    console = "https://console.cloud.google.com"
    assert outputs(vertex) == {
        "name": "projects/123456789012/locations/us-central1/customJobs/1",
        "state": "JOB_STATE_PENDING",
        "createTime": "2026-01-01T00:00:00Z",
        "startTime": "",
        "endTime": "",
        "error": "",
        "consoleUrl": f"{console}/vertex-ai/locations/us-central1/training/1?project=acme",
        "logUrl": f"{console}/logs/query;query=resource.labels.job_id%3D%221%22?project=acme",
        "webAccessUris": {},
    }
    service.log.clear()
    again = vertex.up()
    assert (again.ok, "unchanged" in again.output, service.log) == (True, True, [])
    assert vertex.destroy().ok
    assert (service.jobs, vertex.state()) == ({}, {})
    # The same job again, after `destroy`, is another job with the same label.
    assert vertex.up().ok
    assert [body["labels"]["xmgen_submission"] for body in service.bodies[1:]] == [submitted]


def changed(**changes: Any) -> dict[str, Any]:
    result = copy.deepcopy(job(labels={"team": "vision"}))
    result.update(changes)
    return result


@pytest.mark.parametrize(
    "change",
    [
        changed(labels={"team": "speech"}),
        job(labels={"team": "vision"}, args=["--rate=0.2"]),
    ],
    ids=["labels", "args"],
)
def test_every_change_replaces_the_job_and_the_old_one_is_cancelled_first(
    vertex: Vertex, service: JobService, change: dict[str, Any]
):
    vertex.declares(a=changed())
    assert vertex.up().ok
    service.log.clear()
    vertex.declares(a=change)
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    did = [each for each in service.log if each[0] != "GET"]
    assert did == [("POST", "customJobs:cancel"), ("DELETE", "customJobs"), ("POST", "customJobs")]
    assert len(service.jobs) == 1


def test_what_means_the_same_is_no_change(vertex: Vertex, service: JobService):
    spec = job()["job_spec"]
    vertex.declares(a=job())
    assert vertex.up().ok
    pool = {**spec["workerPoolSpecs"][0], "replicaCount": "1", "diskSpec": {"bootDiskType": "pd-ssd"}}
    scheduling = {"strategy": "STANDARD", "timeout": "604800s"}
    vertex.declares(a=job(job_spec={**spec, "workerPoolSpecs": [pool], "scheduling": scheduling}, labels={}))
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    assert len(service.bodies) == 1


def test_a_refresh_shows_the_state_and_what_ended_stays_when_the_record_goes(vertex: Vertex, service: JobService):
    vertex.declares(a=job())
    assert vertex.up().ok
    service.become("JOB_STATE_RUNNING")
    assert vertex.refresh().ok
    assert outputs(vertex)["state"] == "JOB_STATE_RUNNING"
    assert outputs(vertex)["webAccessUris"] == {"workerpool0-0": "https://shell.example/workerpool0-0"}
    service.become("JOB_STATE_SUCCEEDED")
    assert vertex.refresh().ok
    ended = outputs(vertex)
    assert (ended["state"], ended["endTime"]) == ("JOB_STATE_SUCCEEDED", "2026-01-01T01:00:00Z")
    service.evict()
    assert vertex.refresh().ok
    assert outputs(vertex) == ended
    assert vertex.up().ok
    assert len(service.bodies) == 1
    assert vertex.destroy().ok


def test_a_job_that_vanished_while_it_ran_is_lost_and_submitted_again(vertex: Vertex, service: JobService):
    vertex.declares(a=job())
    assert vertex.up().ok
    service.evict()
    refreshed = vertex.refresh()
    assert refreshed.ok
    assert "lost: it was pending when last seen, and Vertex AI no longer knows it" in refreshed.output
    assert vertex.state() == {}
    assert vertex.up().ok
    assert len(service.bodies) == 2


@pytest.mark.parametrize(("state", "submitted"), [("FAILED", 2), ("CANCELLED", 2), ("SUCCEEDED", 1)])
def test_a_job_that_is_seen_to_have_failed_runs_again(
    vertex: Vertex, service: JobService, state: str, submitted: int
) -> None:
    vertex.declares(a=job())
    assert vertex.up().ok
    service.become(f"JOB_STATE_{state}")
    assert vertex.up().ok
    assert len(service.bodies) == 1
    outcome = vertex.up("--refresh")
    assert outcome.ok, outcome.output
    assert (len(service.bodies), len(service.jobs)) == (submitted, 1)


def test_a_job_that_is_waited_for_is_followed_to_its_end(vertex: Vertex, service: JobService):
    service.coming = SUCCESS
    vertex.declares(a=job(wait=True))
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    assert outputs(vertex)["state"] == "JOB_STATE_SUCCEEDED"
    assert [word for word in ("running", "succeeded") if word in outcome.output] == ["running", "succeeded"]


def test_a_failure_is_in_the_state_with_its_reason_and_the_next_up_runs_the_job_again(
    vertex: Vertex, service: JobService
):
    service.coming = FAILURE
    vertex.declares(a=job(wait=True), b=job("other"))
    outcome = vertex.up()
    assert not outcome.ok
    assert f"failed: {service.error}" in outcome.output
    failed = vertex.state()["a"]
    assert failed["outputs"]["error"] == service.error
    assert failed["outputs"]["consoleUrl"] in failed["initErrors"][0]
    assert failed["outputs"]["logUrl"] in failed["initErrors"][0]
    service.coming = SUCCESS
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    # The other one, which nobody waits for, is as it was.
    assert [body["displayName"] for body in service.bodies if body["displayName"] == "other"] == ["other"]
    assert (outputs(vertex)["state"], len(service.jobs)) == ("JOB_STATE_SUCCEEDED", 2)


def test_to_wait_from_now_on_replaces_nothing(vertex: Vertex, service: JobService):
    vertex.declares(a=job())
    assert vertex.up().ok
    service.become("JOB_STATE_SUCCEEDED")
    vertex.declares(a=job(wait=True))
    assert vertex.up().ok
    assert (outputs(vertex)["state"], len(service.bodies)) == ("JOB_STATE_SUCCEEDED", 1)


def test_ctrl_c_leaves_the_job_running_and_adopted(vertex: Vertex, service: JobService):
    vertex.declares(a=job(wait=True))
    process = vertex.start_up()
    until(lambda: "JOB_STATE_RUNNING" in service.states(), "the job runs")
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "The job goes on, and the next `pulumi up` waits for it" in output
    assert service.states() == ["JOB_STATE_RUNNING"]
    assert vertex.state()["a"]["id"] == next(iter(service.jobs))
    service.become("JOB_STATE_SUCCEEDED")
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    assert (outputs(vertex)["state"], len(service.bodies)) == ("JOB_STATE_SUCCEEDED", 1)


@pytest.mark.parametrize("wait", [False, True])
def test_ctrl_c_in_the_midst_of_a_submission_loses_nothing(vertex: Vertex, service: JobService, wait: bool):
    service.faults.append(Fault(method="POST", delay=1.5))
    vertex.declares(a=job(wait=wait))
    process = vertex.start_up()
    until(lambda: service.faults[0].times == 0, "the job is being submitted")
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert vertex.state()["a"]["id"] == next(iter(service.jobs))
    service.become("JOB_STATE_SUCCEEDED")
    assert vertex.up().ok
    assert len(service.bodies) == 1


def test_waiting_no_longer_than_the_timeout(vertex: Vertex, service: JobService):
    # From the start: how often the provider can look in that time is not asked here.
    service.first, service.coming = "JOB_STATE_RUNNING", ("JOB_STATE_RUNNING",)
    vertex.declares(a=job(wait=True))
    program = vertex.root / "stacks" / "__main__.py"
    timeouts = "custom_timeouts=pulumi.CustomTimeouts(create='1s')"
    program.write_text(program.read_text().replace("provider=vertex,", f"provider=vertex, {timeouts},"))
    outcome = vertex.up()
    assert not outcome.ok
    assert "not waited for to the end: 1 s are over" in outcome.output
    assert (service.states(), vertex.state()["a"]["id"]) == (["JOB_STATE_RUNNING"], next(iter(service.jobs)))


def test_what_follows_waits_and_runs_again_with_its_predecessor(vertex: Vertex, service: JobService):
    def declare(rate: str) -> None:
        vertex.declares(a=job("first", args=[rate], wait=True), b=job("second"))
        program = vertex.root / "stacks" / "__main__.py"
        after = "after=[made['a']] if name == 'b' else [], "
        text = program.read_text().replace("opts=options,", f"opts=options, {after}")
        text = text.replace("job = CustomJob(", "job = made[name] = CustomJob(").replace(
            "jobs = json", "made = {}\njobs = json"
        )
        program.write_text(text)

    service.coming = SUCCESS
    declare("1")
    assert vertex.up().ok
    assert [body["displayName"] for body in service.bodies] == ["first", "second"]
    service.coming = FAILURE
    declare("2")
    assert not vertex.up().ok
    # The second one was cancelled, and waits for the first to succeed.
    assert [body["displayName"] for body in service.bodies] == ["first", "second", "first"]
    service.coming = SUCCESS
    assert vertex.up().ok
    assert [body["displayName"] for body in service.bodies] == ["first", "second", "first", "first", "second"]
    assert outputs(vertex, "b")["state"] == "JOB_STATE_PENDING"


def test_destroy_takes_what_is_gone_for_done(vertex: Vertex, service: JobService):
    vertex.declares(a=job())
    assert vertex.up().ok
    service.evict()
    assert vertex.destroy().ok
    assert vertex.state() == {}


def test_import_by_resource_name(vertex: Vertex, service: JobService):
    labels = {"team": "vision"}
    body = {"displayName": "train", "jobSpec": job()["job_spec"], "labels": labels}
    name = service.answer("POST", "/v1/projects/acme/locations/us-central1/customJobs", {}, body)["name"]
    vertex.declares(a=job(labels=labels, project="123456789012", imported=name))
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    assert outputs(vertex)["state"] == "JOB_STATE_PENDING"
    vertex.declares(a=job(labels=labels, project="123456789012"))
    again = vertex.up()
    assert (again.ok, len(service.bodies)) == (True, 1), again.output


def test_importing_what_there_is_not_says_so(vertex: Vertex, service: JobService):
    vertex.declares(a=job(imported="customJobs/1"))
    outcome = vertex.up()
    assert not outcome.ok
    assert "'customJobs/1' is no CustomJob" in outcome.output
    assert "projects/<project>/locations/<region>/customJobs/<number>" in outcome.output


@pytest.mark.parametrize("killed", ["provider", "both"])
def test_a_kill_between_submission_and_state_neither_loses_nor_doubles_the_job(
    vertex: Vertex, service: JobService, killed: str
):
    vertex.declares(a=job())
    assert not vertex.up(XMGEN_FAULT=f"submitted:{killed}").ok
    assert (len(service.jobs), vertex.state()) == (1, {})
    outcome = vertex.recover()
    assert outcome.ok, outcome.output
    assert (len(service.bodies), vertex.state()["a"]["id"]) == (1, next(iter(service.jobs)))


@pytest.mark.parametrize("killed", ["provider", "both"])
def test_a_kill_while_the_job_is_waited_for_leaves_it_running_and_the_next_up_waits_on(
    vertex: Vertex, service: JobService, killed: str
):
    vertex.declares(a=job(wait=True))
    engine = vertex.start_up()
    until(lambda: "JOB_STATE_RUNNING" in service.states(), "the job runs")
    if killed == "both":
        kill(engine.pid)
    for pid in providers(vertex):
        # It ends by itself, too, when its engine is gone.
        with contextlib.suppress(ProcessLookupError):
            kill(pid)
    engine.communicate(timeout=60)
    assert engine.returncode != 0
    until(lambda: not providers(vertex), "the provider is gone")
    assert service.states() == ["JOB_STATE_RUNNING"]
    service.coming = SUCCESS
    outcome = vertex.recover()
    assert outcome.ok, outcome.output
    assert (len(service.bodies), vertex.state()["a"]["id"]) == (1, next(iter(service.jobs)))
    assert outputs(vertex)["state"] == "JOB_STATE_SUCCEEDED"


def providers(vertex: Vertex) -> list[int]:
    """The running providers of the project."""
    found: list[int] = []
    for pid in vertex.processes():
        with contextlib.suppress(OSError):
            if b"xmgen.provider" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def test_a_job_that_vanishes_while_it_is_waited_for_is_lost_and_submitted_again(vertex: Vertex, service: JobService):
    vertex.declares(a=job(wait=True))
    process = vertex.start_up()
    until(lambda: "JOB_STATE_RUNNING" in service.states(), "the job runs")
    service.evict()
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "lost: it ran when last seen, and Vertex AI no longer knows it" in output
    assert outputs(vertex)["state"] == "LOST"
    service.coming = SUCCESS
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    assert (len(service.bodies), outputs(vertex)["state"]) == (2, "JOB_STATE_SUCCEEDED")


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_api_is_asked_again(vertex: Vertex, service: JobService, status: int):
    service.faults.append(Fault(method="POST", status=status, retry_after="1"))
    vertex.declares(a=job())
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    assert (service.faults[0].times, len(service.bodies)) == (0, 1)


def test_what_the_api_does_not_delete_stays_in_the_state(vertex: Vertex, service: JobService):
    vertex.declares(a=job())
    assert vertex.up().ok
    service.faults.append(Fault(method="POST", ends=":cancel", status=403))
    outcome = vertex.destroy()
    assert not outcome.ok
    assert "Vertex AI answers 403: as the test wants it" in outcome.output
    assert vertex.state()["a"]["id"] == next(iter(service.jobs))
    assert vertex.destroy().ok
    assert (service.jobs, vertex.state()) == ({}, {})


def test_a_lost_answer_does_not_double_the_job(vertex: Vertex, service: JobService):
    service.faults.append(Fault(method="POST", lost=True))
    vertex.declares(a=job())
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    assert (len(service.bodies), vertex.state()["a"]["id"]) == (1, next(iter(service.jobs)))


def test_a_refusal_is_shown_and_leaves_nothing(vertex: Vertex, service: JobService):
    service.faults.append(Fault(method="POST", status=400, times=9))
    vertex.declares(a=job())
    outcome = vertex.up()
    assert not outcome.ok
    assert "Vertex AI answers 400: as the test wants it" in outcome.output
    assert "Traceback" not in outcome.output
    assert (service.faults[0].times, vertex.state()) == (8, {})


def test_a_wrong_token_and_none_at_all(vertex: Vertex, service: JobService, tmp_path: Path):
    vertex.declares(a=job())
    outcome = vertex.up(GOOGLE_OAUTH_ACCESS_TOKEN="another")
    assert "Vertex AI answers 401: the token is wrong" in outcome.output
    key = str(tmp_path / "no such key.json")
    outcome = vertex.up(GOOGLE_OAUTH_ACCESS_TOKEN="", GOOGLE_APPLICATION_CREDENTIALS=key)
    assert not outcome.ok
    assert "no credentials for Google Cloud" in outcome.output
    assert "gcloud auth application-default login" in outcome.output
    assert service.log == []


def test_credentials_of_the_stacks_configuration(vertex: Vertex, service: JobService):
    token = vertex.env.pop("GOOGLE_OAUTH_ACCESS_TOKEN")
    assert vertex.pulumi("config", "set", "--secret", "gcp:accessToken", token, "--stack", "dev").ok
    vertex.declares(a=job())
    outcome = vertex.up()
    assert outcome.ok, outcome.output
    assert token not in json.dumps(vertex.state())


def test_at_most_so_many_requests_at_a_time(vertex: Vertex, service: JobService):
    vertex.configure("vertexConcurrency", "3")
    service.faults.append(Fault(method="POST", delay=0.05, times=24))
    vertex.declares(**{f"job-{number}": job(args=[str(number)]) for number in range(300)})
    outcome = vertex.up("--parallel", "64")
    assert outcome.ok, outcome.output
    assert (len(service.jobs), len(service.bodies), service.peak) == (300, 300, 3)


def test_secrets_reach_the_job_and_nothing_else(vertex: Vertex, service: JobService):
    service.coming = FAILURE
    service.error = "it printed hunter2-secret and ended"
    vertex.declares(a=job(secrets={"KEY": "hunter2-secret"}, wait=True))
    outcome = vertex.up()
    assert not outcome.ok
    [body] = service.bodies
    container = body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    assert container["env"] == [{"name": "KEY", "value": "hunter2-secret"}]
    assert "hunter2" not in outcome.output
    assert "hunter2" not in json.dumps(vertex.state())


def test_a_preview_refuses_what_the_api_would(vertex: Vertex, service: JobService):
    spec = copy.deepcopy(job()["job_spec"])
    spec["workerPoolSpecs"][0]["machineSpec"] = {
        "machineType": "n1-standard-4",
        "acceleratorType": "NVIDIA_TESLA_T4",
        "acceleratorCount": 3,
    }
    vertex.declares(a=job(job_spec=spec))
    outcome = vertex.preview()
    assert not outcome.ok
    assert "n1-standard-4 does not take 3 x NVIDIA_TESLA_T4" in outcome.output
    assert "allowed: 1, 2, 4" in outcome.output
    assert service.log == []
