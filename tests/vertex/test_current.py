"""How CustomJobs stand, asked of the JobService: what a refresh would find, in few requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from tests.compiled_stacks import compiled_stack
from tests.vertex.job_service import NUMBER, TOKEN, Fault, JobService, set_state
from tests.vertex.manifests import experiment
from xmgen.errors import OperationError
from xmgen.executors.vertex import live as custom_jobs
from xmgen.executors.vertex.runtime import RUNTIME
from xmgen.provider import custom_job_api
from xmgen.provider.custom_job import ENDED, FAILED, LOST, SUCCEEDED
from xmgen.provider.settings import Settings
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_values import SECRET, SIGNATURE
from xmgen.resource_types import CUSTOM_JOB


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_job_api, "_FIRST_DELAY", 0.01)


def known(name: str, number: int, state: str, *errors: str, region: str = "us-central1") -> StateResource:
    """A CustomJob as the state has it."""
    return StateResource.of(
        {
            "urn": f"urn:pulumi:sweep::experiments::{CUSTOM_JOB}::{name}",
            "type": CUSTOM_JOB,
            "id": f"projects/{NUMBER}/locations/{region}/customJobs/{number}",
            "inputs": {"project": "acme", "region": region},
            "outputs": {"state": f"JOB_STATE_{state}" if state != LOST else LOST},
            "initErrors": list(errors),
        }
    )


def by_name(*jobs: StateResource) -> dict[str, StateResource]:
    return {job.name: job for job in jobs}


def there(service: JobService, jobs: Iterable[StateResource], state: str, **labels: str) -> None:
    for job in jobs:
        found: dict[str, Any] = {"name": job.id, "jobSpec": {}, "labels": labels}
        set_state(found, f"JOB_STATE_{state}", service.error)
        service.jobs[job.id] = found


def current(
    service: JobService, jobs: dict[str, StateResource], hidden: Callable[[], Collection[str]] = tuple
) -> dict[str, StateResource]:
    settings = Settings(vertex_endpoint=service.address, access_token=TOKEN)
    return custom_jobs.current("sweep", jobs, lambda: settings, hidden)


WAITS = "not waited for to the end"
GONE = "and Vertex AI no longer knows it; `xmgen up sweep` submits it again"


@pytest.mark.parametrize(
    ("before", "errors", "now", "after"),
    [
        ("PENDING", (), "RUNNING", ("JOB_STATE_RUNNING", "", ())),
        ("RUNNING", (WAITS,), "RUNNING", ("JOB_STATE_RUNNING", "", (WAITS,))),
        ("RUNNING", (WAITS,), "SUCCEEDED", ("JOB_STATE_SUCCEEDED", "", ())),
        ("RUNNING", (WAITS,), "FAILED", ("JOB_STATE_FAILED", JobService.error, ())),
        ("PENDING", (), "EXPIRED", ("JOB_STATE_EXPIRED", "", ())),
        ("PENDING", (), "", (LOST, None, (f"lost: it was pending when last seen, {GONE}",))),
        (LOST, ("lost",), "", (LOST, None, ("lost",))),
        (LOST, ("lost",), "RUNNING", ("JOB_STATE_RUNNING", "", ())),
        # What has ended is not asked for: nothing becomes of it, and its record may go.
        ("SUCCEEDED", (), "", ("JOB_STATE_SUCCEEDED", None, ())),
        ("FAILED", ("failed",), "", ("JOB_STATE_FAILED", None, ("failed",))),
    ],
)
def test_a_job_is_as_vertex_ai_has_it(
    service: JobService,
    before: str,
    errors: tuple[str, ...],
    now: str,
    after: tuple[str, str | None, tuple[str, ...]],
) -> None:
    job = known("a", 1, before, *errors)
    if now:
        there(service, [job], now, stack="sweep")
    seen = current(service, {"a": job})["a"]
    assert (seen.outputs["state"], seen.outputs.get("error"), seen.errors) == after
    assert replace(seen, outputs=job.outputs, errors=job.errors) == job


def test_all_jobs_of_a_region_take_one_list(service: JobService) -> None:
    jobs = [known(f"unit-{number}", number, "PENDING") for number in range(250)]
    far = known("far", 250, "PENDING", region="europe-west4")
    there(service, [*jobs, far], "RUNNING", stack="sweep")
    there(service, [known("other", 251, "RUNNING")], "RUNNING", stack="other")
    seen = current(service, by_name(*jobs, far))
    assert {job.outputs["state"] for job in seen.values()} == {"JOB_STATE_RUNNING"}
    assert service.log == [("GET", "customJobs")] * 4


def test_nothing_is_asked_when_all_have_ended() -> None:
    """Neither Vertex AI nor Pulumi, which would want the stack's passphrase for its credentials."""
    jobs = by_name(*(known(state, 1, state.removeprefix("JOB_STATE_")) for state in ENDED))

    def never() -> NoReturn:
        pytest.fail("asked for settings or secrets")

    assert custom_jobs.current("sweep", jobs, never, never) == jobs


def test_what_an_import_took_in_has_no_label_and_another_name_of_the_project(service: JobService) -> None:
    job = known("a", 1, "RUNNING")
    imported = replace(job, id=job.id.replace(NUMBER, "acme"))
    there(service, [job], "SUCCEEDED")
    assert current(service, {"a": imported})["a"].outputs["state"] == SUCCEEDED


def test_secrets_that_a_job_printed_are_not_told(service: JobService) -> None:
    job = known("a", 1, "RUNNING")
    service.error = "no key-of-ada"
    there(service, [job], "FAILED", stack="sweep")
    assert current(service, {"a": job}, lambda: ["key-of-ada"])["a"].outputs["error"] == "no [secret]"


def test_the_secrets_are_those_of_the_stack(service: JobService) -> None:
    plan = compiled_stack(experiment())
    unit = plan.units[0].name
    running = known(unit, 1, "RUNNING")
    service.error = "no key-of-ada at https://ada"
    there(service, [running], "FAILED", stack="sweep")

    def exported(secret: dict[str, str]) -> str:
        env = [{"name": "KEY", "value": {SIGNATURE: SECRET, **secret}}]
        spec = {"workerPoolSpecs": [{"containerSpec": {"env": env}}]}
        document = {**running.document, "inputs": {**running.inputs, "jobSpec": spec}}
        return json.dumps({"deployment": {"resources": [document]}})

    answers = {
        ("config", "--json", "--show-secrets"): json.dumps(
            {
                "gcp:accessToken": {"value": TOKEN, "secret": True},
                "xmgen:vertexEndpoint": {"value": service.address, "secret": False},
            }
        ),
        ("stack", "export", "--show-secrets"): exported({"plaintext": json.dumps("key-of-ada")}),
    }
    pulumi = SimpleNamespace(run=lambda *arguments: answers[arguments[:3]])
    work = cast(Session, SimpleNamespace(stack="sweep", pulumi=pulumi))
    now = RUNTIME.status(work, plan, exported({"ciphertext": "v1:abc"}), active=None)
    [trial] = now.units
    assert (trial.status, now.unreached) == ("failed", None)
    assert trial.reasons[0].startswith("no [secret] at https://ada\n  https://console.cloud.google.com")


def test_the_next_up_runs_again_what_the_provider_replaces() -> None:
    """Else `pulumi up --refresh` would do another thing than `xmgen up`."""
    plan = compiled_stack(experiment())
    unit = plan.units[0].name
    states = [*ENDED, LOST, *(f"JOB_STATE_{state}" for state in ("PENDING", "RUNNING", "CANCELLING"))]
    jobs = [known(unit, 1, state.removeprefix("JOB_STATE_")) for state in states]
    again = {job.outputs["state"] for job in jobs if custom_jobs.to_run_again(plan, {unit: job})}
    assert again == FAILED
    # What a kill left deleted is made anyway.
    deleted = replace(known(unit, 1, "FAILED"), pending_replacement=True)
    assert custom_jobs.to_run_again(plan, {unit: deleted}) == {}


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            Fault(method="GET", status=503, times=99),
            r"asked 3 times: as the test wants it\n  the same command goes on from here$",
        ),
        (Fault(method="GET", status=403, times=99), "Vertex AI answers 403: as the test wants it"),
    ],
)
def test_vertex_ai_does_not_say(service: JobService, fault: Fault, told: str) -> None:
    service.faults.append(fault)
    with pytest.raises(OperationError, match=told):
        current(service, {"a": known("a", 1, "RUNNING")})
