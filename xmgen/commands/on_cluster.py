"""What `up` and `status` have to ask a stack's cluster for, because Pulumi does not know it."""

from __future__ import annotations

from xmgen.engine import jobs, kubernetes, trials
from xmgen.engine.events import Progress
from xmgen.engine.session import Session
from xmgen.engine.trials import Trial
from xmgen.errors import OperationError
from xmgen.plan import Plan


def units(work: Session, plan: Plan, export: str | None) -> tuple[list[Trial], OperationError | None]:
    """The units as they stand now; as Pulumi knew them last, with the reason, when the cluster cannot be asked."""
    known = trials.elsewhere(plan, export)
    try:
        cluster = kubernetes.connect(work, export) if export is not None else None
        # Without a cluster nothing runs.
        return (known if cluster is None or export is None else jobs.units(plan, export, cluster)), None
    except OperationError as error:
        return known, error


def prepare(work: Session, plan: Plan) -> tuple[list[str], list[str]]:
    """Before an `up`: for Pulumi a Job that failed is as good as one that runs. Those that failed are deleted, so that
    it can create them again.

    Returns what was done, in sentences, and the arguments for Pulumi. Raises OperationError as `jobs.delete`.
    """
    export = work.export()
    try:
        cluster = kubernetes.connect(work, export)
        again = {} if cluster is None else jobs.to_run_again(plan, export, cluster)
    except OperationError as error:
        # This very `up` may be the one that brings the cluster back.
        return [f"Which jobs have failed cannot be known. {error}"], []
    for name in again.values():
        if name and cluster is not None:
            jobs.delete(cluster, plan, name)
    said: list[str] = []
    for count, what in (
        (sum(bool(name) for name in again.values()), "failed"),
        (sum(not name for name in again.values()), "vanished from the cluster"),
    ):
        if count:
            said.append(f"{count} Job{'' if count == 1 else 's'} {what} and will run again.")
    return said, [argument for urn in again for argument in ("--replace", urn)]


def explain(work: Session, plan: Plan, progress: Progress) -> list[str]:
    """After an `up` that failed: why jobs did that it waited for, with the last lines of their logs.

    Returns why not, in sentences, where the cluster cannot be asked.
    """
    failed = [unit.name for unit in progress.units.values() if unit.status == "failed"]
    if not failed:
        return []
    found, unreached = units(work, plan, work.export())
    if unreached is not None:
        return [f"What the failed jobs printed cannot be known. {unreached}"]
    for unit in found:
        # What was never created has but the reason that Pulumi gave.
        if unit.name in failed and unit.status == "failed" and unit.reasons:
            progress.units[unit.name] = unit
    return []
