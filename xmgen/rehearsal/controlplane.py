"""A real Kubernetes control plane on this machine, which never outlives the process that started it.

    with ControlPlane(folder, binaries) as control_plane:
        ...  # control_plane.kubeconfig is a file for any Kubernetes client

Everything lies in one folder, which only this user can read: credentials, logs, and etcd's data, so that a control
plane that is started again there is the same one, at the same address. etcd listens on a socket in it, the API server
on a port of the loopback interface.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from xmgen.errors import OperationError, Problem
from xmgen.rehearsal import sweeper
from xmgen.rehearsal.api import Api
from xmgen.rehearsal.credentials import ADMIN, Credentials, ensure, write_private
from xmgen.rehearsal.servers import LOOPBACK, FolderLock, Server, free_port, wait_for_port

READY_SECONDS = 60.0
"""More than enough on a busy machine; a second for etcd and three for the API server is usual."""

FREE_SECONDS = 15.0
"""How long servers of a starter that was killed may take to end."""

SERVICE_ADDRESSES = "10.96.0.0/16"
"""Nobody answers there, but a Service gets an address."""

_ETCD_SOCKET = "etcd.sock"


@dataclass(frozen=True, slots=True)
class Binaries:
    """The programs of a control plane, by path."""

    etcd: Path
    kube_apiserver: Path

    @classmethod
    def find(cls, folder: Path) -> Binaries:
        """In a folder, else on PATH. Raises OperationError that names all that are missing."""
        found = find_programs(folder, ("etcd", "kube-apiserver"))
        return cls(etcd=found["etcd"], kube_apiserver=found["kube-apiserver"])


def find_programs(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Programs by name, in a folder, else on PATH. Raises OperationError that names all that are missing."""
    found: dict[str, Path] = {}
    problems: list[Problem] = []
    for name in names:
        path = shutil.which(name, path=f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
        if path is None:
            problems.append(
                Problem(f"{name} is missing", hint=f"`make .tools/bin/{name}` in xmgen's checkout builds it")
            )
        else:
            found[name] = Path(path).absolute()
    if problems:
        raise OperationError(*problems)
    return found


class ControlPlane:
    """etcd and an API server, from `start` to `stop`; as a context manager, from begin to end."""

    def __init__(self, folder: Path, binaries: Binaries) -> None:
        self.folder = folder.absolute()
        self._binaries = binaries
        self._lock: FolderLock | None = None
        self._servers: dict[str, Server] = {}
        self._commands: dict[str, Sequence[str]] = {}
        self._port = 0

    @property
    def url(self) -> str:
        """The API server's; it stays the same when the control plane is started again."""
        return f"https://{LOOPBACK}:{self._port}"

    @property
    def kubeconfig(self) -> Path:
        """Of a user who may do everything."""
        return self.folder / "kubeconfig"

    @property
    def credentials(self) -> Credentials:
        return Credentials(self.folder / "credentials")

    def api(self, user: str = ADMIN) -> Api:
        """Requests in the name of a user, see `credentials.USERS`."""
        return Api(self._port, self.credentials.authority, self.credentials.token(user))

    def start(self) -> None:
        """Returns when the API server is ready. Raises OperationError when it cannot be started."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self._lock = FolderLock(self.folder, FREE_SECONDS)
        try:
            ensure(self.credentials.folder)
            self._port = self._choose_port()
            # That of an etcd that was killed.
            (self.folder / _ETCD_SOCKET).unlink(missing_ok=True)
            for name, command in (("etcd", self._etcd()), ("kube-apiserver", self._api_server())):
                before = list(self._servers.values())
                self._start(name, command).wait_until(self._readiness(name), READY_SECONDS, before)
            # Now the port is known to be ours.
            write_private(self._kept_port, str(self._port).encode())
            config = self.credentials.kubeconfig(ADMIN, self.url)
            # JSON is YAML, too.
            write_private(self.kubeconfig, json.dumps(config, indent=2).encode())
        except BaseException:
            self.stop()
            raise

    def sweep(self, variable: str) -> None:
        """Have every process with this `NAME=value` in its environment ended when the control plane is stopped."""
        server = self._start("sweeper", [sys.executable, "-I", "-S", sweeper.__file__, variable])
        server.wait_until(lambda: server.log.stat().st_size > 0, READY_SECONDS)

    def restart(self, name: str) -> None:
        """End one of the servers, if it still runs, and start it again."""
        server = self._servers[name]
        server.request_stop()
        server.wait()
        if name == "etcd":
            (self.folder / _ETCD_SOCKET).unlink(missing_ok=True)
        again = self._start(name, self._commands[name])
        again.wait_until(self._readiness(name), READY_SECONDS)

    def stop(self) -> None:
        """Returns when nothing of it runs any more. What it holds is kept, see `folder`."""
        # In turn: the API server is not to wait for an etcd that has gone.
        for server in reversed(self._servers.values()):
            server.request_stop()
            server.wait()
        self._servers.clear()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, name: str, command: Sequence[str]) -> Server:
        assert self._lock is not None  # noqa: S101
        # etcd reads variables that are meant for another one.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("ETCD_")}
        server = Server.start(name, command, self.folder, hold=self._lock.descriptor, environment=environment)
        self._servers[name] = server
        self._commands[name] = command
        return server

    def _readiness(self, name: str) -> Callable[[], bool]:
        match name:
            case "etcd":
                return (self.folder / _ETCD_SOCKET).exists
            case "kube-apiserver":
                return self._api_server_is_ready
            case _:
                return lambda: True

    @property
    def _kept_port(self) -> Path:
        return self.folder / "port"

    def _choose_port(self) -> int:
        """The one it had, else a free one."""
        if not self._kept_port.exists():
            return free_port()
        port = int(self._kept_port.read_text(encoding="ascii"))
        wait_for_port(port, FREE_SECONDS)
        return port

    def _etcd(self) -> list[str]:
        # The socket needs no password: nobody else can enter the folder. Its path is relative, as one may not be longer
        # than about a hundred characters. The names of hosts are never looked up.
        return [
            str(self._binaries.etcd),
            "--name=rehearsal",
            "--data-dir=etcd",
            f"--listen-client-urls=unix://{_ETCD_SOCKET}",
            "--advertise-client-urls=http://etcd:2379",
            "--listen-peer-urls=unix://etcd-peer.sock",
            "--initial-advertise-peer-urls=http://etcd:2380",
            "--initial-cluster=rehearsal=http://etcd:2380",
            # Only a crash of the whole machine could lose data.
            "--unsafe-no-fsync",
        ]

    def _api_server(self) -> list[str]:
        files = self.credentials
        return [
            str(self._binaries.kube_apiserver),
            f"--etcd-servers=unix://{_ETCD_SOCKET}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            f"--secure-port={self._port}",
            # Pods do not really run: none has to reach this address.
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={files.server_certificate}",
            f"--tls-private-key-file={files.server_key}",
            f"--kubelet-certificate-authority={files.authority}",
            f"--kubelet-client-certificate={files.kubelet_client_certificate}",
            f"--kubelet-client-key={files.kubelet_client_key}",
            f"--token-auth-file={files.tokens}",
            "--anonymous-auth=false",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={files.service_accounts_key}",
            f"--service-account-signing-key-file={files.service_accounts_key}",
            f"--service-cluster-ip-range={SERVICE_ADDRESSES}",
            "--profiling=false",
        ]

    def _api_server_is_ready(self) -> bool:
        # Until then it answers 500, or nothing at all.
        with contextlib.suppress(OSError):
            return self.api().request("GET", "/readyz").ok
        return False
