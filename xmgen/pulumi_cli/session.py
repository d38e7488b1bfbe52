"""One stack, ready to be worked on: the CLI, the backend, and what a killed operation left behind."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from xmgen.errors import OperationError, Problem
from xmgen.project import Project
from xmgen.pulumi_cli import backend as backends
from xmgen.pulumi_cli import interrupted, orphans
from xmgen.pulumi_cli import operation as operations
from xmgen.pulumi_cli import pulumi as cli
from xmgen.pulumi_cli.backend import Backend
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.interrupted import Sorted
from xmgen.pulumi_cli.pulumi import Event, Pulumi


@dataclass(frozen=True, slots=True)
class Session:
    """arguments: what every operation of Pulumi's is given, beyond the stack."""

    project: Project
    stack: str
    pulumi: Pulumi
    backend: Backend
    arguments: tuple[str, ...] = ()

    def create_stack(self) -> None:
        """Create the stack in the backend unless it is there."""
        self.pulumi.run("stack", "select", "--create", "--stack", self.stack)

    def exists(self) -> bool:
        """Whether the backend knows the stack."""
        try:
            self.pulumi.run("stack", "select", "--stack", self.stack)
        except OperationError as error:
            if "no stack named" in str(error):
                return False
            raise
        return True

    def stacks(self) -> list[str]:
        """Those of the project that the backend has."""
        listed: list[dict[str, Any]] = json.loads(self.pulumi.run("stack", "ls", "--json"))
        # In Pulumi Cloud with its organisation before it.
        return [str(each["name"]).rpartition("/")[2] for each in listed]

    def export(self) -> str:
        """The stack's state as JSON, its secrets encrypted."""
        return self.pulumi.run("stack", "export", "--stack", self.stack)

    def is_gone(self, urn: str) -> bool:
        """Whether what the state has under this URN is there no more. Raises OperationError when nobody can tell."""
        deleted = False
        progress = Progress(units={})
        arguments = ("refresh", "--preview-only", "--stack", self.stack, "--target", urn)
        with operations.running(self.pulumi, *arguments, progress=progress) as refresh:
            for event, _ in refresh:
                read: Event = event.get("resOutputsEvent") or {}
                seen: Event = read.get("metadata") or {}
                deleted = deleted or (seen.get("urn"), seen.get("op")) == (urn, "delete")
        if refresh.code:
            raise OperationError(refresh.failure())
        return deleted

    def recover(self) -> list[str]:
        """Make a stack usable again whose last operation was killed. Returns what was done, in sentences.

        Raises OperationError while another process works on the stack, and while it cannot be found out whether
        something that a killed operation began is there: to go on could make it twice.
        """
        done: list[str] = []
        killed = backends.clear_dead_locks(self.backend, self.project, self.stack)
        if killed:
            done.append("Removed the lock of an operation that was killed.")
        if ended := orphans.end(self.project.root):
            noun = "plugin" if ended == 1 else "plugins"
            done.append(f"Ended {ended} {noun} that an operation had left running when it was killed.")
        export = self.export()
        left = interrupted.pending(export)
        if left.sought and (killed or ended):
            orphans.let_arrive()
        said, unknown = self._settle(export, left, interrupted.begin(export, killed))
        if unknown:
            raise OperationError(*unknown)
        if cancelled := interrupted.cancelled(export):
            self._delete(cancelled)
        if again := left.again + left.taken_up:
            noun = "operation" if again == 1 else "operations"
            done.append(f"Took up {again} {noun} that a kill had interrupted.")
        return done + said

    def settle(self, progress: Progress, begun: datetime) -> list[str]:
        """Look for what an operation that has ended began without learning what became of it, because a provider died
        or an answer was lost. Returns what was found, in sentences.
        """
        if not progress.failed_creates:
            return []
        export = self.export()
        left = interrupted.failed(export, progress)
        if left.sought:
            orphans.let_arrive()
        said, unknown = self._settle(export, left, begun)
        again = "The next `xmgen up` or `xmgen destroy` looks again."
        return said + [f"{problem.message.rstrip('.')}. {again}" for problem in unknown]

    def _settle(self, export: str, left: Sorted, begun: datetime | None) -> tuple[list[str], list[Problem]]:
        """What has become of each, and what could not be found out."""
        said = [
            f"{interrupted.title(each)} may or may not have been created: look for it, and either delete it or take it "
            f"in with `pulumi import {shlex.join(interrupted.title(each).split())} ID`."
            for each in left.untraceable
        ]
        if not left.sought:
            # The provider's own journal says how far each of the others came. An import clears all pending operations:
            # of an update or a deletion the resource itself is still in the state.
            if left.again or left.taken_up:
                self._write(export)
            return said, []
        sought = {each.urn: each for each in left.sought}
        self._write(interrupted.marked(export, left.sought, begun))
        reasons = self._look(set(sought))
        export = self.export()
        there = interrupted.found(export, left.sought)
        foreign = {urn for urn, each in there.items() if interrupted.older(each, interrupted.begun(sought[urn], begun))}
        if foreign:
            self._write(interrupted.without(export, foreign))
        for urn, each in sought.items():
            if urn in foreign:
                said.append(f"{interrupted.title(each)} was there before, as {each.id}: it is not this stack's.")
            elif urn in there:
                said.append(f"Took up {interrupted.title(each)}, which was created as {there[urn].id}.")
            elif urn not in reasons:
                said.append(f"{interrupted.title(each)} had not been created yet.")
        unknown = [
            Problem(
                f"whether {interrupted.title(sought[urn])} was created, as {sought[urn].id}, cannot be found out: "
                f"{' '.join(texts)}",
                hint=f"run the command again; if it is not there, `pulumi state delete '{urn}'` forgets it",
            )
            for urn, texts in reasons.items()
        ]
        return said, unknown

    def _look(self, urns: set[str]) -> dict[str, list[str]]:
        """Have the providers read what is marked in the state. Returns why some of it could not be read."""
        reasons: dict[str, list[str]] = {}
        while urns:
            targets = [argument for urn in sorted(urns) for argument in ("--target", urn)]
            options = ["--stack", self.stack, "--yes", "--skip-preview", *self.arguments]
            progress = Progress(units={})
            with operations.running(self.pulumi, "refresh", *options, *targets, progress=progress) as refresh:
                for _ in refresh:
                    pass
            export = self.export()
            open_ = interrupted.still_marked(export) & urns
            errors = {urn: progress.errors[urn] for urn in open_ if urn in progress.errors}
            if open_ and not errors:
                # Not about one of them: the engine could not begin, or was stopped.
                errors = {urn: [refresh.failure().message] for urn in open_}
            if absent := {urn for urn, texts in errors.items() if interrupted.is_absent(texts)}:
                self._write(interrupted.without(export, absent))
            reasons |= {urn: texts for urn, texts in errors.items() if urn not in absent}
            # One that cannot be read keeps the engine from reading others.
            urns = open_ - errors.keys()
        return reasons

    def _delete(self, urns: Iterable[str]) -> None:
        """Delete what is on its way out. Whatever fails is still in the state, for the next operation."""
        targets = [argument for urn in urns for argument in ("--target", urn)]
        options = ["--stack", self.stack, "--yes", "--skip-preview", *self.arguments]
        with operations.running(self.pulumi, "destroy", *options, *targets, progress=Progress(units={})) as destroy:
            for _ in destroy:
                pass

    def _write(self, state: str) -> None:
        self.pulumi.run("stack", "import", "--stack", self.stack, stdin=state)


def begin(project: Project, stack: str) -> Session:
    """Find the CLI and the backend for a stack. Raises OperationError or InputError when they cannot be used."""
    pulumi = cli.find(project)
    environment = pulumi.environment()
    backend = backends.choose(project, environment)
    overrides = backends.overrides(project, stack, backend, environment)
    backends.repair(backend, project, stack)
    pulumi = replace(pulumi, overrides={**overrides, **pulumi.overrides})
    return Session(project=project, stack=stack, pulumi=pulumi, backend=backend)
