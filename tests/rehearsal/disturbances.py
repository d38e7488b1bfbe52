"""A small stack of everything that stacks on GKE have, what there is of it, and who can be killed while it comes up."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.builders import experiment, job, python_container
from tests.rehearsal.stacks import T4, Written, write
from xmgen import sources
from xmgen.project import Project
from xmgen.pulumi_cli.state import pending_operations, resources
from xmgen.rehearsal import leftovers
from xmgen.rehearsal.cloud.cloud import Point
from xmgen.rehearsal.cloud.store import Item
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import Report
from xmgen.rehearsal.settings import PROJECT
from xmgen.resource_types import API, BUCKET
from xmgen.stack.compiled import CompiledStack
from xmgen.urns import Urn

STACK = "interrupted"

NAMESPACE = "kubernetes:core/v1:Namespace"

SECONDS = 60.0
"""How long anything may take that has no reason to take long."""

PASSING = ("pods ", "nodes ", f"configmaps {STACK}/kube-root-ca.crt", f"serviceaccounts {STACK}/default")
"""What controllers make, and take away again, in their own time."""


def compiled(project: Project) -> Written:
    """A cluster with its network, a pool, a bucket, an image, two trials."""
    # Other tests change the code of theirs.
    trainer = python_container(path=f"code/{STACK}")
    folder = project.root / trainer.path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text("print('trained')", encoding="utf-8")
    digest = sources.digest(Path(project.root, trainer.path))
    jobs = [job(f"--n={number}", executor=T4) for number in range(2)]
    return write(project, experiment(*jobs, stack=STACK, executables=(replace(trainer, digest=digest),)))


@dataclass(frozen=True, slots=True)
class World:
    """What there is of a stack, each as often as it is there: in the cloud by the resource that made it, in the API
    server by kind and name, and in the state.
    """

    cloud: Counter[str]
    objects: Counter[str]
    state: Counter[str]

    @classmethod
    def of(cls, rehearsal: Rehearsal, plan: CompiledStack) -> World:
        stack, namespaces = plan.experiment.stack, rehearsal.namespaces(plan)
        items = {id: item for id, item in leftovers.resources(rehearsal.cloud.store).items() if _of(item.owner, stack)}
        state = [each for each in rehearsal.state(plan) if not each.is_pulumis_own]
        in_cloud = {each.id for each in state if each.type.startswith("gcp:")}
        # Pulumi knows what is there under the ids under which it is there.
        assert in_cloud ^ items.keys() == set()
        objects = [
            each
            for each in leftovers.objects(rehearsal.cluster.api())
            if leftovers.belongs(each, set(), namespaces) and not each.startswith(PASSING)
        ]
        return cls(
            Counter(item.owner for item in items.values()),
            Counter(objects),
            Counter(each.urn for each in state),
        )


def _of(owner: str, stack: str) -> bool:
    return owner.startswith(f"urn:pulumi:{stack}::")


def in_cloud(rehearsal: Rehearsal, plan: CompiledStack) -> list[Item]:
    """What the stack has there; after a `destroy`, what it keeps."""
    return [item for item in rehearsal.cloud.store if _of(item.owner, plan.experiment.stack)]


def forget(rehearsal: Rehearsal, plan: CompiledStack) -> None:
    """Take away what the stack keeps, and the services that any stack has left enabled: the next `up` finds nothing."""
    kept = [*in_cloud(rehearsal, plan), *(item for item in rehearsal.cloud.store.of(API) if not item.owner)]
    for item in kept:
        rehearsal.cloud.store.remove(item.id)


def enable(rehearsal: Rehearsal, world: World) -> None:
    """The services that a stack needs, before it comes: they are nobody's."""
    for name in (Urn(urn).name for urn in world.cloud if Urn(urn).type == API):
        inputs = {"service": f"{name}.googleapis.com", "project": PROJECT}
        rehearsal.cloud.store.put(Item(id=f"{PROJECT}/{inputs['service']}", type=API, inputs=inputs, outputs={}))


def nothing_left(rehearsal: Rehearsal, plan: CompiledStack) -> bool:
    """After a `destroy`: namespaces take a moment to go."""
    state = [each for each in rehearsal.state(plan) if not each.retain_on_delete]
    assert state == []
    # What jobs wrote outlives the stack.
    assert {item.type for item in in_cloud(rehearsal, plan)} <= {BUCKET}
    forget(rehearsal, plan)
    namespaces = rehearsal.namespaces(plan)

    def gone() -> bool:
        return not any(
            leftovers.belongs(each, set(), namespaces) for each in leftovers.objects(rehearsal.cluster.api())
        )

    return rehearsal.observer.wait(gone, SECONDS)


def is_up(rehearsal: Rehearsal, plan: CompiledStack) -> bool:
    """Whether its state has something for a `destroy` to do."""
    work = rehearsal.session(plan)
    if not work.exists():
        return False
    export = work.export()
    return bool(pending_operations(export)) or not all(each.retain_on_delete for each in resources(export))


def destroy(rehearsal: Rehearsal, plan: CompiledStack) -> None:
    """All of a stack: nothing of it is left, and the next `up` finds nothing."""
    report = Report(stack=plan.experiment.stack)
    rehearsal.destroy(plan, report)
    assert report.failures == []
    assert nothing_left(rehearsal, plan)


def nothing_happens(point: Point, operation: str, urn: str) -> None:
    """At any point of an operation in the cloud."""


def up_until_done(rehearsal: Rehearsal, plan: CompiledStack, most: int) -> int:
    """How many times it took. Fails when it is not done after `most`."""
    for count in range(1, most + 1):
        report = Report(stack=plan.experiment.stack)
        rehearsal.up(plan, report)
        if not report.failures:
            return count
    raise AssertionError(report.failures)


def undisturbed(rehearsal: Rehearsal, plan: CompiledStack) -> World:
    """What there is after an `up` that nothing happens to. It is gone afterwards."""
    up_until_done(rehearsal, plan, 1)
    world = World.of(rehearsal, plan)
    destroy(rehearsal, plan)
    return world


def engines(rehearsal: Rehearsal, operation: str = "up") -> list[int]:
    """None of those that look for what an earlier one left, but where `refresh` is asked for."""
    found = _processes(rehearsal, lambda name, command: name == "pulumi" and command.split()[1:2] == [operation])
    # What an engine starts is called like it until it has become another program.
    return [pid for pid in found if _parent(pid) not in found]


def _parent(pid: int) -> int | None:
    """None for a process that has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def plugins(rehearsal: Rehearsal, name: str = "") -> list[int]:
    """Of an engine of the rehearsal: those of one name, or all."""
    words = {
        "": ("pulumi-resource-", "pulumi-language-", "xmgen.provider", "xmgen.rehearsal.standin"),
        "gcp": ("xmgen.rehearsal.standin gcp",),
        "kubernetes": ("pulumi-resource-kubernetes",),
    }[name]
    return _processes(rehearsal, lambda _, command: any(word in command for word in words))


def _processes(rehearsal: Rehearsal, wanted: Callable[[str, str], bool]) -> list[int]:
    mark = f"PULUMI_BACKEND_URL={rehearsal.pulumi.overrides['PULUMI_BACKEND_URL']}".encode()
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes().decode().replace("\0", " ")
            name = (process / "comm").read_text().strip()
        except OSError:
            continue
        if mark in variables and wanted(name, command):
            found.append(int(process.name))
    return found


def api_server(rehearsal: Rehearsal) -> list[int]:
    folder = str(rehearsal.cluster.folder)
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if command[0].endswith("kube-apiserver") and any(folder in word for word in command):
            found.append(int(process.name))
    return found


def kill(pids: list[int]) -> int:
    """Returns how many of them still ran, when all are gone."""
    running = [pid for pid in pids if runs(pid) and _reached(pid)]
    until(lambda: not any(map(runs, pids)))
    return len(running)


def _reached(pid: int) -> bool:
    """Whether the process was still there to be killed."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def check_and_destroy(rehearsal: Rehearsal, plan: CompiledStack, undisturbed: World) -> None:
    """The same is there as if nothing had happened, a further `up` changes nothing, and `destroy` leaves nothing."""
    rehearsal.cloud.at = nothing_happens
    report = Report(stack=STACK)
    assert World.of(rehearsal, plan) == undisturbed
    assert set(rehearsal.up(plan, report)) == {"same"}
    assert report.failures == []
    destroy(rehearsal, plan)
