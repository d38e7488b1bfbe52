"""What became of each work unit, from the stack's state in Pulumi and what the provider leaves on disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from xmgen import arguments, resource_types
from xmgen.provider import custom_job_states
from xmgen.pulumi_cli.state import StateResource, resources
from xmgen.pulumi_values import SIGNATURE
from xmgen.stack.compiled import CompiledStack

Status = Literal["waiting", "running", "finished", "failed", "stopped"]

JOB_TYPES = (resource_types.JOB, resource_types.CUSTOM_JOB)
"""What runs elsewhere than under the provider's eyes: `up` creates it, and it goes on by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One work unit and how it went.

    arguments: those that vary in the experiment. duration: seconds. reasons: why it failed, or what it waits for.
    log, output: paths relative to the project's root; the output of a job on Vertex AI is gs://bucket/folder.
    log_command: prints the log of what ran on a cluster.
    """

    name: str
    arguments: Mapping[str, str]
    status: Status = "waiting"
    exit_code: int | None = None
    duration: float | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    log: str = ""
    output: str = ""
    log_command: str = ""
    reasons: tuple[str, ...] = ()


def rows(stack: CompiledStack) -> list[tuple[str, dict[str, str]]]:
    """The logical name of each unit, and those of its arguments that vary, in the experiment's order."""
    named = [arguments.named(unit) for unit in stack.experiment.units]
    varying = arguments.varying(named, without=str(stack.experiment.experiment_id))
    return [
        (unit.name, {name: values[name] for name in varying if name in values})
        for unit, values in zip(stack.units, named, strict=True)
    ]


def trial(name: str, varying: Mapping[str, str], state: StateResource | None) -> Trial:
    """A unit and its resource in the stack's state; None when it is not in it."""
    if state is None:
        return Trial(name=name, arguments=varying)
    return ended(name, varying, state.outputs, state.errors)


def ended(name: str, varying: Mapping[str, str], said: Mapping[str, Any], reasons: tuple[str, ...] = ()) -> Trial:
    """A unit that ran here. said: the outputs of its resource. reasons: why it failed; empty when it did not."""
    outputs = visible(said)
    return Trial(
        name=name,
        arguments=varying,
        status="failed" if reasons else "finished",
        exit_code=_integer(outputs.get("exitCode")),
        duration=_number(outputs.get("durationSeconds")),
        metrics=outputs["metrics"] if isinstance(outputs.get("metrics"), dict) else {},
        log=str(outputs.get("logPath") or ""),
        output=str(outputs.get("outputPath") or ""),
        reasons=reasons,
    )


def jobs(stack: CompiledStack) -> dict[str, str]:
    """The logical name of each Job on a cluster, or CustomJob -> the work unit that it is of."""
    return {resource: unit.name for unit in stack.units if unit.type in JOB_TYPES for resource in unit.resources}


def job_status(state: StateResource | None) -> Status:
    """How a Job, or CustomJob, stood when its state was last read; None when it is not in the stack's state.

    One that nothing waits for is only created by `up`: `pulumi refresh` reads what has become of it.
    """
    if state is None:
        return "waiting"
    if isinstance(stands := state.outputs.get("state"), str):
        # One that is no longer waited for has an error, and goes on all the same.
        return custom_job_states.ENDS[stands].status if stands in custom_job_states.ENDS else "running"
    if state.errors:
        return "failed"
    status: dict[str, Any] = state.outputs.get("status") or {}
    for condition in _list(status.get("conditions")):
        if condition.get("status") == "True" and condition.get("type") in ("Complete", "Failed"):
            return "finished" if condition["type"] == "Complete" else "failed"
    return "running"


def combined(statuses: Iterable[Status]) -> Status:
    """The status of a unit of several jobs."""
    found = set(statuses)
    for status in ("failed", "stopped", "running", "waiting"):
        if status in found:
            return status
    return "finished"


def recorded(stack: CompiledStack, export: str | None) -> list[Trial]:
    """The units as the stack's state has them; export is None when there is no stack."""
    known = unit_states(export)
    return [
        of_states(name, varying, [known.get(resource) for resource in unit.resources])
        for (name, varying), unit in zip(rows(stack), stack.units, strict=True)
    ]


def of_states(name: str, varying: Mapping[str, str], states: Sequence[StateResource | None]) -> Trial:
    """A unit and its resources in the stack's state; None for one that is not in it."""
    first = states[0]
    if first is not None and first.type == resource_types.RUN:
        return trial(name, varying, first)
    reasons = tuple(error for state in states if state is not None for error in state.errors)
    return Trial(name=name, arguments=varying, status=unit_status(states), reasons=reasons)


def unit_status(states: Collection[StateResource | None]) -> Status:
    """How a unit stood when the states of its jobs were last read. It waits for a job that is yet to be created."""
    status = combined(map(job_status, states))
    return "waiting" if status == "running" and None in states else status


def job_states(export: str | None) -> dict[str, StateResource]:
    """Logical name -> resource of the Jobs, or CustomJobs; none when there is no stack."""
    return _by_name(export, *JOB_TYPES) if export is not None else {}


def unit_states(export: str | None) -> dict[str, StateResource]:
    """Logical name -> resource of the work units, wherever they run; none when there is no stack."""
    return _by_name(export, *resource_types.WORK_UNITS.values()) if export is not None else {}


def _by_name(export: str, *types: str) -> dict[str, StateResource]:
    return {
        resource.name: resource
        for resource in resources(export)
        # One that waits for its deletion has been replaced already.
        if resource.type in types and not resource.delete
    }


def is_up(export: str | None) -> bool:
    """Whether there is anything of a stack; None is the state of one that is not there."""
    return export is not None and any(not resource.is_pulumis_own for resource in resources(export))


def visible(value: Any) -> Any:
    """A value of the state with every secret in it replaced by `[secret]`."""
    match value:
        case dict():
            mapping = cast(dict[str, Any], value)
            return "[secret]" if SIGNATURE in mapping else {key: visible(item) for key, item in mapping.items()}
        case list():
            return [visible(item) for item in cast(Iterable[Any], value)]
        case _:
            return value


def as_json(unit: Trial) -> dict[str, Any]:
    """The form in which commands print it; docs/commands.md describes it."""
    return {
        "unit": unit.name,
        "arguments": dict(unit.arguments),
        "status": unit.status,
        "exitCode": unit.exit_code,
        "durationSeconds": unit.duration,
        "metrics": dict(unit.metrics),
        "logPath": unit.log,
        "outputPath": unit.output,
        "logCommand": unit.log_command,
        "reasons": list(unit.reasons),
    }


def _list(value: object) -> list[dict[str, Any]]:
    return cast(list[dict[str, Any]], value) if isinstance(value, list) else []


def _integer(value: object) -> int | None:
    # The state's numbers are floats.
    return int(value) if isinstance(value, int | float) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
