"""Jobs that serve others on a cluster: what waits in their pods, against a real API server."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.builders import experiment, job
from tests.kubernetes.dry_run import DryRun, Object, compiled
from tests.on_gke import kubernetes
from xmgen.executors.gke.services import WAITER
from xmgen.experiment import Experiment
from xmgen.rehearsal.controlplane import ControlPlane

pytestmark = pytest.mark.kubernetes

STACK = "served"
JOBS = f"/apis/batch/v1/namespaces/{STACK}/jobs"
ENDS = {
    "well": {"succeeded": 1, "completionTime": "2026-01-01T00:01:00Z", "types": ("SuccessCriteriaMet", "Complete")},
    "badly": {"failed": 1, "types": ("FailureTarget", "Failed")},
}


def group(unit: str) -> Experiment:
    served = (
        job(unit, name="worker", executor=kubernetes()),
        job(name="ps", executor=kubernetes(on={"service": True})),
    )
    return experiment(served, stack=STACK)


def end(control_plane: ControlPlane, name: str, how: str) -> None:
    """As the controller of Jobs would, which this control plane does not run."""
    api = control_plane.api()
    made = api.request("GET", f"{JOBS}/{name}").body
    told: dict[str, Any] = dict(ENDS[how])
    at = {"lastTransitionTime": "2026-01-01T00:01:00Z", "lastProbeTime": "2026-01-01T00:01:00Z"}
    conditions = [{"type": each, "status": "True", "reason": "Told", "message": "", **at} for each in told.pop("types")]
    made["status"] = {"startTime": "2026-01-01T00:00:00Z", "conditions": conditions, **told}
    answer = api.request("PUT", f"{JOBS}/{name}/status", made)
    assert answer.ok, answer.message


def waiter(control_plane: ControlPlane, folder: Path, made: Object) -> subprocess.Popen[str]:
    """The container that waits, on this machine: its token, its address and its patience are other ones."""
    token = control_plane.api().request(
        "POST",
        f"/api/v1/namespaces/{STACK}/serviceaccounts/jobs/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    assert token.ok, token.message
    (folder / "token").write_text(token.body["status"]["token"])
    (folder / "ca.crt").write_bytes(control_plane.credentials.authority.read_bytes())
    [container] = made["spec"]["template"]["spec"]["containers"]
    assert container["name"] == WAITER
    python, option, script, *arguments = container["command"]
    for inside, here in (
        ("/var/run/secrets/xmgen", str(folder)),
        ("https://kubernetes.default.svc", control_plane.url),
        ("time.sleep(10)", "time.sleep(0.1)"),
    ):
        assert inside in script
        script = script.replace(inside, here)
    assert (python, option) == ("python", "-c")
    return subprocess.Popen([sys.executable, option, script, *arguments], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("how", ENDS)
def test_a_service_ends_when_the_others_have(
    how: str, control_plane: ControlPlane, dry_run: DryRun, tmp_path: Path
) -> None:
    submitted = compiled(group(how))
    assert dry_run.refusals(submitted) == []
    worker, service = (each for each in submitted if each["kind"] == "Job")
    waiting = waiter(control_plane, tmp_path, service)
    try:
        # The Job is not there yet.
        assert waiting.stdout is not None
        assert any("404" in line for line in itertools.islice(waiting.stdout, 100))
        answer = control_plane.api().request("POST", JOBS, worker)
        assert answer.ok, answer.message
        assert waiting.poll() is None
        end(control_plane, worker["metadata"]["name"], how)
        assert waiting.wait(timeout=60) == 0
    finally:
        waiting.kill()
        waiting.communicate()
