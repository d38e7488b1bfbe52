"""Jobs that serve the others of their group and never end by themselves, such as a parameter server.

Kubernetes knows no such Job. What it knows is a native sidecar, which it ends when the pod's own containers have: the
service is one, and the pod's own container waits until the Jobs of the others have ended, as the API server says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xmgen.catalog.allocatable import MIB, Resources
from xmgen.executors.dockerfile import DEFAULT_BASE_IMAGE
from xmgen.executors.gke import security as kubernetes_security
from xmgen.plan.model import Manifest, Value
from xmgen.program.manifests import Script

WAITER = "until-the-others-end"
"""The name of the container that waits."""
REQUESTS = Resources(cpu_millis=10, memory_bytes=32 * MIB, disk_bytes=0)
"""What it requests beside the service."""
ROLE = "services"
"""The right to look at Jobs, of the stack's namespace."""

_API = "api"
_FOLDER = "/var/run/secrets/xmgen"
_SCRIPT = Script(
    f"""\
import json, ssl, sys, time
from http.client import HTTPException
from urllib.request import Request, urlopen

namespace, *jobs = sys.argv[1:]
url = f"https://kubernetes.default.svc/apis/batch/v1/namespaces/{{namespace}}/jobs/"
trusted = ssl.create_default_context(cafile="{_FOLDER}/ca.crt")

def has_ended(job):
    with open("{_FOLDER}/token") as token:
        request = Request(url + job, headers={{"Authorization": "Bearer " + token.read()}})
    try:
        with urlopen(request, context=trusted, timeout=30) as answer:
            conditions = json.load(answer)["status"].get("conditions", [])
    # It is not there yet, or the control plane is being upgraded, which may cut off an answer.
    except (OSError, HTTPException, ValueError) as error:
        print(repr(error), flush=True)
        return False
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)

while jobs := [job for job in jobs if not has_ended(job)]:
    time.sleep(10)
"""
)


def end_with(pod: Manifest, namespace: str, jobs: Sequence[str]) -> None:
    """Make the pod's program a sidecar that ends when these Jobs have ended, well or not."""
    [service] = cast(list[Manifest], pod["containers"])
    others, volumes = cast(list[Value], pod.pop("initContainers", [])), cast(list[Value], pod.pop("volumes"))
    del pod["containers"]
    # After the other sidecars, which it may need.
    pod["initContainers"] = [*others, {**service, "restartPolicy": "Always"}]
    waiter: Manifest = {
        "name": WAITER,
        "image": DEFAULT_BASE_IMAGE,
        "command": ["python", "-c", _SCRIPT, namespace, *jobs],
        "securityContext": dict(kubernetes_security.CONTAINER),
        "resources": {"requests": {"cpu": f"{REQUESTS.cpu_millis}m", "memory": f"{REQUESTS.memory_bytes // MIB}Mi"}},
        "volumeMounts": [{"name": _API, "mountPath": _FOLDER, "readOnly": True}],
    }
    pod["containers"] = [waiter]
    # This container alone has a token for Kubernetes' API.
    sources: list[Value] = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]
    pod["volumes"] = [*volumes, {"name": _API, "projected": {"sources": sources}}]


def is_service(job: Manifest) -> bool:
    """Whether a Job is one of these."""
    pod = cast(dict[str, dict[str, dict[str, list[Manifest]]]], job["spec"])["template"]["spec"]
    return any(container["name"] == WAITER for container in pod["containers"])


def rights(namespace: str, account: str) -> list[Manifest]:
    """What the pods of services need: their account may look at Jobs."""
    group = "rbac.authorization.k8s.io"
    metadata: Manifest = {"name": ROLE, "namespace": namespace}
    return [
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": ROLE},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        },
    ]
