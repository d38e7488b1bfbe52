"""What simulated nodes do with pods, as Stage objects for kwok: run them, end them, delete them.

A pod's annotations say how it is to go, see `director`; without any it runs for the usual time and succeeds.
"""

from __future__ import annotations

from typing import Any

OUTCOME = "rehearsal.xmgen/outcome"
"""Annotation of a pod: one of `outcomes.OUTCOMES`, UNTOLD, or SHUT_DOWN."""

UNTOLD = "untold"
"""The outcome of a pod that runs on until it is told another."""

SHUT_DOWN = "shut-down"
"""The outcome of a pod whose node is reclaimed now."""

SECONDS = "rehearsal.xmgen/seconds"
"""Annotation of a pod: how long it runs, as Go writes durations (`90s`)."""

EXIT_CODE = "rehearsal.xmgen/exit-code"
"""Annotation of a pod that fails."""

LOG = "rehearsal.xmgen/log"
"""Annotation of a pod: what it prints."""

OOM_EXIT_CODE = 137
SIGTERM_EXIT_CODE = 143

_ANNOTATION = '.metadata.annotations["{}"]'
_DELETION = ".metadata.deletionTimestamp"
_PHASE = ".status.phase"
_KUBELET = ".status.daemonEndpoints.kubeletEndpoint.Port"

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
{{{{ $code := {code} }}}}
conditions:
{{{{ range $type := list "ContainersReady" "Ready" }}}}
- lastTransitionTime: {{{{ $now | Quote }}}}
  reason: {condition}
  status: "False"
  type: {{{{ $type }}}}
{{{{ end }}}}
{more}
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
      exitCode: {{{{ $code }}}}
      finishedAt: {{{{ $now | Quote }}}}
      reason: {reason}
      startedAt: {{{{ $started | Quote }}}}
{{{{ end }}}}
phase: {phase}
"""

# As a kubelet ends pods whose node shuts down, which it does when Google reclaims it (Kubernetes documentation, Node
# Shutdowns; Pod disruption conditions).
_WHY_SHUT_DOWN = "Pod was terminated in response to imminent node shutdown."
_DISRUPTED = f"""- lastTransitionTime: {{{{ $now | Quote }}}}
  message: {_WHY_SHUT_DOWN}
  reason: TerminationByKubelet
  status: "True"
  type: DisruptionTarget"""
_SHUT_DOWN = f"""
message: {_WHY_SHUT_DOWN}
reason: Terminated
"""


_READY = """
{{{{ $now := Now }}}}
addresses:
- address: {{{{ NodeIP | Quote }}}}
  type: InternalIP
conditions:
- lastHeartbeatTime: {{{{ $now | Quote }}}}
  lastTransitionTime: {{{{ $now | Quote }}}}
  message: simulated
  reason: KubeletReady
  status: "True"
  type: Ready
daemonEndpoints:
  kubeletEndpoint:
    Port: {port}
"""
"""What a node can hold is for its pool to say; that it goes on living, kwok says by its lease."""


def stages(seconds: float, kubelet_port: int) -> list[dict[str, Any]]:
    """seconds: how long a pod of a Job runs that does not say. kubelet_port: where the nodes' pods have their logs."""
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
    succeeded = _ENDED.format(condition="PodCompleted", code=0, reason="Completed", phase="Succeeded", more="")
    code = f'index .metadata.annotations "{EXIT_CODE}"'
    failed = _ENDED.format(condition="PodFailed", code=code, reason="Error", phase="Failed", more="")
    killed = _ENDED.format(condition="PodFailed", code=OOM_EXIT_CODE, reason="OOMKilled", phase="Failed", more="")
    evicted = _SHUT_DOWN + _ENDED.format(
        condition="PodFailed", code=SIGTERM_EXIT_CODE, reason="Error", phase="Failed", more=_DISRUPTED
    )
    ready = {"statusTemplate": _READY.format(port=kubelet_port)}
    return [
        _stage(
            "node-ready",
            [_requires('.status.conditions.[] | select( .type == "Ready" ) | .status', "NotIn", "True")],
            ready,
            kind="Node",
        ),
        # Of a control plane that is started again.
        _stage(
            "node-moved",
            [
                _requires(_KUBELET, "Exists"),
                _requires(_KUBELET, "NotIn", str(kubelet_port)),
            ],
            ready,
            kind="Node",
        ),
        _stage(
            "pod-run",
            [_requires(_DELETION, "DoesNotExist"), _requires(".status.podIP", "DoesNotExist")],
            {"statusTemplate": _RUNNING},
        ),
        _stage(
            "pod-succeed",
            [*of_a_job, _requires(outcome, "NotIn", "fail", "oom", "evict", "hang", SHUT_DOWN, UNTOLD)],
            {"statusTemplate": succeeded},
            delay,
        ),
        _stage("pod-fail", [*of_a_job, _requires(outcome, "In", "fail")], {"statusTemplate": failed}, delay),
        _stage("pod-oom", [*of_a_job, _requires(outcome, "In", "oom")], {"statusTemplate": killed}, delay),
        # In the place of what was to become of the pod: kwok does that later whatever its status is by then.
        _stage("pod-shut-down", [*of_a_job, _requires(outcome, "In", SHUT_DOWN)], {"statusTemplate": evicted}),
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
