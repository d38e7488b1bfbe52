"""A job's way to a Cloud SQL instance: Google's Auth proxy as a native sidecar, which starts first and ends last."""

from __future__ import annotations

from typing import cast

from xmgen.executors.gke import security as kubernetes_security
from xmgen.plan.model import Manifest, Value

SOCKETS = "/tmp/cloudsql"  # noqa: S108 — in the containers
PROXY_IMAGE = "gcr.io/cloud-sql-connectors/cloud-sql-proxy:2.18.2"
ROLE = "roles/cloudsql.client"
"""What the jobs' account needs."""
_VOLUME = "cloud-sql"


def add_proxy(pod: Manifest, instance: str) -> None:
    """Put the proxy into a pod; its containers find the instance's socket below /tmp/cloudsql.

    instance: the connection name, `project:region:instance`.
    """
    mount: Value = {"name": _VOLUME, "mountPath": SOCKETS}
    proxy: Manifest = {
        "name": "cloud-sql-proxy",
        "image": PROXY_IMAGE,
        # Kubernetes ends such a container when the job's own has ended.
        "restartPolicy": "Always",
        "args": ["--unix-socket", SOCKETS, "--http-address=0.0.0.0", "--health-check", "--quiet", instance],
        # The job starts when the proxy listens.
        "startupProbe": {"httpGet": {"path": "/startup", "port": 9090}, "periodSeconds": 1, "failureThreshold": 60},
        "securityContext": dict(kubernetes_security.CONTAINER),
        # It uses next to nothing: no machine should be larger for it.
        "resources": {"requests": {"cpu": "0", "memory": "0"}},
        "volumeMounts": [mount],
    }
    pod["initContainers"] = [*cast(list[Value], pod.get("initContainers") or []), proxy]
    for container in cast(list[dict[str, list[Value]]], pod["containers"]):
        container["volumeMounts"] = [*container["volumeMounts"], mount]
    pod["volumes"] = [*cast(list[Value], pod["volumes"]), {"name": _VOLUME, "emptyDir": {}}]
