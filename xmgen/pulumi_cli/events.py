"""The engine's events as the progress of trials."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from xmgen import resource_types
from xmgen.pulumi_cli import wording
from xmgen.pulumi_cli.pulumi import Event
from xmgen.pulumi_cli.state import StateResource
from xmgen.pulumi_cli.trials import JOB_TYPES, Status, Trial, combined, job_status, trial
from xmgen.urns import Urn

RUNNING_OPERATIONS = frozenset({"create", "create-replacement", "update"})
"""Operations of a work unit's resource in which the provider runs its jobs, once there is room for them."""

RUNNING = "running"
"""The provider's passing message when it starts the jobs of a work unit."""

CREATES = frozenset({"create", "create-replacement"})

CANCELLED = "cancelled"
"""The provider's answer for what it stopped, or never began, because the engine was told to stop."""

OPERATIONS: dict[str, Literal["create", "update", "delete"]] = {
    "create": "create",
    "create-replacement": "create",
    "update": "update",
    "delete": "delete",
    "delete-replaced": "delete",
}
"""The engine's operations that take time, as a user would call them."""

EVENTS: dict[str, Literal["started", "done", "failed"]] = {
    "resourcePreEvent": "started",
    "resOutputsEvent": "done",
    "resOpFailedEvent": "failed",
}

SUMMARIES = frozenset(
    {"update failed", "preview failed", "destroy failed", "Resource monitor has terminated, shutting down"}
)
"""What the engine says in the end of anything that failed or was stopped; the exit code says as much."""

_PROGRAM_ENDED = re.compile(r"an unhandled error occurred: program exited with non-zero exit code: \d+$")
"""What the language host adds to what the program has said of its failure."""

_UNREACHABLE = "configured Kubernetes cluster is unreachable"
"""What Pulumi's Kubernetes provider says of each thing on a cluster that does not answer."""

_REFUSED = re.compile(r"\S+ resource '[^']*'(?:: property (\S+) value \{.*?\})? has a problem: ", re.DOTALL)
"""What the engine puts before a provider's reason to refuse an input."""


@dataclass(frozen=True, slots=True)
class Message:
    """What Pulumi says. unit: the work unit it is about; empty when it is about none."""

    severity: Literal["error", "warning", "info"]
    text: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What a preview would do to a resource. changed: the properties that are the reason. reason: any other, such as
    that it failed the last time; empty where there is none.
    """

    operation: str
    type: str
    name: str
    changed: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Removed:
    """A work unit that the experiment no longer has, and that is gone."""

    unit: str


@dataclass(frozen=True, slots=True)
class ResourceStep:
    """Anything else that the engine works on, such as an image that is built."""

    operation: Literal["create", "update", "delete"]
    type: str
    name: str
    status: Literal["started", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What the stack has no more, and what stays all the same. id: the provider's."""

    type: str
    name: str
    id: str


Change = Trial | Removed | ResourceStep | Message


@dataclass(slots=True)
class Progress:
    """Where an operation stands.

    units: every work unit of the experiment, by logical name, in its order. steps: those of a preview.
    jobs: the Jobs on a cluster, by logical name -> their unit. job_statuses: how those stand.
    changes: resources per operation, once it has ended. result: `succeeded`, `failed` or `canceled`, likewise.
    reasons: URN -> why an operation begins anew with a resource that has not changed.
    forgets: whether what is on a cluster that does not answer is taken for gone, of which nobody need be warned.
    deleted: resources that were deleted, but for Pulumi's own: each that a user hears of. kept: those that were not.
    failed_creates: URN -> the state that a create which failed would have led to. errors: URN -> what was said of it.
    """

    units: dict[str, Trial]
    jobs: Mapping[str, str] = field(default_factory=dict[str, str])
    job_statuses: dict[str, Status] = field(default_factory=dict[str, Status])
    messages: list[Message] = field(default_factory=list[Message])
    steps: list[Step] = field(default_factory=list[Step])
    changes: dict[str, int] = field(default_factory=dict[str, int])
    result: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    forgets: bool = False
    deleted: int = 0
    kept: list[Kept] = field(default_factory=list[Kept])
    failed_creates: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    errors: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def apply(self, event: Event) -> Change | None:
        """Take an event in; returns what a user should hear of it."""
        if diagnostic := event.get("diagnosticEvent"):
            return self._diagnostic(diagnostic)
        if summary := event.get("summaryEvent"):
            self.changes = dict(summary.get("resourceChanges") or {})
            self.result = str(summary.get("result") or "")
            return None
        for kind in EVENTS:
            if kind in event:
                return self._step(kind, event[kind])
        return None

    def count(self, status: Status) -> int:
        return sum(unit.status == status for unit in self.units.values())

    def _has_error(self) -> bool:
        return any(message.severity == "error" for message in self.messages)

    def _step(self, kind: str, event: Event) -> Change | None:
        metadata = event["metadata"]
        operation, name = str(metadata["op"]), _name(metadata["urn"])
        before = StateResource.of(metadata.get("old") or {})
        if event.get("planning"):
            if kind == "resourcePreEvent":
                changed = tuple(sorted(metadata.get("keys") or metadata.get("diffs") or ()))
                failed = "failed before" if operation == "update" and before.errors else ""
                reason = self.reasons.get(str(metadata["urn"]), failed)
                self.steps.append(Step(operation, str(metadata["type"]), name, changed, reason))
            return None
        if operation == "delete" and before.retain_on_delete:
            if kind == "resOutputsEvent":
                self.kept.append(Kept(str(metadata["type"]), name, before.id))
            return None
        if kind == "resOutputsEvent" and operation == "delete" and not str(metadata["type"]).startswith("pulumi:"):
            self.deleted += 1
        if kind == "resOpFailedEvent" and operation in CREATES and metadata.get("new"):
            self.failed_creates[str(metadata["urn"])] = metadata["new"]
        if metadata["type"] in JOB_TYPES and name in self.jobs:
            return self._job(kind, operation, name, metadata)
        if metadata["type"] != resource_types.RUN:
            return _resource(kind, operation, str(metadata["type"]), name)
        match kind, self.units.get(name):
            case "resOutputsEvent", None if operation == "delete":
                return Removed(name)
            case _, None:
                return None
            case "resOutputsEvent", unit if operation in RUNNING_OPERATIONS | {"same"}:
                done = self._set(trial(name, unit.arguments, _after(metadata)))
                # What was finished before is no news.
                return None if operation == "same" else done
            case "resOpFailedEvent", unit:
                failed = self._failed(unit, metadata)
                if failed.reasons != (CANCELLED,):
                    return self._set(failed)
                return self._set(replace(unit, status="stopped")) if unit.status == "running" else None
            case _:
                return None

    def _job(self, kind: str, operation: str, name: str, metadata: Event) -> Change | None:
        """A Job or CustomJob: its unit runs once it is created, and has ended where Pulumi waited for it."""
        unit = self.units[self.jobs[name]]
        if kind == "resOpFailedEvent":
            self.job_statuses[name] = "failed"
            return self._set(self._failed(unit, metadata))
        if kind != "resOutputsEvent" or operation not in RUNNING_OPERATIONS | {"same"}:
            return None
        self.job_statuses[name] = job_status(_after(metadata))
        own = [job for job, of in self.jobs.items() if of == unit.name]
        status = combined(self.job_statuses.get(job, "waiting") for job in own)
        done = self._set(replace(unit, status=status))
        return None if operation == "same" else done

    def _failed(self, unit: Trial, metadata: Event) -> Trial:
        known = trial(unit.name, unit.arguments, _after(metadata))
        said = tuple(message.text for message in self.messages if message.unit == unit.name)
        return replace(known, status="failed", reasons=known.reasons or said)

    def _set(self, unit: Trial) -> Trial:
        self.units[unit.name] = unit
        return unit

    def _diagnostic(self, event: Event) -> Change | None:
        text = wording.brief(str(event.get("message") or "").rstrip("\n"))
        if refused := _REFUSED.match(text):
            text = f"{refused[1]}: {text[refused.end() :]}" if refused[1] else text[refused.end() :]
        severity = str(event.get("severity") or "info")
        if self.forgets and severity == "warning" and text.startswith(_UNREACHABLE):
            return None
        if severity == "error" and (urn := str(event.get("urn") or "")):
            self.errors.setdefault(urn, []).append(text)
        if severity == "debug" or not text or text in SUMMARIES or (self._has_error() and _PROGRAM_ENDED.match(text)):
            return None
        unit = self.units.get(_name(str(event.get("urn") or "")))
        if event.get("ephemeral"):
            if unit is None or text != RUNNING:
                return None
            return self._set(replace(unit, status="running", reasons=()))
        known: Literal["error", "warning", "info"] = (
            "error" if severity == "error" else "warning" if severity == "warning" else "info"
        )
        name = _name(str(event.get("urn") or ""))
        # Of another resource, or of a unit that is going, the text itself must say whose it is.
        message = Message(known, text, name) if unit or not name else Message(known, f"{name}: {text}")
        if message.severity != "info":
            self.messages.append(message)
        return message


def progress(rows: Sequence[tuple[str, dict[str, str]]], jobs: Mapping[str, str] | None = None) -> Progress:
    """The start: every unit is waiting. rows, jobs: as `trials.rows` and `trials.jobs` give them."""
    return Progress(units={name: Trial(name=name, arguments=varying) for name, varying in rows}, jobs=jobs or {})


def _resource(kind: str, operation: str, type_: str, name: str) -> ResourceStep | None:
    # Pulumi's own are the stack and its providers, of which a user need not hear.
    if operation not in OPERATIONS or type_.startswith("pulumi:"):
        return None
    return ResourceStep(OPERATIONS[operation], type_, name, EVENTS[kind])


def _after(metadata: Event) -> StateResource:
    """A resource as an operation left it."""
    return StateResource.of(metadata.get("new") or {})


def _name(urn: str) -> str:
    return Urn(urn).name
