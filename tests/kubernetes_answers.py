"""Jobs and pods as Kubernetes' API tells of them."""

from __future__ import annotations

from typing import Any


def true(type: str, **fields: str) -> dict[str, str]:
    return {"type": type, "status": "True", **fields}


def job(*conditions: dict[str, str], **spec: object) -> dict[str, Any]:
    return {"metadata": {"name": "train-1"}, "spec": spec, "status": {"conditions": list(conditions)}}


def ended(code: int, reason: str = "Error", at: str = "2026-01-01T00:00:00Z", name: str = "train") -> dict[str, Any]:
    return {"name": name, "state": {"terminated": {"exitCode": code, "reason": reason, "finishedAt": at}}}


def pod(
    phase: str,
    *conditions: dict[str, str],
    name: str = "train-1-abcde",
    node: str | None = "gke-1",
    containers: tuple[dict[str, Any], ...] = (),
    deleted: bool = False,
    **status: str,
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {})},
        "spec": {"containers": [{"name": "train"}], **({"nodeName": node} if node else {})},
        "status": {"phase": phase, "conditions": list(conditions), "containerStatuses": list(containers), **status},
    }
