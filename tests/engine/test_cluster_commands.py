"""`cluster credentials` and `cluster delete`, on the real engine. Their stack is up, as a cluster's would be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import programs
from tests.engine.harness import STACK, Outcome, Project
from tests.on_gke import experiment
from xmgen.experiment import ClusterChoice
from xmgen.project import LOCK_FILE
from xmgen.stack import lock

pytestmark = pytest.mark.engine

CLUSTER = {"id": "projects/acme/lab", "name": "lab-4f5e", "location": "europe-west4-a", "endpoint": "192.0.2.1"}
COMMAND = ["container", "clusters", "get-credentials", "lab-4f5e", "--location", "europe-west4-a", "--project", "acme"]
GCLOUD = """\
#!/bin/sh
for argument; do echo "$argument"; done > "$(dirname "$0")/called-with"
exit 3
"""


def xmgen(project: Project, *arguments: str, **env: str) -> Outcome:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "xmgen"), *arguments],
        cwd=project.root,
        env={**project.env, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return Outcome(done.returncode, done.stdout + done.stderr)


@pytest.fixture
def cluster(project: Project) -> Project:
    """A stack that is up, with the output by which others find a cluster."""
    project.program(f'pulumi.export("cluster", {CLUSTER!r})')
    assert project.up("--config", "gcp:project=acme").ok
    return project


def test_gcloud_is_told_which_cluster_it_is_and_its_exit_code_is_ours(cluster: Project, tmp_path: Path) -> None:
    gcloud = tmp_path / "gcloud"
    gcloud.write_text(GCLOUD)
    gcloud.chmod(0o755)
    done = xmgen(cluster, "cluster", "credentials", STACK, PATH=os.pathsep.join([str(tmp_path), cluster.env["PATH"]]))
    assert done.code == 3, done.output
    assert (tmp_path / "called-with").read_text().splitlines() == COMMAND


def test_without_gcloud_the_command_is_said(cluster: Project, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for tool in ("pulumi", "pulumi-language-python"):
        (tmp_path / "bin" / tool).symlink_to(Path(cluster.env["PATH"].split(os.pathsep)[1]) / tool)
    done = xmgen(cluster, "cluster", "credentials", STACK, PATH=str(tmp_path / "bin"))
    assert (done.code, f"gcloud {' '.join(COMMAND)}" in done.output) == (0, True), done.output
    machine = xmgen(cluster, "cluster", "credentials", STACK, "--json")
    assert json.loads(machine.output) == {"command": ["gcloud", *COMMAND]}


def test_a_stack_that_has_no_cluster_has_no_credentials(project: Project) -> None:
    assert project.up("--config", "gcp:project=acme").ok
    done = xmgen(project, "cluster", "credentials", STACK)
    assert (done.code, "has no cluster of its own, or is not up" in done.output) == (1, True), done.output


@pytest.mark.parametrize("command", ["credentials", "delete"])
def test_a_stack_that_is_not_there(project: Project, command: str) -> None:
    done = xmgen(project, "cluster", command, "lab")
    assert (done.code, "the backend has no stack 'lab'" in done.output) == (2, True), done.output


def resource(project: Project) -> None:
    """A program that declares one."""
    digest = project.code("trial", "#!/bin/sh\n")
    project.program(
        f"Executable('e', directory='code/trial', digest={digest!r}, command=['./trial'], working_directory='code')"
    )


def test_delete_waits_for_the_stacks_on_the_cluster(cluster: Project) -> None:
    resource(cluster)
    assert cluster.up().ok
    guest = experiment(stack="guest", cluster=ClusterChoice(kind="stack", name=STACK))
    programs.write(cluster.root / "stacks" / "guest", {LOCK_FILE: lock.dumps(guest)})
    settings = cluster.root / "stacks" / f"Pulumi.{STACK}.yaml"
    assert cluster.pulumi("stack", "init", "guest").ok
    (cluster.root / "stacks" / "Pulumi.guest.yaml").write_text(settings.read_text())
    assert cluster.pulumi("up", "--yes", "--skip-preview", "--stack", "guest").ok
    refused = xmgen(cluster, "cluster", "delete", STACK, "--yes")
    assert (refused.code, list(cluster.state())) == (2, ["e"]), refused.output
    assert f"guest run on the cluster '{STACK}'" in refused.output
    assert "`xmgen destroy guest`" in refused.output
    assert cluster.pulumi("destroy", "--yes", "--skip-preview", "--stack", "guest").ok
    assert xmgen(cluster, "cluster", "delete", STACK, "--yes").code == 0
    assert cluster.state() == {}


def test_delete_removes_all_that_the_stack_created(cluster: Project) -> None:
    resource(cluster)
    assert cluster.up().ok
    assert list(cluster.state()) == ["e"]
    done = xmgen(cluster, "cluster", "delete", STACK, "--yes")
    assert (done.code, cluster.state()) == (0, {}), done.output
