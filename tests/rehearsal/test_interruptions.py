"""Killed anywhere in an `up`: run again, the end is the same, nothing doubled; and `destroy` leaves nothing."""

from __future__ import annotations

import os
import signal
import threading
import time
import zlib
from collections.abc import Callable

import pytest

from tests.rehearsal.disturbances import (
    NAMESPACE,
    SECONDS,
    STACK,
    World,
    api_server,
    check_and_destroy,
    destroy,
    enable,
    engines,
    kill,
    nothing_left,
    plugins,
    runs,
    until,
    up_until_done,
)
from tests.rehearsal.stacks import Written
from xmgen.errors import OperationError
from xmgen.project import Project
from xmgen.pulumi_cli import orphans, stalls
from xmgen.pulumi_cli.events import Change, Progress, ResourceStep
from xmgen.rehearsal.cloud.cloud import Point
from xmgen.rehearsal.cloud.dials import LostResponse
from xmgen.rehearsal.cluster import API_SERVER
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report, markdown
from xmgen.resource_types import (
    ACCOUNT,
    BUCKET,
    CLUSTER,
    CODE,
    JOB,
    NETWORK,
    NODE_POOL,
    REPOSITORY,
    ROUTER,
    ROUTER_NAT,
    SUBNETWORK,
)
from xmgen.stack.compiled import CompiledStack
from xmgen.urns import Urn

pytestmark = pytest.mark.rehearsal

SERVICE_ACCOUNT = "kubernetes:core/v1:ServiceAccount"

PATHS = {
    NAMESPACE: "/api/v1/namespaces",
    SERVICE_ACCOUNT: f"/api/v1/namespaces/{STACK}/serviceaccounts",
    JOB: f"/apis/batch/v1/namespaces/{STACK}/jobs",
}
"""Where the API server has what the stack creates on its cluster."""

LATE = (REPOSITORY, NETWORK, ACCOUNT, BUCKET, SUBNETWORK, ROUTER, ROUTER_NAT, CLUSTER, NODE_POOL)
"""What must not be made twice: it costs money, is named at random, or would be refused the second time."""


class Killer:
    """Kills the engine at every resource once: when its request has arrived and nothing has happened yet, or when all
    has been done and the engine does not know. What is under way at the same time is hit by the same kill.

    point: which of the two, by URN.
    """

    def __init__(self, rehearsal: Rehearsal, point: Callable[[str], Point]) -> None:
        self._kills = 0
        self.hit: set[str] = set()
        self._rehearsal = rehearsal
        self._point = point
        self._lock = threading.Lock()
        rehearsal.cloud.at = self._at

    def _at(self, point: Point, operation: str, urn: str) -> None:
        if operation in ("create", "build") and point == self._point(urn) and self._new(urn):
            victims = engines(self._rehearsal)
            # The more of what else the engine has begun arrives before it dies, the fewer kills it takes. Nothing
            # depends on it.
            time.sleep(0.3)
            self._kill(victims)
            if point == "received":
                raise LostResponse

    def hear(self, phase: str, progress: Progress, change: Change | None) -> None:
        """Of what is created on the cluster."""
        if isinstance(change, ResourceStep) and change.type.startswith("kubernetes:") and change.status == "started":
            urn = f"urn:pulumi:{STACK}::experiments::{change.type}::{change.name}"
            if not self._new(urn):
                return
            victims = engines(self._rehearsal)
            if self._point(urn) == "done":
                # Something else may kill the engine before it has asked for this.
                until(lambda: self._is_there(change) or not any(map(runs, victims)))
            self._kill(victims)

    def _is_there(self, change: ResourceStep) -> bool:
        """On the cluster. A name there is the resource's own, or goes on after it."""
        path = PATHS[change.type]
        return any(
            each["metadata"]["name"].startswith(change.name) for each in self._rehearsal.cluster.api().items(path)
        )

    def count(self) -> int:
        """How often it has killed. While it does, this waits."""
        with self._lock:
            return self._kills

    def _new(self, urn: str) -> bool:
        with self._lock:
            new = urn not in self.hit
            self.hit.add(urn)
        return new

    def _kill(self, victims: list[int]) -> None:
        with self._lock:
            self._kills += 1 if kill(victims) else 0


def was_killed(rehearsal: Rehearsal, plan: CompiledStack, killer: Killer) -> bool:
    """Whether an `up` was."""
    before, report = killer.count(), Report(stack=STACK)
    try:
        rehearsal.up(plan, report, killer.hear)
    except OperationError as error:
        # The engine says nothing more.
        assert killer.count() > before, error
    assert killer.count() > before or report.failures == []
    return killer.count() > before


def test_the_engine_is_killed_at_every_resource(stack: Rehearsal, plan: CompiledStack, undisturbed: World) -> None:
    def point(urn: str) -> Point:
        """Half of them before anything has happened; what costs money, and is named at random, after it has."""
        costly = Urn(urn).type in (CLUSTER, NODE_POOL, NETWORK)
        return "done" if costly or zlib.crc32(urn.encode()) % 2 else "received"

    enable(stack, undisturbed)
    killer = Killer(stack, point)
    while was_killed(stack, plan, killer):
        assert killer.count() <= len(undisturbed.state)
    assert killer.hit == {urn for urn in undisturbed.state if Urn(urn).type != CODE}
    check_and_destroy(stack, plan, undisturbed)


def test_destroy_after_a_kill_at_any_resource(stack: Rehearsal, plan: CompiledStack, undisturbed: World) -> None:
    killer = Killer(stack, lambda urn: "done")
    while was_killed(stack, plan, killer):
        report = Report(stack=STACK)
        stack.destroy(plan, report)
        assert report.failures == [], killer.hit
        assert nothing_left(stack, plan), killer.hit
    assert killer.hit == {urn for urn in undisturbed.state if Urn(urn).type != CODE}
    check_and_destroy(stack, plan, undisturbed)


def test_what_arrives_when_the_engine_and_its_plugins_are_gone_is_found(
    stack: Rehearsal, plan: CompiledStack, undisturbed: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that was on its way is carried out all the same, and there is a moment in which to wait for it."""
    hit: set[str] = set()
    held: list[str] = []
    gone = threading.Event()

    def at(point: Point, operation: str, urn: str) -> None:
        if operation != "create" or Urn(urn).type not in LATE:
            return
        if point == "done" and urn in held:
            held.remove(urn)
        if point == "received" and urn not in hit:
            hit.add(urn)
            held.append(urn)
            kill(engines(stack))
            assert gone.wait(SECONDS)

    def let_arrive() -> None:
        assert plugins(stack) == []
        gone.set()
        until(lambda: not held)
        gone.clear()

    monkeypatch.setattr(orphans, "let_arrive", let_arrive)
    stack.cloud.at = at
    killed = True
    while killed:
        before, report = len(hit), Report(stack=STACK)
        try:
            stack.up(plan, report)
        except OperationError as error:
            assert len(hit) > before, error
        assert report.failures == []
        killed = len(hit) > before
    assert hit == {urn for urn in undisturbed.cloud if Urn(urn).type in LATE}
    assert World.of(stack, plan) == undisturbed


def test_the_engine_is_killed_while_it_looks_for_what_an_earlier_one_left(
    stack: Rehearsal, plan: CompiledStack, undisturbed: World
) -> None:
    killed: list[int] = []

    def at(point: Point, operation: str, urn: str) -> None:
        if point != "done" or operation != ("create", "read", "")[len(killed)] or Urn(urn).type != NETWORK:
            return
        # Noted at once: the next `up` may begin as soon as the engine is dead.
        killed.append(0)
        killed[-1] = kill(engines(stack, "up" if operation == "create" else "refresh"))

    stack.cloud.at = at
    for _ in range(2):
        with pytest.raises(OperationError):
            stack.up(plan, Report(stack=STACK))
    until(lambda: 0 not in killed)
    assert killed == [1, 1]
    up_until_done(stack, plan, 1)
    assert World.of(stack, plan) == undisturbed


def test_providers_and_the_api_server_are_killed_one_after_the_other(
    stack: Rehearsal, plan: CompiledStack, undisturbed: World
) -> None:
    """The engine goes on, and hears that a provider is gone; what that had begun leaves no trace in the state."""
    left: list[tuple[str, Point, str]] = [
        ("gcp", "done", NETWORK),
        ("gcp", "received", CLUSTER),
        ("gcp", "done", CLUSTER),
        ("gcp", "done", NODE_POOL),
    ]
    on_cluster = [("kubernetes", NAMESPACE), (API_SERVER, SERVICE_ACCOUNT), ("kubernetes", JOB), (API_SERVER, JOB)]

    def at(point: Point, operation: str, urn: str) -> None:
        if left and operation == "create" and left[0][1:] == (point, Urn(urn).type):
            name, *_ = left.pop(0)
            assert kill(plugins(stack, name))
            if point == "received":
                raise LostResponse

    def hear(phase: str, progress: Progress, change: Change | None) -> None:
        if isinstance(change, ResourceStep) and on_cluster and change.status == "started":
            who, type = on_cluster[0]
            # The engine goes on while it is listened to: it may be done, and its plugins gone, before this is heard.
            if change.type != type or not kill(api_server(stack) if who == API_SERVER else plugins(stack, who)):
                return
            del on_cluster[0]
            if who == API_SERVER:
                stack.cluster.restart(API_SERVER)

    stack.cloud.at = at
    # Every one may come too late once.
    for _ in range(2 * (len(left) + len(on_cluster))):
        report = Report(stack=STACK)
        stack.up(plan, report, hear)
        if not left and not on_cluster:
            break
        if report.failures == []:
            # What is still to be disturbed is there already.
            destroy(stack, plan)
    assert (left, on_cluster) == ([], [])
    up_until_done(stack, plan, 2)
    check_and_destroy(stack, plan, undisturbed)


def test_no_plugin_outlives_the_next_up(stack: Rehearsal, plan: CompiledStack) -> None:
    killed: list[int] = []

    def hear(phase: str, progress: Progress, change: Change | None) -> None:
        if not killed and isinstance(change, ResourceStep) and change.type == NAMESPACE:
            there = plugins(stack)
            if kill(engines(stack)):
                killed.extend(there)

    for _ in range(3):
        report = Report(stack=STACK)
        try:
            stack.up(plan, report, hear)
        except OperationError:
            break
        # The engine goes on while it is listened to: it was done before this was heard.
        assert (killed, report.failures) == ([], [])
        destroy(stack, plan)
    # Pulumi's own look for their engine only every five minutes.
    assert plugins(stack, "kubernetes")
    stack.session(plan).recover()
    assert plugins(stack) == []
    assert len(killed) > 1


def test_an_engine_that_waits_for_ever_is_stopped(
    stack: Rehearsal, scratch: Project, plan: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool that is to be replaced cannot be deleted. Without an end of this, the test has none either."""
    monkeypatch.setattr(stalls, "SECONDS", 2.0)
    up_until_done(stack, plan, 1)
    file = scratch.stack(STACK) / "cluster.py"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("        autoscaling=", "        initial_node_count=1,\n        autoscaling=", 1))
    try:
        stack.cloud.dials.set({"type": NODE_POOL, "operation": "delete", "fault": "503"})
        report = Report(stack=STACK)
        stack.up(plan, report)
        (pool,) = (pool.name for pool in plan.pools)
        assert [each.message for each in report.failures if "Error 503" in each.message]
        assert [each.message for each in report.failures][-1] == (
            f"{pool} could not be deleted, so that nothing could take its place; Pulumi waited for it and was stopped. "
            "Remove what keeps it, or it itself, then run the command again."
        )
        stack.cloud.dials.set()
        assert up_until_done(stack, plan, 1) == 1
    finally:
        stack.cloud.dials.set()
        file.write_text(text, encoding="utf-8")


def test_what_an_interrupted_rehearsal_left_counts(stack: Rehearsal, plan: CompiledStack) -> None:
    """Also what was there when the rehearsal began."""
    up_until_done(stack, plan, 1)
    (network,) = (item.id for item in stack.cloud.store.of(NETWORK) if f":{STACK}::" in item.owner)
    stack.cloud.dials.set({"type": NETWORK, "operation": "delete", "fault": "503"})
    try:
        report = stack.run(plan)
    finally:
        stack.cloud.dials.set()
    # And with it what it needs.
    assert network in report.left, markdown(report)
    report = stack.run(plan)
    assert report.fits, markdown(report)


def test_ctrl_c_ends_a_rehearsal_without_a_verdict(stack: Rehearsal, plan: CompiledStack) -> None:
    def interrupt(phase: str, progress: Progress, change: Change | None) -> None:
        if isinstance(change, ResourceStep) and (change.type, change.status) == (NODE_POOL, "started"):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        stack.run(plan, listener=interrupt)
    report = stack.run(plan)
    assert report.fits, markdown(report)
