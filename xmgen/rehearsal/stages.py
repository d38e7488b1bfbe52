"""What simulated nodes do with pods, as Stage objects for kwok: run them, end them, delete them.

A pod says by annotations, which `annotate` of the cluster can add at admission, how it is to go; without any it runs
for the rehearsal's usual time and succeeds.
"""

from __future__ import annotations

from typing import Any

OUTCOME = "rehearsal.xmgen/outcome"
"""Annotation of a pod: `succeed`, `fail`, `hang` (runs until it is deleted)."""

SECONDS = "rehearsal.xmgen/seconds"
"""Annotation of a pod: how long it runs, as Go writes durations (`90s`)."""

FAILED_EXIT_CODE = 1

_ANNOTATION = '.metadata.annotations["{}"]'
_DELETION = ".metadata.deletionTimestamp"
_PHASE = ".status.phase"

_RUNNING = """
{{ $now := Now }}
conditions:
{{ range $type := list "Initialized" "PodReadyToStartContainers" "ContainersReady" "Ready" }}
- lastTransitionTime: {{ $now | Quote }}
  status: "True"
  type: {{ $type }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- image: {{ .image | Quote }}
  imageID: ""
  name: {{ .name | Quote }}
  ready: true
  restartCount: 0
  started: true
  state:
    running:
      startedAt: {{ $now | Quote }}
{{ end }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
phase: Running
startTime: {{ $now | Quote }}
"""  # noqa: E501 (a template of kwok's, one call)

_ENDED = """
{{{{ $now := Now }}}}
{{{{ $started := .status.startTime }}}}
conditions:
{{{{ range $type := list "ContainersReady" "Ready" }}}}
- lastTransitionTime: {{{{ $now | Quote }}}}
  reason: {condition}
  status: "False"
  type: {{{{ $type }}}}
{{{{ end }}}}
containerStatuses:
{{{{ range .spec.containers }}}}
- image: {{{{ .image | Quote }}}}
  imageID: ""
  name: {{{{ .name | Quote }}}}
  ready: false
  restartCount: 0
  started: false
  state:
    terminated:
      exitCode: {code}
      finishedAt: {{{{ $now | Quote }}}}
      reason: {reason}
      startedAt: {{{{ $started | Quote }}}}
{{{{ end }}}}
phase: {phase}
"""


_READY = """
{{ $now := Now }}
addresses:
- address: {{ NodeIP | Quote }}
  type: InternalIP
conditions:
- lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $now | Quote }}
  message: simulated
  reason: KubeletReady
  status: "True"
  type: Ready
"""
"""What a node can hold is for its pool to say; that it goes on living, kwok says by its lease."""


def stages(seconds: float) -> list[dict[str, Any]]:
    """seconds: how long a pod of a Job runs that does not say."""
    outcome = _ANNOTATION.format(OUTCOME)
    of_a_job = [
        _requires(_DELETION, "DoesNotExist"),
        _requires(_PHASE, "In", "Running"),
        _requires(".metadata.ownerReferences.[].kind", "In", "Job"),
    ]
    delay = {
        "durationMilliseconds": round(seconds * 1000),
        "durationFrom": {"expressionFrom": _ANNOTATION.format(SECONDS)},
    }
    succeeded = _ENDED.format(condition="PodCompleted", code=0, reason="Completed", phase="Succeeded")
    failed = _ENDED.format(condition="PodFailed", code=FAILED_EXIT_CODE, reason="Error", phase="Failed")
    return [
        _stage(
            "node-ready",
            [_requires('.status.conditions.[] | select( .type == "Ready" ) | .status', "NotIn", "True")],
            {"statusTemplate": _READY},
            kind="Node",
        ),
        _stage(
            "pod-run",
            [_requires(_DELETION, "DoesNotExist"), _requires(".status.podIP", "DoesNotExist")],
            {"statusTemplate": _RUNNING},
        ),
        _stage(
            "pod-succeed",
            [*of_a_job, _requires(outcome, "NotIn", "fail", "hang")],
            {"statusTemplate": succeeded},
            delay,
        ),
        _stage("pod-fail", [*of_a_job, _requires(outcome, "In", "fail")], {"statusTemplate": failed}, delay),
        _stage("pod-delete", [_requires(_DELETION, "Exists")], {"finalizers": {"empty": False}, "delete": True}),
    ]


def _stage(
    name: str,
    selector: list[dict[str, Any]],
    following: dict[str, Any],
    delay: dict[str, Any] | None = None,
    *,
    kind: str = "Pod",
) -> dict[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": selector},
            **({"delay": delay} if delay else {}),
            "next": following,
        },
    }


def _requires(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
