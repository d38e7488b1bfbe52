"""How the cluster of a stack is reached: by the kubeconfig in its state, with the credentials of whoever runs `up`."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from xmgen.errors import OperationError
from xmgen.executors.gke import connection as kubernetes
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_values import SECRET, SIGNATURE
from xmgen.rehearsal import certificates
from xmgen.rehearsal.servers import free_port
from xmgen.resource_types import PROVIDER

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
            "type": PROVIDER,
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


class Told(BaseHTTPRequestHandler):
    """Answers what it was told of who asks; `/elsewhere?…` leads to another address."""

    def do_GET(self) -> None:
        path, _, address = self.path.partition("?")
        self.send_response(302 if path == "/elsewhere" else 200)
        self.send_header("Location", address)
        self.end_headers()
        self.wfile.write(f"token: {self.headers['Authorization']}".encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[str, str, str]]:
    """The addresses of a cluster and of somebody else, and the certificate of who vouches for the first."""
    issuer = certificates.authority("test")
    own = certificates.server("cluster", issuer, ["127.0.0.1"], [])
    file = tmp_path / "server.pem"
    file.write_bytes(own.certificate_pem() + certificates.key_pem(own.key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with ThreadingHTTPServer(("127.0.0.1", 0), Told) as cluster, ThreadingHTTPServer(("127.0.0.1", 0), Told) as other:
        cluster.socket = context.wrap_socket(cluster.socket, server_side=True)
        threads = [threading.Thread(target=each.serve_forever) for each in (cluster, other)]
        for thread in threads:
            thread.start()
        places = [f"127.0.0.1:{each.server_address[1]}" for each in (cluster, other)]
        yield f"https://{places[0]}", f"http://{places[1]}", issuer.certificate_pem().decode()
        for server, thread in zip((cluster, other), threads, strict=True):
            server.shutdown()
            thread.join()


def test_the_token_is_for_the_cluster_alone(servers: tuple[str, str, str]) -> None:
    cluster, other, authority = servers
    connection = kubernetes.Connection(cluster, authority, "secret")
    assert connection.text("/version") == "token: Bearer secret"
    assert connection.text(f"/elsewhere?{other}/version") == "token: None"


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
