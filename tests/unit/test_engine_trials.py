"""What the stack's state says of trials."""

from __future__ import annotations

import json

import pytest

from xmgen.pulumi_cli import trials
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_cli.trials import Trial
from xmgen.pulumi_values import SECRET, SIGNATURE


def export(*resources: dict[str, object]) -> str:
    return json.dumps({"version": 3, "deployment": {"resources": resources}})


def run(name: str, **fields: object) -> dict[str, object]:
    return {"urn": f"urn:pulumi:dev::experiments::xmgen:local:Run::{name}", "type": "xmgen:local:Run", **fields}


def test_runs_are_known_by_name_and_what_was_replaced_is_none() -> None:
    stack = {"urn": "urn:pulumi:dev::experiments::pulumi:pulumi:Stack::experiments-dev", "type": "pulumi:pulumi:Stack"}
    assert trials.unit_states(export(stack, run("a"), run("b", delete=True))) == {"a": StateResource.of(run("a"))}


@pytest.mark.parametrize("text", ['{"version": 3, "deployment": {"manifest": {}}}', '{"version": 3}', "null"])
def test_a_stack_that_was_never_up_has_none(text: str) -> None:
    assert trials.unit_states(text) == {}


OUTPUTS = {
    "exitCode": 0.0,
    "durationSeconds": 1.5,
    "metrics": {"accuracy": 0.9},
    "logPath": ".xmgen/dev/runs/a",
    "outputPath": ".xmgen/dev/runs/a/output",
}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (None, Trial(name="a", arguments={"rate": "1"}, status="waiting")),
        (
            run("a", outputs=OUTPUTS),
            Trial(
                name="a",
                arguments={"rate": "1"},
                status="finished",
                exit_code=0,
                duration=1.5,
                metrics={"accuracy": 0.9},
                log=".xmgen/dev/runs/a",
                output=".xmgen/dev/runs/a/output",
            ),
        ),
        (
            run("a", outputs={"exitCode": 3.0}, initErrors=["job train exited with 3"]),
            Trial(
                name="a",
                arguments={"rate": "1"},
                status="failed",
                exit_code=3,
                reasons=("job train exited with 3",),
            ),
        ),
        (
            run("a", outputs={"metrics": {SIGNATURE: SECRET, "ciphertext": "v1:abc"}}),
            Trial(name="a", arguments={"rate": "1"}, status="finished"),
        ),
    ],
)
def test_a_trial_is_what_its_resource_says(state: dict[str, object] | None, expected: Trial) -> None:
    assert trials.trial("a", {"rate": "1"}, None if state is None else StateResource.of(state)) == expected


def test_secrets_are_never_shown() -> None:
    secret = {SIGNATURE: SECRET, "ciphertext": "v1:abc"}
    assert trials.visible({"a": [1, {"b": secret}], "c": secret}) == {"a": [1, {"b": "[secret]"}], "c": "[secret]"}


@pytest.mark.parametrize(
    ("kinds", "up"),
    [
        (None, False),
        ([], False),
        (["pulumi:pulumi:Stack", "pulumi:providers:gcp"], False),
        (["pulumi:pulumi:Stack", "gcp:compute/network:Network"], True),
    ],
)
def test_a_stack_is_up_when_there_is_anything_of_it(kinds: list[str] | None, up: bool) -> None:
    resources = [{"urn": f"urn:pulumi:dev::experiments::{kind}::x", "type": kind} for kind in kinds or []]
    export = None if kinds is None else json.dumps({"deployment": {"resources": resources}})
    assert trials.is_up(export) is up
