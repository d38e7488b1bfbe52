"""Runs compiled stacks, unchanged, through the real engine against a control plane and a simulated cloud."""

from __future__ import annotations

import base64
import copy
import os
import shutil
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xmgen.errors import InputError, OperationError, Problem
from xmgen.executors.gke import live as jobs
from xmgen.executors.gke import moves
from xmgen.executors.gke.connection import Connection
from xmgen.executors.gke.pods import job_end
from xmgen.project import PULUMI_FILE, Project
from xmgen.pulumi_cli import backend as backends
from xmgen.pulumi_cli import pulumi as cli
from xmgen.pulumi_cli import stalls
from xmgen.pulumi_cli.backend import Backend
from xmgen.pulumi_cli.events import Change, Progress, ResourceStep
from xmgen.pulumi_cli.operation import Running, running
from xmgen.pulumi_cli.pulumi import Pulumi
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.state import StateResource, resources
from xmgen.rehearsal import home, images, leftovers, outcomes, settings, states
from xmgen.rehearsal.cloud.cloud import Cloud
from xmgen.rehearsal.cloud.dials import Dials
from xmgen.rehearsal.cloud.kinds import ELSEWHERE, Endpoint
from xmgen.rehearsal.cloud.nodes import POOL_LABEL, template
from xmgen.rehearsal.cloud.pools import Pools
from xmgen.rehearsal.cloud.quota import Quota
from xmgen.rehearsal.cloud.server import VARIABLE, CloudServer
from xmgen.rehearsal.cloud.storage import Claim, used_not_made
from xmgen.rehearsal.cloud.store import Store
from xmgen.rehearsal.cluster import SimulatedCluster
from xmgen.rehearsal.credentials import ADMIN
from xmgen.rehearsal.director import Director
from xmgen.rehearsal.misfit_watch import MisfitWatch, settled
from xmgen.rehearsal.observer import Observer, Pod
from xmgen.rehearsal.report import FailedJob, Failure, Report, landings, misfits, pool_uses, split
from xmgen.resource_types import NODE_POOL
from xmgen.stack import recompile
from xmgen.stack.compiled import CompiledStack
from xmgen.urns import Urn

CONTROL_PLANE = "control-plane"
"""The folder of the control plane in that of a rehearsal."""

SETTLE_SECONDS = 600.0
"""A bound for pods that come and go for ever after `up` has returned; others have settled when they stand still."""

FREE_SECONDS = 30.0
"""For how long none of the nodes and pods may go after `destroy` until those that are there count as left."""

Listener = Callable[[str, Progress, Change | None], None]
"""Told of the phase (`up`, `settle`, `second up`, `destroy`) and of what changes in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """pod_seconds: how long the pods of jobs run. pods: a file that tells what becomes of them, see `outcomes`.
    quota: a file of limits. parallel: resources worked on at a time. registry: where images are pushed; None when none
    are built.
    """

    pod_seconds: float = 3.0
    pods: Path | None = None
    quota: Path | None = None
    parallel: int | None = None
    registry: str | None = None


def _silent(phase: str, progress: Progress, change: Change | None) -> None:
    pass


class Rehearsal:
    """A control plane and a simulated cloud in a folder, for one stack after the other. As a context manager."""

    def __init__(self, project: Project, folder: Path, options: Options, tools: Path | None = None) -> None:
        self.project = project
        self.folder = folder.resolve()
        self._options = options
        built = (folder / "bin" for folder in cli.tools(project))
        self._tools = tools or next(filter(Path.is_dir, built), self.folder / "bin")
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        if self._options.registry is not None:
            images.prepare(self._options.registry)
        rules = outcomes.read(self._options.pods)
        quota = Quota.read(self._options.quota)
        dials = self.folder / "dials.json"
        Dials(dials).read()
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as begun:
            found = cli.find(self.project)
            self.cluster = begun.enter_context(
                SimulatedCluster(self.folder / CONTROL_PLANE, self._tools, pod_seconds=self._options.pod_seconds)
            )
            api, token = self.cluster.api(), self.cluster.credentials.token(ADMIN)
            self._home = home.make(self.folder, self.project, token)
            authority = base64.b64encode(self.cluster.credentials.authority.read_bytes()).decode()
            endpoint = Endpoint(self.cluster.url.removeprefix("https://"), authority)
            store = Store(self.folder / "cloud.json")
            self.pools = Pools(store, api, quota)
            registry = self._options.registry or ""
            self.cloud = Cloud(store, dials, endpoint, self.pools.remove, registry, self.pools.refusal)
            server = begun.enter_context(CloudServer(self.cloud, self.cluster.folder))
            self.cluster.sweep(f"{VARIABLE}={server.socket}")
            self.director = Director(self.cluster, self.pools, api, self._options.pod_seconds)
            if rules:
                self.director.tell(rules)
            self.observer = Observer(self.pools, self.director)
            self.observer.start()
            begun.callback(self.observer.stop)
            self.pulumi = replace(found, overrides=self._overrides(found, server.socket))
            self._exit = begun.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()

    def _overrides(self, found: Pulumi, socket: Path) -> dict[str, str]:
        path = found.environment().get("PATH", os.defpath)
        backend = self.folder / "backend"
        backend.mkdir(exist_ok=True)
        # Pulumi's Kubernetes provider leaves files there.
        temporary = self.folder / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        return {
            "PATH": os.pathsep.join([str(self._home.bin), path]),
            "PULUMI_HOME": str(self._home.pulumi),
            "PULUMI_BACKEND_URL": backend.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "rehearsal",
            VARIABLE: str(socket),
            "TMPDIR": str(temporary),
            # A file of the user's would come first.
            "PULUMI_CONFIG_PASSPHRASE_FILE": "",
        }

    def of(self, project: Project) -> Rehearsal:
        """The same, for the stacks of another project, as long as this one runs."""
        other = copy.copy(self)
        other.project = project
        other.pulumi = replace(self.pulumi, project=project)
        other._exit = ExitStack()
        return other

    # One stack

    def run(self, compiled: CompiledStack, owner: CompiledStack | None = None, listener: Listener = _silent) -> Report:
        """Up, a second up, destroy. owner: the stack whose cluster this one uses; it is brought up before,
        and destroyed after it.

        Raises InputError when it is no stack of GKE, OperationError when the engine could not even begin or would move
        a cluster, and KeyboardInterrupt when a signal ended it: half a rehearsal says nothing, and destroys nothing.
        """
        if compiled.cluster is None:
            raise InputError(Problem("only stacks whose jobs run on GKE can be rehearsed", where=compiled.name))
        report = Report(stack=compiled.name, registry=self._options.registry or "")
        stacks = [compiled, owner] if owner else [compiled]
        for each in stacks:
            self._refuse_move(each)
        foreign = self._foreign({each.name for each in stacks})
        objects = leftovers.objects(self.cluster.api())
        self.observer.forget()
        with ExitStack() as owned:
            if owner is not None:
                owned.push(self._destroying(owner, report, listener))
                self.up(owner, report, listener)
            with self._timed(report, "up"):
                report.filled = self.prepare(compiled)
                self._operate("up", compiled, report, listener, "up")
                state = self.state(compiled)
                report.created, report.images = states.by_type(state), states.images(state)
                self._settle(compiled, listener)
                self._look(compiled, report)
            if not report.failures:
                with self._timed(report, "second up"):
                    hear = _collecting(report.changed, listener)
                    changes = self._operate("up", compiled, report, hear, "second up")
                    report.second_up = {name: count for name, count in changes.items() if name != "same" and count}
            state = self.state(compiled)
            retained = states.retained(state)
            # What was there before may be the stack's all the same, when its last rehearsal was interrupted.
            names = leftovers.names(state) | self._nodes(foreign)
            namespaces = set[str]().union(*map(self.namespaces, stacks))
            objects = {each for each in objects if not leftovers.belongs(each, names, namespaces)}
            report.assumed = [item.id for item in self.cloud.store if item.assumed]
            report.assumed += [f"claim {namespace}/{name}" for namespace, name in sorted(_foreign_claims(compiled))]
            with self._timed(report, "destroy"):
                self.destroy(compiled, report, listener)
                self.cloud.store.forget_assumed()
        self._compare(report, objects, foreign, retained)
        return report

    def _refuse_move(self, compiled: CompiledStack) -> None:
        """Raise OperationError where an interrupted rehearsal has left the stack's cluster elsewhere."""
        work = self.session(compiled)
        if work.exists() and (move := moves.wanted(self.project, compiled, work.export)):
            raise OperationError(Problem(move.text, hint=ELSEWHERE))

    def _foreign(self, stacks: set[str]) -> set[str]:
        """The ids of what somebody else has in the cloud."""
        owners = {id: Urn(item.owner).stack for id, item in leftovers.resources(self.cloud.store).items()}
        return {id for id, stack in owners.items() if stack not in stacks}

    def _nodes(self, foreign: set[str]) -> set[str]:
        """The nodes that are no one else's."""
        pools = {str(item.inputs["name"]) for item in self.cloud.store.of(NODE_POOL) if item.id in foreign}
        nodes = self.cluster.api().items("/api/v1/nodes")
        return {str(node["metadata"]["name"]) for node in nodes if node["metadata"]["labels"][POOL_LABEL] not in pools}

    def namespaces(self, compiled: CompiledStack) -> set[str]:
        return {
            str(head["metadata"]["namespace"])  # pyright: ignore
            for unit in compiled.units
            for head in unit.heads
        }

    def prepare(self, compiled: CompiledStack) -> list[str]:
        """Make the stack in the rehearsal's own backend. Returns the configuration that was missing."""
        file = self._settings(compiled.name)
        filled = settings.write(self.project, compiled, file)
        self.pools.storage.assume(_foreign_claims(compiled))
        # The engine writes into the settings of a stack that it makes: hence in a project of the rehearsal's own.
        shadow = self.folder / "project"
        content = f"name: {self.project.name}\nruntime: python\nmain: stacks/\nstackConfigDir: stacks\n"
        (shadow / PULUMI_FILE).write_text(content, encoding="utf-8")
        pulumi = replace(self.pulumi, project=Project(root=shadow, name=self.project.name))
        self._repaired(compiled)
        pulumi.run("stack", "select", "--create", "--stack", compiled.name)
        return filled

    def _repaired(self, compiled: CompiledStack) -> Backend:
        """The backend, without what a killed engine left half-written, which would keep everybody from reading it."""
        backend = Backend(self.pulumi.overrides["PULUMI_BACKEND_URL"], own=False)
        backends.repair(backend, self.project, compiled.name)
        return backend

    def session(self, compiled: CompiledStack) -> Session:
        """The stack in the rehearsal's own backend, as commands work on it."""
        stack = compiled.name
        backend = self._repaired(compiled)
        return Session(self.project, stack, self.pulumi, backend, ("--config-file", str(self._settings(stack))))

    def state(self, compiled: CompiledStack) -> list[StateResource]:
        """The stack's resources, as the engine has them."""
        return resources(self.pulumi.run("stack", "export", "--stack", compiled.name))

    def up(self, compiled: CompiledStack, report: Report, listener: Listener = _silent) -> dict[str, int]:
        """Only that. Returns the number of resources by operation."""
        self.prepare(compiled)
        return self._operate("up", compiled, report, listener, "up")

    def _settings(self, stack: str) -> Path:
        return self.folder / "project" / "stacks" / f"Pulumi.{stack}.yaml"

    def destroy(self, compiled: CompiledStack, report: Report, listener: Listener = _silent) -> None:
        """Only that."""
        self._operate("destroy", compiled, report, listener, "destroy")
        namespaces = self.namespaces(compiled)
        self.observer.wait_for_none(
            lambda: [pod for pod in self.observer.pods(namespaces) if not pod.gone], FREE_SECONDS
        )

    def _destroying(self, owner: CompiledStack, report: Report, listener: Listener) -> Callable[..., None]:
        """The end of a block: the owner of the cluster goes, unless the rehearsal was interrupted."""

        def end(kind: type[BaseException] | None, *_: object) -> None:
            if kind is None or issubclass(kind, Exception):
                self.destroy(owner, report, listener)

        return end

    def _operate(
        self, operation: str, compiled: CompiledStack, report: Report, listener: Listener, phase: str
    ) -> dict[str, int]:
        work = self.session(compiled)
        arguments = [operation, "--stack", work.stack, "--yes", "--skip-preview", "--continue-on-error"]
        arguments += work.arguments
        if self._options.parallel:
            arguments += ["--parallel", str(self._options.parallel)]
        progress = Progress(units={})
        listener(phase, progress, None)
        work.recover()
        begun = datetime.now(UTC)
        interrupted = threading.Event()
        with (
            running(self.pulumi, *arguments, progress=progress, when_interrupted=interrupted.set) as ran,
            MisfitWatch(self.observer, self.namespaces(compiled), ran.interrupt) as watch,
        ):
            for _, change in ran:
                if change is not None:
                    watch.hear(change)
                    listener(phase, progress, change)
        if interrupted.is_set():
            raise KeyboardInterrupt
        work.settle(progress, begun)
        if ran.code:
            # Of the stack whose cluster is used, its name is said.
            what = phase if work.stack == report.stack else f"{phase} of {work.stack}"
            report.failures += _failures(progress, ran, what, stuck=watch.gave_up)
            report.failures += [Failure(resource=what, message=text) for text in stalls.messages(ran.stuck)]
        return progress.changes

    def _settle(self, compiled: CompiledStack, listener: Listener) -> None:
        """Until every pod has ended, or has found no node for so long that it never will."""
        namespaces = self.namespaces(compiled)
        listener("settle", Progress(units={}), None)
        self.observer.look()

        def done() -> bool:
            pods, still = self.observer.pods(namespaces), self.observer.still()
            return settled(pods, still, lambda: self._unfinished(namespaces))

        self.observer.wait(done, SETTLE_SECONDS)

    def _unfinished(self, namespaces: set[str]) -> set[str]:
        """The Jobs of which the controller has yet to make pods, the first ones or again, or that it has yet to end."""
        found = (
            job
            for namespace in namespaces
            for job in self.cluster.api().items(f"/apis/batch/v1/namespaces/{namespace}/jobs")
        )
        return {str(job["metadata"]["name"]) for job in found if job_end(job) is None}

    def _look(self, compiled: CompiledStack, report: Report) -> None:
        pods: list[Pod] = self.observer.pods(self.namespaces(compiled))
        whole = {
            str(item.inputs["name"])
            for item in self.cloud.store.of(NODE_POOL)
            if template(item, self.cloud.store).hosts > 1
        }
        report.landings = landings(pods)
        report.misfits = misfits(pods, recompile.of_experiment(self.project.root, compiled.experiment))
        report.pools = pool_uses(self.observer.nodes(), pods)
        report.split = split(pods, whole)
        report.failed = self._failed(compiled)

    def _failed(self, compiled: CompiledStack) -> list[FailedJob]:
        files = self.cluster.credentials
        cluster = Connection(self.cluster.url, files.authority.read_text(encoding="ascii"), files.token(ADMIN))
        found: list[FailedJob] = []
        for namespace in sorted(self.namespaces(compiled)):
            all_jobs, of_job = jobs.read(cluster, namespace)
            for job in all_jobs:
                if job_end(job) == "failed":
                    failed = jobs.failure(cluster, namespace, job, of_job.get(str(job["metadata"]["uid"]), []))
                    # A rehearsal has no secrets.
                    why = failed.shown(())
                    found.append(FailedJob(job=str(job["metadata"]["name"]), why=why.why, log=why.log))
        return found

    def _compare(self, report: Report, objects: set[str], resources: set[str], retained: set[str]) -> None:
        """What is there beside what is somebody else's, except what the program wants kept: that is nobody's now."""

        def left() -> set[str]:
            return leftovers.objects(self.cluster.api()) - objects

        self.observer.wait_for_none(left, FREE_SECONDS)
        items = {id: item for id, item in leftovers.resources(self.cloud.store).items() if id not in resources}
        report.left = [*sorted(left()), *sorted(id for id in items if id not in retained)]
        report.kept = sorted(id for id in items if id in retained)
        for id in report.kept:
            self.cloud.store.put(replace(items[id], owner=""))

    @contextmanager
    def _timed(self, report: Report, phase: str) -> Generator[None]:
        started = time.monotonic()
        yield
        report.seconds[phase] = round(time.monotonic() - started, 1)


def _collecting(changed: list[str], listener: Listener) -> Listener:
    """Note what was changed, once each; a replacement is a creation and a deletion."""

    def hear(phase: str, progress: Progress, change: Change | None) -> None:
        if isinstance(change, ResourceStep) and change.status == "done":
            name = f"{change.type} {change.name}"
            changed.extend([name] if name not in changed else [])
        listener(phase, progress, change)

    return hear


def _foreign_claims(compiled: CompiledStack) -> set[Claim]:
    """Those that somebody else has made for the jobs."""
    manifests: list[Any] = [manifest for unit in compiled.units for manifest in unit.manifests]
    return used_not_made(manifests, compiled.objects)


def _failures(progress: Progress, ran: Running, phase: str, *, stuck: bool) -> list[Failure]:
    if stuck:
        return [Failure(resource=phase, message="stopped: it waited for Jobs whose pods find no node")]
    said = [message for message in progress.messages if message.severity == "error"]
    if not said:
        raise OperationError(ran.failure())
    return [Failure(resource=message.unit or phase, message=message.text.strip()) for message in said]
