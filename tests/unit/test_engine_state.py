"""What `pulumi stack export` prints. The documents are as Pulumi 3.274 writes them, shortened."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from xmgen.pulumi_cli import state
from xmgen.pulumi_cli.state import PendingOperation, StateResource

STACK = "urn:pulumi:dev::experiments::pulumi:pulumi:Stack::experiments-dev"
PROVIDER = "urn:pulumi:dev::experiments::pulumi:providers:gcp::default"
NETWORK = "urn:pulumi:dev::experiments::gcp:compute/network:Network::net"


def export(**deployment: Any) -> str:
    return json.dumps({"version": 3, "deployment": deployment})


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            {"urn": STACK, "type": "pulumi:pulumi:Stack", "custom": False},
            {"urn": STACK, "type": "pulumi:pulumi:Stack"},
        ),
        (
            {
                "urn": NETWORK,
                "type": "gcp:compute/network:Network",
                "id": "projects/p/global/networks/net",
                "custom": True,
                "provider": f"{PROVIDER}::f00",
                "inputs": {"name": "net"},
                "outputs": {"name": "net", "mtu": 1460},
                "initErrors": ["too late"],
                "delete": True,
                "pendingReplacement": True,
                "retainOnDelete": True,
            },
            {
                "urn": NETWORK,
                "type": "gcp:compute/network:Network",
                "id": "projects/p/global/networks/net",
                "custom": True,
                "provider": f"{PROVIDER}::f00",
                "inputs": {"name": "net"},
                "outputs": {"name": "net", "mtu": 1460},
                "errors": ("too late",),
                "delete": True,
                "pending_replacement": True,
                "retain_on_delete": True,
            },
        ),
        # As an event has it, or a resource that never came to have any.
        ({"outputs": None, "inputs": None, "initErrors": None}, {}),
    ],
)
def test_a_resource_is_what_its_document_says(document: dict[str, Any], expected: dict[str, Any]) -> None:
    nothing = {"urn": "", "type": "", "id": "", "custom": False, "provider": "", "inputs": {}, "outputs": {}}
    nothing |= {"errors": (), "delete": False, "pending_replacement": False, "retain_on_delete": False}
    assert StateResource.of(document) == StateResource(**{**nothing, **expected, "document": document})
    assert state.resources(export(resources=[document])) == [StateResource.of(document)]


@pytest.mark.parametrize(
    ("urn", "type", "expected"),
    [
        (STACK, "pulumi:pulumi:Stack", ("experiments-dev", True)),
        (PROVIDER, "pulumi:providers:gcp", ("default", True)),
        (NETWORK, "gcp:compute/network:Network", ("net", False)),
    ],
)
def test_stacks_and_providers_are_pulumis_own(urn: str, type: str, expected: tuple[str, bool]) -> None:
    resource = StateResource.of({"urn": urn, "type": type})
    assert (resource.name, resource.is_pulumis_own) == expected


def test_what_the_engine_did_not_see_end() -> None:
    network = {"urn": NETWORK, "type": "gcp:compute/network:Network"}
    pending = [{"resource": network, "type": "creating"}, {"resource": network, "type": "deleting"}]
    assert state.pending_operations(export(pending_operations=pending)) == [
        PendingOperation("creating", StateResource.of(network)),
        PendingOperation("deleting", StateResource.of(network)),
    ]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ({"time": "2026-05-01T14:05:00.123456789+02:00"}, datetime(2026, 5, 1, 12, 5, 0, 123456, tzinfo=UTC)),
        ({}, None),
        (None, None),
    ],
)
def test_when_it_was_saved(manifest: dict[str, Any] | None, expected: datetime | None) -> None:
    assert state.saved_at(export(manifest=manifest)) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 3, "deployment": {"resources": null, "pending_operations": null}}',
        '{"version": 3, "deployment": {"manifest": {}}}',
        '{"version": 3, "deployment": null}',
        '{"version": 3}',
        "null",
    ],
)
def test_a_stack_that_was_never_up_has_nothing(text: str) -> None:
    assert (state.resources(text), state.pending_operations(text), state.saved_at(text)) == ([], [], None)
