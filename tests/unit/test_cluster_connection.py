"""How the cluster of a stack is reached: by the kubeconfig in its state, with the credentials of whoever runs `up`."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from xmgen.engine import kubernetes
from xmgen.engine.session import Session
from xmgen.errors import OperationError
from xmgen.pulumi_values import SECRET, SIGNATURE
from xmgen.rehearsal import certificates
from xmgen.rehearsal.servers import free_port

AUTHORITY = certificates.authority("test").certificate_pem()
PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "auth-plugin", "provideClusterInfo": True}
GIVES_A_TOKEN = """#!/bin/sh
case "$KUBERNETES_EXEC_INFO" in *https://127.0.0.1*) echo '{"status": {"token": "secret"}}';; esac
"""


def kubeconfig(user: object, server: str | None = None) -> str:
    cluster = {
        "server": server or f"https://127.0.0.1:{free_port()}",
        "certificate-authority-data": base64.b64encode(AUTHORITY).decode(),
    }
    return json.dumps(
        {
            "current-context": "gke",
            "contexts": [{"name": "gke", "context": {"cluster": "gke", "user": "gke"}}],
            "clusters": [{"name": "gke", "cluster": cluster}],
            "users": [{"name": "gke", "user": user}],
        }
    )


def export(*kubeconfigs: object) -> str:
    providers = [
        {
            "urn": f"urn:pulumi:s::experiments::pulumi:providers:kubernetes::p{number}",
            "type": kubernetes.PROVIDER,
            "inputs": {"kubeconfig": each},
        }
        for number, each in enumerate(kubeconfigs)
    ]
    return json.dumps({"version": 3, "deployment": {"resources": providers}})


def session(folder: Path, *, decrypted: str = "") -> Session:
    """folder: the PATH. decrypted: the state with its secrets."""

    def run(*arguments: str) -> str:
        assert arguments == ("stack", "export", "--show-secrets", "--stack", "s")
        return decrypted

    environment = {"PATH": str(folder)}
    return cast(Session, SimpleNamespace(stack="s", pulumi=SimpleNamespace(environment=lambda: environment, run=run)))


def plugin(folder: Path, script: str) -> None:
    file = folder / "auth-plugin"
    file.write_text(script)
    file.chmod(0o755)


def reached(work: Session, state: str) -> str:
    """What a user is told who asks for the Jobs."""
    with pytest.raises(OperationError) as error:
        connection = kubernetes.connect(work, state)
        assert connection is not None
        connection.items("/apis/batch/v1/namespaces/s/jobs")
    return str(error.value)


def test_a_stack_that_is_not_up_has_no_cluster(tmp_path: Path) -> None:
    assert kubernetes.connect(session(tmp_path), export()) is None


@pytest.mark.parametrize("user", [{"exec": PLUGIN}, {"token": "secret"}])
def test_a_cluster_that_does_not_answer(user: dict[str, Any], tmp_path: Path) -> None:
    plugin(tmp_path, GIVES_A_TOKEN)
    assert "cannot be reached: [Errno 111] Connection refused" in reached(session(tmp_path), export(kubeconfig(user)))


def test_a_kubeconfig_that_is_secret_is_decrypted(tmp_path: Path) -> None:
    text = kubeconfig({"token": "secret"})
    encrypted = export({SIGNATURE: SECRET, "ciphertext": "v1:abc"})
    decrypted = export({SIGNATURE: SECRET, "plaintext": json.dumps(text)})
    assert "cannot be reached" in reached(session(tmp_path, decrypted=decrypted), encrypted)


def test_of_several_clusters_it_is_the_one_with_the_jobs(tmp_path: Path) -> None:
    content = json.loads(export(kubeconfig({"token": "a"}, "https://other"), kubeconfig({"token": "b"})))
    resources = content["deployment"]["resources"]
    job = {"urn": "urn::Job::a", "type": "kubernetes:batch/v1:Job", "provider": f"{resources[1]['urn']}::1234"}
    state = json.dumps({**content, "deployment": {"resources": [*resources, job]}})
    assert "the cluster at 127.0.0.1:" in reached(session(tmp_path), state)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (None, "auth-plugin is not on PATH, which gives credentials for the cluster"),
        ("#!/bin/sh\necho no account >&2; exit 1\n", "auth-plugin gives no credentials: no account"),
        ("#!/bin/sh\nexit 3\n", "auth-plugin gives no credentials: exit code 3"),
        ("#!/bin/sh\necho nonsense\n", "auth-plugin gives no credentials: its answer holds no token"),
    ],
)
def test_no_credentials(script: str | None, told: str, tmp_path: Path) -> None:
    if script is not None:
        plugin(tmp_path, script)
    assert told in reached(session(tmp_path), export(kubeconfig({"exec": PLUGIN})))


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("nonsense", "the kubeconfig in the stack's state cannot be understood"),
        (kubeconfig({"token": "a"}, "http://127.0.0.1"), "the cluster's address is no https URL: http://127.0.0.1"),
        (kubeconfig({}), "no credentials"),
    ],
)
def test_a_kubeconfig_of_no_use(config: str, told: str, tmp_path: Path) -> None:
    assert told in reached(session(tmp_path), export(config))
