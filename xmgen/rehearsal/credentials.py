"""Who may do what with a control plane: keys, certificates and tokens of its own, made once per folder.

They are kept, so that clients that remember a control plane know it again after a restart.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xmgen import extras
from xmgen.errors import OperationError

ADMIN = "admin"
USERS: Mapping[str, tuple[str, ...]] = {
    ADMIN: ("system:masters",),
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
    "kwok": ("system:masters",),
}
"""Users, and the group of those that may do everything. Kubernetes gives its two components their roles by name."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files in the control plane's folder, which only this user can read."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The certificate by which clients know the API server."""
        return self.folder / "ca.crt"

    @property
    def server_certificate(self) -> Path:
        return self.folder / "server.crt"

    @property
    def server_key(self) -> Path:
        return self.folder / "server.key"

    @property
    def kubelet_client_certificate(self) -> Path:
        """By which kubelets know the API server."""
        return self.folder / "kubelet-client.crt"

    @property
    def kubelet_client_key(self) -> Path:
        return self.folder / "kubelet-client.key"

    @property
    def service_accounts_key(self) -> Path:
        """Signs the tokens of service accounts."""
        return self.folder / "service-accounts.key"

    @property
    def tokens(self) -> Path:
        """One line per user: token, name, uid, and the group if there is one."""
        return self.folder / "tokens.csv"

    def token(self, user: str) -> str:
        for line in self.tokens.read_text(encoding="ascii").splitlines():
            token, name, *_ = line.split(",")
            if name == user:
                return token
        raise ValueError(f"unknown user {user!r}")

    def kubeconfig(self, user: str, server: str) -> dict[str, Any]:
        """What a client needs to act as `user`; server: the API server's URL."""
        authority = base64.b64encode(self.authority.read_bytes()).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "rehearsal",
            "clusters": [{"name": "rehearsal", "cluster": {"server": server, "certificate-authority-data": authority}}],
            "contexts": [{"name": "rehearsal", "context": {"cluster": "rehearsal", "user": user}}],
            "users": [{"name": user, "user": {"token": self.token(user)}}],
        }


def ensure(folder: Path) -> Credentials:
    """The credentials in this folder, made if it has none."""
    credentials = Credentials(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Written last: without it the others may be incomplete. Those of an earlier version lack the client's.
    if not (credentials.tokens.exists() and credentials.kubelet_client_key.exists()):
        _make_certificates(credentials)
        write_private(credentials.tokens, "".join(map(_token_line, USERS)).encode())
    return credentials


def _token_line(user: str) -> str:
    columns = [secrets.token_urlsafe(32), user, user, *USERS[user]]
    return ",".join(columns) + "\n"


def write_private(path: Path, content: bytes) -> None:
    """Replace a file that only this user can read."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    part.replace(path)


def _make_certificates(credentials: Credentials) -> None:
    """An authority, and the API server's keys and certificates. The authority's own key is not kept."""
    try:
        from xmgen.rehearsal import certificates
    except ImportError as error:
        raise OperationError(extras.missing_in_rehearsal(str(error.name))) from None

    authority = certificates.authority("xmgen rehearsal")
    server = certificates.server(
        "kube-apiserver", authority, addresses=["127.0.0.1"], hosts=["localhost", "kubernetes.default.svc"]
    )
    client = certificates.client("kube-apiserver-kubelet-client", authority)
    write_private(credentials.authority, authority.certificate_pem())
    write_private(credentials.server_certificate, server.certificate_pem())
    write_private(credentials.server_key, certificates.key_pem(server.key))
    write_private(credentials.kubelet_client_certificate, client.certificate_pem())
    write_private(credentials.kubelet_client_key, certificates.key_pem(client.key))
    write_private(credentials.service_accounts_key, certificates.key_pem(certificates.new_key()))
