"""Which texts of a stack's state are secret, and that they are not shown when a job on GKE prints them."""

from __future__ import annotations

import base64
import json
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from tests.compiled_stacks import compiled_stack
from tests.engine_states import resource, state
from tests.kubernetes_answers import ended, pod, true
from tests.on_gke import experiment, job
from xmgen.executors.gke import live as jobs
from xmgen.executors.gke.connection import Connection
from xmgen.executors.gke.jobs import job_name
from xmgen.pulumi_cli import secret_texts
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_values import SECRET, SIGNATURE
from xmgen.resource_types import CUSTOM_JOB
from xmgen.resource_types import SECRET as KUBERNETES_SECRET

PLAN = compiled_stack(experiment(job()))


def plain(value: object) -> dict[str, str]:
    return {SIGNATURE: SECRET, "plaintext": json.dumps(value)}


def encoded(text: str | bytes) -> str:
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


@pytest.mark.parametrize(
    ("type", "inputs", "texts"),
    [
        pytest.param(
            KUBERNETES_SECRET, {"stringData": plain({"key": "swordfish"})}, {"swordfish"}, id="what xmgen declares"
        ),
        pytest.param(
            KUBERNETES_SECRET,
            {"metadata": {"name": "secrets"}, "stringData": {"key": plain("swordfish")}},
            {"swordfish"},
            id="each value alone",
        ),
        pytest.param(
            KUBERNETES_SECRET,
            {"data": plain({"key": encoded("swordfish\n")})},
            {"swordfish", encoded("swordfish\n")},
            id="encoded",
        ),
        pytest.param(
            KUBERNETES_SECRET,
            {"data": {"key": encoded("swordfish")}, "stringData": {"other": "marlin"}},
            {"swordfish", encoded("swordfish"), "marlin"},
            id="in plain text in the state",
        ),
        pytest.param(KUBERNETES_SECRET, {"data": {"key": encoded(b"\xff\xfe")}}, {encoded(b"\xff\xfe")}, id="no text"),
        pytest.param(KUBERNETES_SECRET, {"data": {"key": "é"}}, {"é"}, id="no base64"),
        pytest.param(
            "kubernetes:core/v1:ConfigMap", {"data": {"a": "swordfish", "b": plain("marlin")}}, {"marlin"}, id="another"
        ),
        pytest.param(
            CUSTOM_JOB, {"env": [{"name": "KEY", "value": plain("swordfish")}]}, {"swordfish"}, id="on Vertex AI"
        ),
        pytest.param(CUSTOM_JOB, {"count": plain(3), "on": plain([True, None])}, set[str](), id="other values"),
        pytest.param(
            "pulumi:providers:kubernetes",
            {"kubeconfig": plain("a:\n  b: swordfish\n\n")},
            {"a:\n  b: swordfish", "a:", "b: swordfish"},
            id="each line of several",
        ),
    ],
)
def test_secret_texts(type: str, inputs: dict[str, Any], texts: set[str]) -> None:
    assert set(secret_texts.of_resources([StateResource.of(resource(type, "a", inputs=inputs))])) == texts


def test_what_is_encrypted_is_asked_for() -> None:
    def exported(value: dict[str, str]) -> str:
        return state(resource(KUBERNETES_SECRET, "secrets", inputs={"stringData": value}))

    answers: dict[tuple[str, ...], str] = {
        ("stack", "export", "--show-secrets", "--stack", "sweep"): exported(plain({"key": "swordfish"}))
    }

    def run(*arguments: str) -> str:
        return answers[arguments]

    work = SimpleNamespace(stack="sweep", pulumi=SimpleNamespace(run=run))
    encrypted = exported({SIGNATURE: SECRET, "ciphertext": "v1:abc"})
    assert secret_texts.of_stack(cast(Session, work), encrypted) == {"swordfish"}


def test_nothing_is_decrypted_where_nothing_is_encrypted() -> None:
    """It would take the stack's passphrase. What providers tell of what they made is nothing that jobs know."""
    outputs = {"masterAuth": {SIGNATURE: SECRET, "ciphertext": "v1:abc"}}
    export = state(resource("gcp:container/cluster:Cluster", "cluster", inputs={}, outputs=outputs))
    assert secret_texts.of_stack(cast(Session, None), export) == frozenset()


class Cluster:
    """Has one Job, and one pod of it."""

    def __init__(self, log: str, *conditions: dict[str, str], message: str = "") -> None:
        name = job_name(PLAN.units[0].manifests[0])
        status = {"conditions": list(conditions)}
        self._job: dict[str, Any] = {"metadata": {"name": name, "uid": "1"}, "spec": {}, "status": status}
        container = ended(3)
        container["state"]["terminated"] |= {"message": message} if message else {}
        self._pod = pod("Failed", containers=(container,))
        self._pod["metadata"]["ownerReferences"] = [{"uid": "1"}]
        self._log = log

    def items(self, path: str) -> list[dict[str, Any]]:
        return [self._pod if path.endswith("/pods") else self._job]

    def text(self, path: str, **query: str) -> str:
        return self._log


@pytest.mark.parametrize(
    ("log", "message", "reason"),
    [
        ("KEY=swordfish, a\n", "", "exited with code 3\n    KEY=[secret], a"),
        ("step 1\n", "no swordfish", "exited with code 3: no [secret]\n    step 1"),
        ("x" * 995 + "swordfish\n", "", "exited with code 3\n    " + "x" * 995 + "[secr…"),
        ("swordfi\rswordfish\r\nend\n", "", "exited with code 3\n    [secret]\n    end"),
    ],
    ids=["its last lines", "the message that it left", "before it is cut", "as it is drawn"],
)
def test_a_secret_that_a_failed_job_printed_is_not_shown(log: str, message: str, reason: str) -> None:
    cluster = Cluster(log, true("Failed"), message=message)
    [unit] = jobs.units(PLAN, None, cast(Connection, cluster), lambda: ["swordfish", "a"])
    assert (unit.status, unit.reasons) == ("failed", (f"pod train-1-abcde {reason}",))


@pytest.mark.parametrize("condition", [(), (true("Complete"),)], ids=["runs", "finished"])
def test_secrets_are_not_asked_for_when_nothing_is_shown(condition: tuple[dict[str, str], ...]) -> None:
    def never() -> NoReturn:
        pytest.fail("asked for secrets")

    [unit] = jobs.units(PLAN, None, cast(Connection, Cluster("swordfish", *condition)), never)
    assert unit.status in ("waiting", "running", "finished")
