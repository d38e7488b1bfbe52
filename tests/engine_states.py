"""States as the engine exports them: of resources that are there, and of operations that were begun."""

from __future__ import annotations

import json
from typing import Any

PROVIDER_URN = "urn:pulumi:dev::experiments::pulumi:providers:gcp::default"
PROVIDER = {
    "urn": PROVIDER_URN,
    "type": "pulumi:providers:gcp",
    "id": "f00",
    "custom": True,
    "inputs": {"project": "acme"},
}


def resource(type: str, name: str, **fields: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:dev::experiments::{type}::{name}"
    return {"urn": urn, "type": type, "custom": True, "provider": f"{PROVIDER_URN}::f00", **fields}


NETWORK = resource("gcp:compute/network:Network", "net", inputs={"name": "net-1234567"})
NETWORK_ID = "projects/acme/global/networks/net-1234567"
IMAGE = resource("docker-build:index:Image", "image", inputs={})
RUN = resource("xmgen:local:Run", "train", inputs={})
TENSORBOARD = resource("gcp:vertex/aiTensorboard:AiTensorboard", "runs", inputs={"region": "r1"})


def state(*resources: dict[str, Any], **pending: list[dict[str, Any]]) -> str:
    operations = [{"resource": each, "type": kind} for kind, found in pending.items() for each in found]
    return json.dumps(
        {"version": 3, "deployment": {"resources": [PROVIDER, *resources], "pending_operations": operations}}
    )
