"""A control plane of one's own: who may enter, what it remembers, and that nothing of it is left running."""

from __future__ import annotations

import base64
import dataclasses
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.conftest import ROOT
from xmgen.errors import OperationError
from xmgen.rehearsal import controlplane
from xmgen.rehearsal.api import Api
from xmgen.rehearsal.controlplane import Binaries, ControlPlane

pytestmark = pytest.mark.kubernetes


def test_it_is_the_pinned_version(control_plane: ControlPlane) -> None:
    version = control_plane.api().request("GET", "/version").body["gitVersion"]
    go_mod = (ROOT / "tools" / "kubernetes" / "go.mod").read_text(encoding="utf-8")
    assert f"\tk8s.io/kubernetes {version} " in go_mod


def test_its_kubeconfig_lets_a_client_in(control_plane: ControlPlane, tmp_path: Path) -> None:
    config: dict[str, Any] = yaml.safe_load(control_plane.kubeconfig.read_text(encoding="utf-8"))
    (cluster,), (user,) = config["clusters"], config["users"]
    authority = tmp_path / "ca.crt"
    authority.write_bytes(base64.b64decode(cluster["cluster"]["certificate-authority-data"]))
    api = Api(urlsplit(cluster["cluster"]["server"]).port or 0, authority, user["user"]["token"])
    assert api.request("GET", "/api/v1/secrets").ok


@pytest.mark.parametrize(
    ("user", "path", "status"),
    [
        ("admin", "/api/v1/secrets", 200),
        ("system:kube-scheduler", "/api/v1/nodes", 200),
        ("system:kube-scheduler", "/api/v1/secrets", 403),
        ("system:kube-controller-manager", "/api/v1/secrets", 200),
        ("nobody", "/api/v1/nodes", 401),
        ("nobody", "/readyz", 401),
    ],
)
def test_users_may_do_what_they_are_for(user: str, path: str, status: int, control_plane: ControlPlane) -> None:
    port = urlsplit(control_plane.url).port or 0
    nobody = Api(port, control_plane.credentials.authority, "guessed")
    api = nobody if user == "nobody" else control_plane.api(user)
    assert api.request("GET", path).status == status


def test_only_its_owner_can_read_what_lets_one_in(control_plane: ControlPlane) -> None:
    private = [control_plane.folder, control_plane.kubeconfig, *control_plane.credentials.folder.rglob("*")]
    assert {str(path): stat.S_IMODE(path.stat().st_mode) & 0o077 for path in private} == dict.fromkeys(
        map(str, private), 0
    )


def test_a_folder_has_one_control_plane_at_a_time(
    control_plane: ControlPlane, binaries: Binaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controlplane, "FREE_SECONDS", 0)
    with pytest.raises(OperationError, match="still running in this folder"):
        ControlPlane(control_plane.folder, binaries).start()
    assert control_plane.api().request("GET", "/readyz").ok


STARTER = """
import sys, time
from pathlib import Path
from xmgen.rehearsal.controlplane import Binaries, ControlPlane
control_plane = ControlPlane(Path(sys.argv[1]), Binaries(Path(sys.argv[2]), Path(sys.argv[3])))
control_plane.start()
control_plane.api().request("POST", "/api/v1/namespaces", {"metadata": {"name": "kept"}})
print(control_plane.url, flush=True)
sys.stdin.read()
control_plane.stop()
"""


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_it_leaves_nothing_running_and_is_the_same_when_started_again(
    end: str, binaries: Binaries, tmp_path: Path
) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, tmp_path, binaries.etcd, binaries.kube_apiserver],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starter.stdout is not None
    url = starter.stdout.readline().strip()
    assert len(running_in(tmp_path)) == 4, "two servers and their keepers"
    if end == "killed":
        starter.send_signal(signal.SIGKILL)
    starter.communicate()
    assert end == "killed" or not running_in(tmp_path)
    with ControlPlane(tmp_path, binaries) as again:
        assert again.url == url
        assert again.api().request("GET", "/api/v1/namespaces/kept").ok
        assert len(running_in(tmp_path)) == 4
    assert not running_in(tmp_path)


def test_one_that_does_not_start_leaves_nothing_running(binaries: Binaries, tmp_path: Path) -> None:
    broken = dataclasses.replace(binaries, kube_apiserver=Path(shutil.which("false") or ""))
    with pytest.raises(OperationError, match="kube-apiserver ended with exit code 1"):
        ControlPlane(tmp_path, broken).start()
    assert not running_in(tmp_path)


def running_in(folder: Path) -> list[int]:
    """The processes whose working directory it is."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                found.append(int(process.name))
        except OSError:
            # It has ended, or is another user's.
            continue
    return found
