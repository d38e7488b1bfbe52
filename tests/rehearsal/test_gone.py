"""A cluster that somebody deleted by hand, one that is out of reach, and one that does not let its user in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rehearsal.command_line import SETTINGS, xmgen
from tests.rehearsal.stacks import T4, compiled
from tests.rehearsal.units import SECONDS, ends, names
from xmgen.executors.gke.reachability import CLUSTER, FORGET
from xmgen.project import Project
from xmgen.pulumi_cli.state import resources
from xmgen.rehearsal.home import AUTH_PLUGIN
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report
from xmgen.rehearsal.servers import free_port
from xmgen.stack.compiled import CompiledStack

pytestmark = pytest.mark.rehearsal

STACK = "vanishing"


@pytest.fixture
def plan(in_scratch: Rehearsal, scratch: Project) -> Iterator[CompiledStack]:
    plan = compiled(scratch, STACK, T4, T4)
    yield plan
    in_scratch.destroy(plan, Report(stack=STACK))


def state(rehearsal: Rehearsal) -> str:
    return rehearsal.pulumi.run("stack", "export", "--stack", STACK)


def move(rehearsal: Rehearsal) -> str:
    """The cluster is where nobody answers, as far as the stack knows."""
    nowhere = f"127.0.0.1:{free_port()}"
    moved = state(rehearsal).replace(rehearsal.cluster.url, f"https://{nowhere}")
    rehearsal.pulumi.run("stack", "import", "--stack", STACK, stdin=moved)
    return nowhere


def delete_by_hand(rehearsal: Rehearsal) -> None:
    """The cluster with its pools, and what was on it."""
    [cluster] = [each for each in resources(state(rehearsal)) if each.type == CLUSTER]
    for item in list(rehearsal.cloud.store):
        if item.id == cluster.id or item.id.startswith(f"{cluster.id}/"):
            rehearsal.cloud.store.remove(item.id)
    move(rehearsal)
    namespace = f"/api/v1/namespaces/{STACK}"
    api = rehearsal.cluster.api()
    assert api.request("DELETE", namespace).ok
    assert rehearsal.observer.wait(lambda: api.request("GET", namespace).status == 404, SECONDS)


def test_a_cluster_that_is_not_there_as_the_stack_knows_it(
    in_scratch: Rehearsal, plan: CompiledStack, tmp_path: Path
) -> None:
    xmgen(in_scratch, "up", STACK, "--yes", *SETTINGS)
    assert in_scratch.observer.wait(lambda: ends(in_scratch, plan) == ["finished", "finished"], SECONDS)
    shown = xmgen(in_scratch, "up", STACK, "--yes").stdout
    assert f"{STACK}: 2 finished. `xmgen destroy {STACK}` removes it." in shown
    before = state(in_scratch)

    # Whom it does not let in cannot remove anything from it: nothing is begun.
    plugin = tmp_path / AUTH_PLUGIN
    plugin.write_text("#!/bin/sh\necho no account is active >&2; exit 1\n")
    plugin.chmod(0o755)
    done = xmgen(in_scratch, "destroy", STACK, code=1, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    told = f"{AUTH_PLUGIN} gives no credentials: no account is active"
    assert (done.stdout, done.stderr) == ("", f"error: {told}\n  `gcloud auth login`\n")
    assert state(in_scratch) == before

    # One that is there may be out of reach: what is on it must not be forgotten.
    nowhere = move(in_scratch)
    done = xmgen(in_scratch, "destroy", STACK, code=1)
    assert f"error: the cluster at {nowhere} cannot be reached: [Errno 111] Connection refused\n" in done.stderr
    assert f"`{FORGET}=true xmgen destroy {STACK}` forgets what was on one that is gone" in done.stderr
    assert (
        f"Which jobs have failed cannot be known. the cluster at {nowhere}"
        in xmgen(in_scratch, "preview", STACK).stdout
    )

    # One that is gone is made again, with everything that was on it; a preview says so.
    delete_by_hand(in_scratch)
    shown = xmgen(in_scratch, "preview", STACK).stdout
    assert "The cluster is gone, and with it what was on it. All of it is made again.\n" in shown
    lines = [line.split() for line in shown.splitlines()]
    # In whichever order the engine comes to them.
    assert {row[2] for row in lines if row[:2] == ["create", "kubernetes:batch/v1:Job"]} == set(names(plan))
    assert "unreachable" not in shown
    xmgen(in_scratch, "up", STACK, "--yes")
    assert in_scratch.observer.wait(lambda: ends(in_scratch, plan) == ["finished", "finished"], SECONDS)
    # The stack does not go on forgetting.
    assert "nothing to do" in xmgen(in_scratch, "preview", STACK).stdout
    assert f"{STACK}: nothing was changed from outside." in xmgen(in_scratch, "refresh", STACK).stdout

    # What is left of a stack whose cluster is gone can be removed; what stays is said.
    delete_by_hand(in_scratch)
    done = xmgen(in_scratch, "destroy", STACK, "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    [bucket] = result["kept"]
    assert (bucket["type"], bucket["name"]) == ("gcp:storage/bucket:Bucket", f"{STACK}-output")
    assert in_scratch.cloud.store.get(bucket["id"]) is not None
    assert "The cluster is gone, and with it what was on it." in done.stderr
    assert resources(state(in_scratch)) == []


def test_a_stack_that_the_backend_does_not_have(in_scratch: Rehearsal, scratch: Project) -> None:
    compiled(scratch, "absent", T4)
    done = xmgen(in_scratch, "refresh", "absent", code=2)
    assert done.stderr == "error: the backend has no stack 'absent'\n  `xmgen up absent` makes it\n"
    done = xmgen(in_scratch, "destroy", "abesnt", code=2)
    assert done.stderr == "error: the backend has no stack 'abesnt'\n  did you mean 'absent'?\n"
